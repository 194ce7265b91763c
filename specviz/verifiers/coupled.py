"""Coupled sampling: target and draft run the same race, and a candidate passes where both have the same winner.

The text depends on the seed and on no draft.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.options import Options
from specviz.trace.declared_rule import Rule
from specviz.trace.uniform_draws import RACE
from specviz.verifiers.base import VERIFIERS
from specviz.verifiers.naive import NaiveVerifier


@dataclass(frozen=True)
class CoupledOptions(Options):
    """Nothing to choose."""


@VERIFIERS.register("coupled")
class CoupledVerifier(NaiveVerifier[CoupledOptions]):
    """At each place tokens have times E: the smallest E/p is the target's token, the smallest E/q the draft's.

    A candidate passes where both are the same token: with probability Σ_x 1 / Σ_y max(p_y/p_x, q_y/q_x), which is at
    least (1 - TV) / (1 + TV). Whatever drafts, the text is the target's own sample, a function of the seed alone:
    Daliri et al. (2408.07978). Siblings drawn without replacement are the next ones of the draft in the same race,
    i.i.d. siblings run races of their own, in which the target takes part under `gls` alone.
    """

    noise: ClassVar[str] = RACE
    rule: ClassVar[Rule | None] = Rule(
        threshold="p",
        words="p",
        subtracts=False,
        compares=False,
        races=True,
        formula=(
            "y = argmin E(y) / p(y), with E exponential, fixed by seed, place and token",
            "the draft is x = argmin E(x) / q(x); accept x exactly when x = y",
        ),
        code=("y = (times / p).argmin()", "accepted = x == y"),
    )

"""Coupled sampling over lists: the target runs in all lanes at once, and each drafted sibling in a lane of its own.

The text depends on the seed and on the number of lanes, and on no draft.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.options import Options, option
from specviz.trace.declared_rule import Rule
from specviz.trace.events import CandidateKind
from specviz.trace.uniform_draws import MOST_LANES, RACE, RACES, Key
from specviz.verifiers.base import VERIFIERS
from specviz.verifiers.naive import NaiveVerifier


@dataclass(frozen=True)
class GLSOptions(Options):
    """How many lanes."""

    lists: int = option(
        2,
        help="lanes of every race, whatever is drafted: as many as a draft has siblings accept most",
        minimum=1,
        maximum=MOST_LANES,
    )


@VERIFIERS.register("gls")
class GLSVerifier(NaiveVerifier[GLSOptions]):
    """Each i.i.d. sibling wins a lane under q; the target's token has the smallest time of all lanes over p.

    With K lanes the smallest of a token's K times is exponential again, so that the winner is a draw from p. It is
    among K siblings with probability at least Σ_x K / ((K - 1)/p_x + Σ_y max(p_y/p_x, q_y/q_x)). The text is a function
    of the seed and of K: a dead branch and a sibling that was never drafted leave their lanes in the race. Gumbel-max
    list sampling: Rowan et al. (2506.05632). With one lane it is `coupled`.
    """

    judges: ClassVar[frozenset[CandidateKind]] = frozenset(["iid", "point_mass"])
    noise: ClassVar[str] = RACE
    rule: ClassVar[Rule | None] = Rule(
        threshold="p",
        words="p",
        subtracts=False,
        compares=False,
        races=True,
        lanes="lists",
        formula=(
            "y = argmin min(E₁(y), …, E_K(y)) / p(y), with E exponential, fixed by seed, place, lane and token",
            "sibling k is x = argmin E_k(x) / q(x); accept x exactly when x = y",
        ),
        code=("y = (times.min(0) / p).argmin()", "accepted = x == y"),
    )

    def key(self, position: int) -> Key:
        """See `NaiveVerifier.key`."""
        return RACES, position, int(self.options.lists)

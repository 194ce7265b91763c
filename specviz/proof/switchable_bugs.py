"""The bugs of the break-it switch, each a small change of a method before it runs.

They go with every verifier and every way of drawing, unlike those of `planted`, which each have their own toy; where
one has nothing to bite on it changes nothing, and the sums say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from specviz.core.randomness import RandomSource
from specviz.core.tree import ROOT, DraftTree
from specviz.engine.session import Method
from specviz.errors import OptionError
from specviz.proof.faulty_randomness import AlwaysAccepts, NoDraw, OneDraw, with_randomness
from specviz.proof.planted import Harmed, confident, grows, sorted_family
from specviz.tree_policies.drawing import Children, Draw
from specviz.verifiers.base import TargetRows, Verdict

Fault = Callable[[Method], Method]


class Forgetful:
    """Mixed into a verifier's class: whatever was rejected, the last token comes from the target itself."""

    rule: Any
    """the class it is mixed into"""

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        verdict: Verdict = self.rule.judge(self, tree, target, NoDraw(randomness), position)
        end = verdict.path[-1] if verdict.path else ROOT
        drawn = randomness.draw(target.probs(end), ("target", position + len(verdict.path), 0))
        return replace(verdict, token=drawn.token, residual=None, residual_mass=None, u=drawn.u)


def _forgetful(method: Method) -> Method:
    rule = type(method.verifier)
    if rule.samples_target:  # it draws from the target anyway, and has no residual to forget
        return method
    harmed = type(f"Forgetful{rule.__name__}", (Forgetful, rule), {"rule": rule})
    return replace(method, verifier=harmed(method.verifier.options))


def _drafted(harm: Callable[[Children], Children], widths: tuple[int, ...], draw: Draw) -> Fault:
    return grows(widths, Harmed(draw, harm))


FAULTS: Mapping[str, Callable[[tuple[int, ...], Draw], Fault]] = {
    "skip_residual": lambda widths, draw: _forgetful,
    "accept_all": lambda widths, draw: with_randomness(AlwaysAccepts),
    "sort_siblings": partial(_drafted, sorted_family),
    "drop_unsure": partial(_drafted, confident),
    "reuse_noise": lambda widths, draw: with_randomness(OneDraw),
}
"""by the names of `specviz.protocol.proofs.BREAKS`"""


def fault_of(name: str, widths: tuple[int, ...], draw: Draw) -> Fault | None:
    """The bug called so, for a tree of these widths drawn in this way; None for no bug. Raises OptionError."""
    if not name:
        return None
    if name not in FAULTS:
        raise OptionError(f"there is no bug called '{name[:40]}' to plant; choose of {', '.join(FAULTS)}.")
    return FAULTS[name](widths, draw)

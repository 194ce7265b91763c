"""Sample the target, then look whether someone drafted the sample: lossless for every draft, however it was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.core.randomness import RandomSource
from specviz.core.tree import ROOT, DraftTree
from specviz.options import Options
from specviz.registry import OptionsT_co
from specviz.trace.declared_rule import Rule
from specviz.trace.events import CandidateKind, Trial
from specviz.trace.uniform_draws import Key
from specviz.verifiers.base import VERIFIERS, TargetRows, Verdict, Verifier, ending
from specviz.verifiers.foreseen import draws_at


@dataclass(frozen=True)
class NaiveOptions(Options):
    """Nothing to choose."""


@VERIFIERS.register("naive")
class NaiveVerifier(Verifier[OptionsT_co]):
    """Draws the target's own token at each visited node and follows it if a child has it.

    The text is the target's own sample: with the same seed, token for token that of plain decoding. Needs nothing
    from the drafter but tokens; accepts a drawn candidate less often than the sequential rule does.
    Called naive sampling in SpecInfer (2305.09781, §4.3).
    """

    judges: ClassVar[frozenset[CandidateKind]] = frozenset(["iid", "without_replacement", "point_mass"])
    judges_merged: ClassVar[bool] = True
    temperatures: ClassVar[str] = "any"
    samples_target: ClassVar[bool] = True
    rule: ClassVar[Rule | None] = Rule(
        threshold="p",
        words="p",
        subtracts=False,
        compares=False,
        formula=("draw y from p; accept x exactly when x = y",),
        code=("y = draw(p)", "accepted = x == y"),
    )

    def key(self, position: int) -> Key:
        """Of the draw that settles the token at this position of the text."""
        return self.noise, position, 0

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        """One draw per visited node; `threshold` of a trial is p(token), the probability it had before the draw."""
        node, path, trials = ROOT, list[int](), list[Trial]()
        draw_at = draws_at(tree, target, randomness, lambda depth: self.key(position + depth))
        while True:
            drawn = draw_at(node)
            children = tree.children(node)
            accepted = None
            for child in children:
                hit = tree.tokens[child] == drawn.token
                p = target.candidate_prob(child)
                trials.append(Trial(child, p, tree.proposal_prob(child), p, None, hit))
                if hit:
                    accepted = child
                    break
            if accepted is None:
                return Verdict(path, drawn.token, ending(tree, children), trials, u=drawn.u)
            node = accepted
            path.append(node)

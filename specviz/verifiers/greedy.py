"""Exact match with the largest logit: the whole of verification at temperature zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.core.randomness import RandomSource
from specviz.core.tree import ROOT, DraftTree
from specviz.options import Options
from specviz.trace.declared_rule import Rule
from specviz.trace.events import CandidateKind, Trial
from specviz.verifiers.base import VERIFIERS, TargetRows, Verdict, Verifier, ending


@dataclass(frozen=True)
class GreedyOptions(Options):
    """Nothing to choose."""


@VERIFIERS.register("greedy")
class GreedyVerifier(Verifier[GreedyOptions]):
    """Accepts a candidate exactly when it is the target's most probable token.

    Temperature zero only, where it gives the text of plain greedy decoding whatever was drafted.
    Leviathan et al. (2211.17192, §2.2): argmax is sampling from a point mass.
    """

    judges: ClassVar[frozenset[CandidateKind]] = frozenset(["iid", "without_replacement", "point_mass"])
    judges_merged: ClassVar[bool] = True
    temperatures: ClassVar[str] = "zero"
    rule: ClassVar[Rule | None] = Rule(
        threshold="p",
        words="p",
        subtracts=False,
        compares=False,
        draws=False,
        one_by_one=True,
        formula=("accept x exactly when x = argmax p",),
        code=("accepted = x == p.argmax()", "if not accepted: token = p.argmax()"),
    )

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        node, path, trials, families = ROOT, list[int](), list[Trial](), tree.families()
        while True:
            best = target.argmax(node)
            children = families[node]
            accepted = None
            for child in children:
                hit = tree.tokens[child] == best
                trials.append(Trial(child, float(hit), tree.proposal_prob(child), float(hit), None, hit))
                if hit:
                    accepted = child
                    break
            if accepted is None:
                return Verdict(path, best, ending(tree, children), trials)
            node = accepted
            path.append(node)

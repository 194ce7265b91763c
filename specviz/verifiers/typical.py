"""Typical acceptance: a candidate passes when the target finds it likely enough, whatever it would have said itself.

Lossy by design.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import ClassVar

import torch

from specviz.core.randomness import RandomSource
from specviz.core.tree import ROOT, DraftTree
from specviz.options import Options, option
from specviz.trace.declared_rule import Rule
from specviz.trace.events import CandidateKind, Trial
from specviz.verifiers.base import VERIFIERS, TargetRows, Verdict, Verifier, ending
from specviz.verifiers.candidates import longest_path, try_all
from specviz.verifiers.foreseen import numbers_at


@dataclass(frozen=True)
class TypicalOptions(Options):
    """How likely is likely enough."""

    epsilon: float = option(0.09, help="a candidate more probable than this always passes", minimum=0.0, maximum=1.0)
    delta: float = option(
        0.3,
        help="where the target is undecided, more probable than delta e^(-entropy) is enough",
        minimum=0.0,
        maximum=1.0,
    )


@VERIFIERS.register("typical")
class TypicalVerifier(Verifier[TypicalOptions]):
    """Lossy: accepts a candidate when p > min(epsilon, delta e^(-H(p))), keeps the longest path, ends greedily.

    H is the entropy (in nats) of the target's distribution at the parent, after temperature. The round's last token is
    the target's most probable one, which the paper calls the first token of the next step. Ties between paths of equal
    length: the more probable one. Nothing is random. Medusa (Cai et al., 2401.10774, §2.3.1).
    """

    lossless: ClassVar[bool] = False
    judges: ClassVar[frozenset[CandidateKind]] = frozenset(["iid", "without_replacement", "point_mass"])
    judges_merged: ClassVar[bool] = True
    temperatures: ClassVar[str] = "any"
    rule: ClassVar[Rule | None] = Rule(
        order="longest",
        threshold="p > least(epsilon, delta * exp(-entropy))",
        words="p > min(epsilon, delta exp(-H))",
        subtracts=False,
        compares=False,
        draws=False,
        terms={"entropy": "H", "bar": "bar"},
        formula=("x passes when p(x) > min(ε, δ · exp(−H(p)))", "of the paths that passed the longest is kept"),
        code=("passed = p[x] > min(epsilon, delta * exp(-entropy(p)))", "path = max(passed_paths, key=len)"),
    )

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        """`terms` of a trial: `entropy` of p, and `bar`, which p has to exceed; `threshold` is the verdict, 0 or 1."""
        entropy_at = numbers_at(target, lambda probs: torch.special.entr(probs.double()).sum(-1))

        def attempt(node: int) -> Trial:
            parent = tree.parents[node]
            entropy = entropy_at(parent)
            p, bar = target.candidate_prob(node), self._bar(entropy)
            terms = {"entropy": entropy, "bar": bar}
            return Trial(node, p, tree.proposal_prob(node), float(p > bar), None, p > bar, terms)

        def log_prob(node: int) -> float:
            return sum(log(target.candidate_prob(one)) for one in tree.path(node))

        trials = try_all(tree, attempt)
        path = longest_path(tree, trials, worth=log_prob)
        end = path[-1] if path else ROOT
        return Verdict(path, target.argmax(end), ending(tree, tree.children(end)), trials, order="longest")

    def _bar(self, entropy: float) -> float:
        assert isinstance(self.options, TypicalOptions)
        return min(self.options.epsilon, self.options.delta * exp(-entropy))

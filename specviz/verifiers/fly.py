"""Forgive a mismatch that the drafter and the target agree about afterwards: a bet that it was harmless.

Lossy by design.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from specviz.core.randomness import RandomSource
from specviz.core.tree import ROOT, DraftTree, Shape
from specviz.errors import DraftError
from specviz.options import Options, option
from specviz.trace.declared_rule import Rule
from specviz.trace.events import CandidateKind, Trial
from specviz.verifiers.base import VERIFIERS, TargetRows, Verdict, Verifier, ending
from specviz.verifiers.foreseen import ends_of
from specviz.verifiers.sequential import Level, SequentialVerifier


@dataclass(frozen=True)
class FlyOptions(Options):
    """What is forgiven."""

    window: int = option(
        6, help="W: so many candidates after a mismatch must pass by themselves", minimum=1, maximum=32
    )
    entropy: float = option(
        0.3, help="forgive only where the target is undecided: entropy of its likeliest tokens, in nats", minimum=0.0
    )
    likeliest: int = option(3, help="tokens that the entropy is of", minimum=1, maximum=64)


assert SequentialVerifier.rule is not None
_EXACT = SequentialVerifier.rule


@VERIFIERS.register("fly")
class FlyVerifier(Verifier[FlyOptions]):
    """Lossy: a rejected candidate is kept where the target was undecided and the next W candidates pass by themselves.

    First every candidate of the chain is tried by the sequential rule. A rejection is overruled where the entropy of
    the target's k likeliest tokens, -Σ p ln p without making them whole, reaches the bar and all W candidates behind it
    pass; the first one that is not overruled ends the round. Drafts must be longer than W. At temperature 0 the model's
    own softmax tells how undecided it is. FLy (2511.22972); W counts the following candidates, as vLLM does, where the
    authors' code counts the mismatch too.
    """

    lossless: ClassVar[bool] = False
    judges: ClassVar[frozenset[CandidateKind]] = frozenset(["iid", "without_replacement", "point_mass"])
    temperatures: ClassVar[str] = "any"
    shapes: ClassVar[Shape] = "chain"
    rule: ClassVar[Rule | None] = replace(
        _EXACT,
        threshold="where(forgiven, 1, ratio(p, q))",
        words="min(1, p/q), or 1 where the mismatch is forgiven",
        one_by_one=False,
        terms={"entropy": "H", "forgiven": "forgiven"},
        formula=(
            *_EXACT.formula[:1],
            "forgive a rejected x where H ≥ θ and the next W candidates pass; H = −Σ p ln p over the k likeliest",
            *_EXACT.formula[1:2],
        ),
        code=(
            *_EXACT.code[:1],
            "forgiven = entropy(p.topk(k)) >= theta and all(passed[i + 1 : i + 1 + W])",
            *_EXACT.code[1:2],
        ),
    )

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        """`terms` of a forgiven trial: `forgiven`, 1, and `entropy`; its threshold is then 1."""
        if not tree.is_chain():
            raise DraftError("the rule 'fly' judges chains only, but this draft has siblings; draft a chain.")
        ends = ends_of(tree, target, randomness, position)
        levels = [Level(tree, target, node, ends=ends) for node in range(len(tree))]
        tried = [level.try_child(node, randomness, position) for node, level in enumerate(levels[:-1], 1)]
        trials = list[Trial]()
        for index, trial in enumerate(tried):
            trials.append(trial if trial.accepted else self._again(trial, tried[index + 1 :], target))
            if not trials[-1].accepted:
                break
        path = [trial.node for trial in trials if trial.accepted]
        end = path[-1] if path else ROOT
        left, drawn = levels[end].end(randomness, position)
        mass = levels[end].mass
        residual = left if mass is not None else None
        return Verdict(path, drawn.token, ending(tree, tree.children(end)), trials, residual, mass, drawn.u)

    def _again(self, trial: Trial, behind: Sequence[Trial], target: TargetRows) -> Trial:
        """A rejected trial as it is, or forgiven."""
        window = behind[: self.options.window]
        if len(window) < self.options.window or not all(following.accepted for following in window):
            return trial
        entropy = target.entropy_of_likeliest(trial.node - 1, self.options.likeliest)
        possible = target.greedy or trial.target_prob > 0.0
        if not possible or entropy < self.options.entropy:
            return trial
        terms = {"entropy": entropy, "forgiven": 1.0}
        return replace(trial, threshold=1.0, accepted=True, terms=terms)

"""Speculative sampling against a mixture of target and drafter: what the drafter adds to the law is chosen beforehand.

Lossy by design.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from specviz.core.tree import DraftTree
from specviz.options import Options, option
from specviz.trace.declared_rule import Rule
from specviz.verifiers.base import VERIFIERS, TargetRows
from specviz.verifiers.sequential import Level, SequentialVerifier


@dataclass(frozen=True)
class EnsembleOptions(Options):
    """How much the target counts."""

    weight: float = option(
        0.7, help="w: judge by v = w p + (1 - w) q; 1 is the target alone and lossless", minimum=0.0, maximum=1.0
    )


assert SequentialVerifier.rule is not None
_EXACT = SequentialVerifier.rule


@VERIFIERS.register("ensemble")
class EnsembleVerifier(SequentialVerifier[EnsembleOptions]):
    """Lossy: accepts each candidate with probability min(1, v/q), v = w p + (1 - w) q.

    A rejection leaves norm(max(0, p - q)), as in the sequential rule, for v exceeds q where p does.
    A tested place of a chain has the law v exactly; the token after a fully accepted draft is drawn from p, so that the
    text's law depends on where rounds end and is no pure mixture. At temperature 0 the most probable token of v passes:
    the drafter's where w is below a half. The static ensemble of transformers' assisted generation and of 2604.07622.
    """

    lossless: ClassVar[bool] = False
    rule: ClassVar[Rule | None] = replace(
        _EXACT,
        threshold="ratio(mixed, q)",
        words="min(1, v/q) with v = w p + (1 - w) q",
        one_by_one=False,
        terms={"mixed": "v"},
        formula=(
            "v(x) = w · p(x) + (1 − w) · Q(x)",
            "accept x with probability min(1, v(x) / Q(x))",
            *_EXACT.formula[1:],
        ),
        code=("v = weight * p + (1 - weight) * q", "accepted = u < min(1, v[x] / q[x])", *_EXACT.code[1:]),
    )

    def level(self, tree: DraftTree, target: TargetRows, node: int) -> Level:
        return MixedLevel(tree, target, node, weight=self.options.weight)


@dataclass(slots=True)
class MixedLevel(Level):
    """`terms` of a trial: `mixed`, v of the candidate; at temperature 0 whether v is largest there."""

    weight: float = 1.0

    def acceptance_probability(self, child: int, p: float, q: float) -> tuple[float, dict[str, float]]:
        mixed = self.weight * p + (1.0 - self.weight) * q
        if self.target.greedy:
            mixed = float(p == 1.0 or self.weight < 0.5)
        return min(1.0, mixed / q) if q > 0.0 else float(mixed > 0.0), {"mixed": mixed}

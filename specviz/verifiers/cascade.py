"""Speculative cascades: place by place either the drafter's word is taken, or the target's law is kept exactly.

Lossy by design.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from specviz.core.tree import DraftTree
from specviz.options import Options, option
from specviz.trace.declared_rule import Rule
from specviz.verifiers.base import VERIFIERS, TargetRows
from specviz.verifiers.sequential import Level, SequentialVerifier


@dataclass(frozen=True)
class CascadeOptions(Options):
    """When the drafter is not good enough."""

    defer: str = option(
        "opt",
        help="the target decides where max q is below: chow: 1 - a; diff: max p - a; opt: max p - a TV(p, q)",
        choices=("chow", "diff", "opt"),
    )
    alpha: float = option(
        0.3, help="a: how much is forgiven; 0 with diff or opt: wherever the target is surer", minimum=0.0, maximum=1.0
    )


assert SequentialVerifier.rule is not None
_EXACT = SequentialVerifier.rule


@VERIFIERS.register("cascade")
class CascadeVerifier(SequentialVerifier[CascadeOptions]):
    """Lossy: where the drafter is sure enough its token passes unseen; elsewhere it is judged by the sequential rule.

    Per place the law is q or p, chosen by both distributions and by no token, and speculative sampling is lossless for
    that law: it accepts with min(1, π/q), which is 1 where π = q. After a fully accepted draft q is not known, and p is
    taken. Candidates that were not drawn, as at temperature 0, have no q to trust and are judged exactly. Narasimhan et
    al. (2405.19261).
    """

    lossless: ClassVar[bool] = False
    rule: ClassVar[Rule | None] = replace(
        _EXACT,
        threshold="where(kept, 1, ratio(p, q))",
        words="1 where the drafter is trusted, min(1, p/q) elsewhere",
        one_by_one=False,
        terms={"kept": "trusted"},
        formula=(
            "π = p where max q < max p − α · TV(p, q), else π = q (opt; chow: 1 − α, diff: max p − α)",
            "accept x with probability min(1, π(x) / Q(x))",
            *_EXACT.formula[1:],
        ),
        code=(
            "kept = q.max() >= p.max() - alpha * tv(p, q)",
            "accepted = kept or u < min(1, p[x] / q[x])",
            *_EXACT.code[1:],
        ),
    )

    def level(self, tree: DraftTree, target: TargetRows, node: int) -> Level:
        return TrustingLevel(tree, target, node, options=self.options)


@dataclass(slots=True)
class TrustingLevel(Level):
    """`terms` of a trial: `kept`, 1, where the drafter is trusted; none elsewhere."""

    options: CascadeOptions = CascadeOptions()

    def acceptance_probability(self, child: int, p: float, q: float) -> tuple[float, dict[str, float]]:
        proposal = self.tree.proposals[child]
        if proposal is None or self.rejected or self._defers(self.target.probs(self.node), proposal):
            return Level.acceptance_probability(self, child, p, q)
        return 1.0, {"kept": 1.0}

    def _defers(self, target: Tensor, draft: Tensor) -> bool:
        """Whether the target decides at this place: p and q [V]."""
        sure, alpha = float(draft.max()), self.options.alpha
        if self.options.defer == "chow":
            return sure < 1.0 - alpha
        forgiven = alpha if self.options.defer == "diff" else alpha * float((target - draft).abs().sum()) / 2
        return sure < float(target.max()) - forgiven

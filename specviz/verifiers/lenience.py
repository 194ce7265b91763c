"""Speculative sampling with a thumb on the scale: candidates pass more easily, and the text drifts from the target.

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
class LenienceOptions(Options):
    """How much is forgiven."""

    lenience: float = option(
        0.5,
        help="l: accept with probability min(1, p / (l q)), at temperature 0 where p is at least l times the largest; "
        "1 forgives nothing and is lossless",
        minimum=0.01,
        maximum=1.0,
    )


assert SequentialVerifier.rule is not None
_EXACT = SequentialVerifier.rule


@VERIFIERS.register("lenience")
class LenienceVerifier(SequentialVerifier[LenienceOptions]):
    """Lossy: accepts each candidate with probability min(1, p / (l Q)); the smaller l, the more passes.

    On a chain no token comes out with more than 1/l times its probability. A rejection leaves norm(max(0, p - Q)), as
    in the sequential rule, which this is at l = 1. At temperature 0, where p would be 0 or 1, the target's own softmax
    is compared before the argmax: a candidate passes when p is at least l max p. Leviathan et al. (2211.17192, appendix
    A.5).
    """

    lossless: ClassVar[bool] = False
    rule: ClassVar[Rule | None] = replace(
        _EXACT,
        threshold="where(share, share >= lenience, ratio(p, lenience * q))",
        words="min(1, p/(l q)) (at temperature 0: p >= l max p)",
        terms={"share": "p / max p"},
        formula=(
            "accept x with probability min(1, p(x) / (l · Q(x)))",
            "at temperature 0: accept x where p(x) ≥ l · max p",
            *_EXACT.formula[1:],
        ),
        code=("accepted = u < min(1, p[x] / (lenience * q[x]))", *_EXACT.code[1:]),
    )

    def level(self, tree: DraftTree, target: TargetRows, node: int) -> Level:
        return ForgivingLevel(tree, target, node, self.options.lenience)


class ForgivingLevel(Level):
    """`terms` of a trial at temperature 0: `share`, p of the candidate divided by the largest p at its parent."""

    def acceptance_probability(self, child: int, p: float, q: float) -> tuple[float, dict[str, float]]:
        if not self.target.greedy:
            return super().acceptance_probability(child, p, q)
        share = self.target.share_of_best(child)
        return float(share >= self.lenience), {"share": share}

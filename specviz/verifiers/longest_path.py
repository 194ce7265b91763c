"""Siblings tried independently, the longest accepted path kept: more tokens per round, and a text that drifts.

Lossy by design.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.core.randomness import RandomSource
from specviz.core.tree import FROM_TARGET, ROOT, DraftTree
from specviz.options import Options
from specviz.trace.declared_rule import Rule
from specviz.trace.events import CandidateKind, Trial
from specviz.verifiers.base import VERIFIERS, TargetRows, Verdict, Verifier, ending
from specviz.verifiers.candidates import longest_path, try_all
from specviz.verifiers.foreseen import draws_at


@dataclass(frozen=True)
class LongestPathOptions(Options):
    """Nothing to choose."""


@VERIFIERS.register("longest_path")
class LongestPathVerifier(Verifier[LongestPathOptions]):
    """Lossy: tries every candidate by itself with probability min(1, p/q) and keeps the longest accepted path.

    Siblings do not make up for each other's rejections and the longer branch wins, so the first token is no longer the
    target's. The last token is drawn from the target's own distribution at the end of the path; of equally long paths
    the one drafted first is kept. Candidates that the target itself proposed pass. So accepts "Improving
    Multi-candidate Speculative Decoding" (Lu et al., 2409.10644, §3), whose target-initialised trees need it.
    """

    lossless: ClassVar[bool] = False
    judges: ClassVar[frozenset[CandidateKind]] = frozenset(["iid", "without_replacement", "point_mass"])
    judges_merged: ClassVar[bool] = True
    temperatures: ClassVar[str] = "any"
    takes_the_targets: ClassVar[bool] = True
    rule: ClassVar[Rule | None] = Rule(
        order="longest",
        threshold="where(given, 1, ratio(p, q))",
        words="min(1, p/q)",
        subtracts=False,
        one_by_one=True,
        terms={"given": "given"},
        formula=(
            "x passes with probability min(1, p(x) / q(x))",
            "what the target itself proposed passes",
            "of the paths that passed the longest is kept",
        ),
        code=("passed = u < min(1, p[x] / q[x])", "path = max(passed_paths, key=len)"),
    )

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        """`terms` of a trial: `given`, 1 where the target proposed the candidate and nothing is asked."""

        draw_at = draws_at(tree, target, randomness, lambda depth: ("target", position + depth, 0))

        def attempt(node: int) -> Trial:
            p, q = target.candidate_prob(node), tree.proposal_prob(node)
            given = tree.sources[node] == FROM_TARGET
            threshold = 1.0 if given else min(1.0, p / q) if q > 0.0 else float(p > 0.0)
            decision = randomness.accept(threshold, ("accept", position, node))
            return Trial(node, p, q, threshold, decision.u, decision.accepted, {"given": 1.0} if given else {})

        trials = try_all(tree, attempt)
        path = longest_path(tree, trials, worth=lambda node: 0.0)
        end = path[-1] if path else ROOT
        drawn = draw_at(end)
        return Verdict(path, drawn.token, ending(tree, tree.children(end)), trials, u=drawn.u, order="longest")

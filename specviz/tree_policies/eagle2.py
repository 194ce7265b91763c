"""EAGLE-2: expand the most probable nodes, then keep the most probable of all that were scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.core.sampling import Sampling
from specviz.core.transfer import largest
from specviz.core.tree import ROOT
from specviz.options import option
from specviz.trace.declared_method import Trees
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import MOST_NODES, TREE_POLICIES, Draft, TreePolicy, TreePolicyOptions


@dataclass(frozen=True)
class Eagle2Options(TreePolicyOptions):
    """Size of the search and of what is kept."""

    budget: int = option(16, help="candidates kept after reranking", minimum=1, maximum=MOST_NODES, counts="candidates")
    depth: int = option(5, help="levels; more where fewer than the budget were scored", minimum=1, maximum=16)
    width: int = option(4, help="nodes expanded per level, and children scored of each", minimum=1, maximum=16)


@TREE_POLICIES.register("eagle2")
class Eagle2TreePolicy(TreePolicy[Eagle2Options]):
    """Expands the nodes with the largest cumulative probability and keeps the best of all scored ones.

    EAGLE-2 (2406.16858, §4): the drafter's confidence stands in for the acceptance rate. Nothing is drawn, so
    candidates are point masses at every temperature. The paper keeps 60 nodes of depth 6 from 10 per level.
    """

    trees: ClassVar[Trees] = Trees(drops=True, fan="width", notes=("scored",))

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset(["point_mass"])

    def grow(self, draft: Draft) -> None:
        width = int(self.options.width)
        scores = {ROOT: 0.0}
        frontier, depth = [ROOT], 0
        while self.options.goes_deeper(depth, self.options.depth, draft.tree.drafted):
            depth += 1
            nodes, logits = draft.expand(frontier)
            if not nodes:
                break
            # no more than 0, so that a child never stands before its parent
            best = largest(logits.float().log_softmax(-1).clamp(max=0.0), width)
            found = []
            for node, tokens, gains in zip(nodes, *best, strict=True):
                for token, gain in zip(tokens, gains, strict=True):
                    child = draft.add(node, token, "point_mass", None)
                    scores[child] = scores[node] + gain
                    found.append(child)
            frontier = sorted(sorted(found, key=lambda node: (-scores[node], node))[:width])
        draft.note["scored"] = draft.tree.drafted
        # Ids rise from level to level: of equal scores the node nearer the root is kept, no child without its parent.
        ranked = sorted(range(1, len(draft.tree)), key=lambda node: (-scores[node], node))
        draft.arrange([ROOT, *sorted(ranked[: int(self.options.budget)])])

"""Token Recycling: what the target's passes say about other continuations is kept and drafted next time.

    root ─► its row ─► their rows … (a template of ranks) ─► tree ─► target's logits at every node ─► rows again

No model, no training, one small matrix. Knows nothing about verifiers and prompts' texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from torch import Tensor

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Outcome, Proposal
from specviz.drafters.parts.followers import Followers
from specviz.drafters.parts.template import NODES, WIDEST, Path, best_size, by_worth, whole_template
from specviz.lm.base import Cache, LanguageModel
from specviz.options import Options, option
from specviz.trace.events import CandidateKind, Option
from specviz.trace.exhibits import Exhibit, ExhibitRow
from specviz.tree_policies.base import StepCosts

HITS = (0.671, 0.060, 0.026, 0.016, 0.010, 0.009, 0.007, 0.006)
"""how often the target's choice was the first, second, … in its row: see docs/methods/token_recycling.md"""


@dataclass(frozen=True)
class TokenRecyclingOptions(Options):
    """Size of the tree and of the matrix."""

    nodes: int = option(NODES, help="candidates per round; the published tree has 80", minimum=1, maximum=NODES)
    shrink: bool = option(True, help="draft fewer where this machine's measured step times ask for it")
    followers: int = option(WIDEST, help="followers kept per token", minimum=1, maximum=WIDEST)
    fill: bool = option(True, help="learn from the prompt before the first round")


@DRAFTERS.register("token_recycling")
class TokenRecyclingDrafter(Drafter):
    """Drafts what the target recently found probable after each token, as a static tree.

    Every target pass tells the most probable followers of each token it read, accepted or not. They are kept in a
    matrix and looked up again: the root's followers, their followers, and so on along a fixed template. Candidates are
    point masses. Token Recycling (Luo et al., 2408.08696).
    """

    name: ClassVar[str] = "token_recycling"
    options_type: ClassVar[type[Options]] = TokenRecyclingOptions
    lossless: ClassVar[bool] = True
    needs_model: ClassVar[bool] = False
    reads_prompt: ClassVar[bool] = True
    remembers: ClassVar[bool] = True
    memory_options: ClassVar[tuple[str, ...] | None] = ("followers",)

    def __init__(self, options: Options, model: LanguageModel | None = None) -> None:
        assert isinstance(options, TokenRecyclingOptions)
        super().__init__(options, model)
        self._matrix = Followers(1, 1)

    @classmethod
    def kinds(cls, options: Options, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset(["point_mass"])

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        self._matrix = Followers(target.info.vocab_size, self.options.followers)

    def tune(self, costs: StepCosts) -> None:
        """Fix the size for these step times; from then on the options say what was chosen."""
        if self.options.shrink:
            size = best_size(self._ordered[: self.options.nodes], HITS, costs)
            self.options = replace(self.options, nodes=size, shrink=False)

    def recall(self, memory: bytes) -> None:
        self._matrix.load(memory)

    def memory(self) -> bytes:
        return self._matrix.dump()

    def read_prompt(self, tokens: Sequence[int], logits: Tensor) -> None:
        if self.options.fill:
            self._matrix.write(tokens, self._top(logits))

    def propose(self, context: DraftContext) -> Proposal:
        tree = DraftTree.from_root(context.tokens[-1])
        node_at: dict[Path, int] = {(): ROOT}
        for path in self._template:
            parent = node_at.get(path[:-1])
            if parent is None or len(path) > context.max_depth:
                continue
            followers = self._matrix.after(tree.tokens[parent])
            if path[-1] < len(followers):
                node_at[path] = tree.add(parent, followers[path[-1]], "point_mass", None, self.name)
        note: dict[str, Option] = {
            "template_nodes": len(self._template),
            "rows_known": self._matrix.known,
            "matrix_bytes": self._matrix.size_bytes,
        }
        return Proposal(tree, note=note, knew=self._rows_behind(tree))

    def observe(self, outcome: Outcome) -> list[Exhibit]:
        """Every node's row is rewritten. Where a token stands at several nodes, what follows it in the committed text
        counts, the deepest such node first; else the last of them in the tree."""
        tree, path = outcome.tree, outcome.path
        order = [*(node for node in range(1, len(tree)) if node not in path), ROOT, *path]
        writer = {tree.tokens[node]: node for node in order}
        before = {token: self._matrix.after(token) for token in writer}
        rows = self._top(outcome.logits)
        self._matrix.write(list(writer), rows[list(writer.values())])
        changed = [
            ExhibitRow(_after([node]), now, [rank for rank, one in enumerate(now) if one not in before[token]], [node])
            for node, token in sorted((node, token) for token, node in writer.items())
            if (now := self._matrix.after(token)) != before[token]
        ]
        return [Exhibit("matrix rows rewritten by this round", changed, marked="new")] if changed else []

    def _rows_behind(self, tree: DraftTree) -> list[Exhibit]:
        """Each matrix row that a candidate came from, once, however many nodes had its token."""
        rows: dict[int, tuple[list[int], list[int]]] = {}
        for node in range(1, len(tree)):
            parents, nodes = rows.setdefault(tree.tokens[tree.parents[node]], ([], []))
            nodes.append(node)
            if tree.parents[node] not in parents:
                parents.append(tree.parents[node])
        shown = []
        for token, (parents, nodes) in rows.items():
            followers = self._matrix.after(token)
            drafted = {tree.tokens[node] for node in nodes}
            marks = [rank for rank, one in enumerate(followers) if one in drafted]
            shown.append(ExhibitRow(_after(parents), followers, marks, nodes))
        return [Exhibit("matrix rows behind the tree", shown, marked="drafted")] if shown else []

    def _top(self, logits: Tensor) -> np.ndarray:
        """The followers [n, width] that these logits [n, V] put first."""
        return logits.topk(self._matrix.width, dim=-1).indices.cpu().numpy()

    @cached_property
    def _ordered(self) -> list[Path]:
        return by_worth(whole_template(), HITS[: self.options.followers])

    @cached_property
    def _template(self) -> list[Path]:
        """The best `nodes` paths, breadth first."""
        return sorted(self._ordered[: self.options.nodes], key=lambda path: (len(path), path))


def _after(nodes: Sequence[int]) -> str:
    return "after " + ", ".join("the root" if node == ROOT else f"node {node}" for node in nodes)

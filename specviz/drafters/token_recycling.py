"""Token Recycling: what the target's passes say about other continuations is kept and drafted next time.

    root ─► its row ─► their rows … (a template of ranks) ─► tree ─► target's logits at every node ─► rows again

No model, no training, one small matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np
from torch import Tensor

from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Needs, Proposal, RoundOutcome
from specviz.drafters.capabilities import Attaches, Begins, Observes, ReadsPrompt, Remembers, Tunes
from specviz.errors import MemoryFileError
from specviz.lm.base import Cache, LanguageModel
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates
from specviz.trace.events import Option
from specviz.trace.header import MATRIX_AT_START, MATRIX_BEHIND, MATRIX_REWRITTEN, Exhibit, ExhibitRow
from specviz.tree_policies.base import StepCosts

Path = tuple[int, ...]

LEVELS = (8, 21, 25, 15, 8, 3)
"""candidates at depth 1, 2, … of the published 80-node template (authors' release, version 2.2.2)"""
WIDEST = 8
"""followers per token, hence ranks"""
NODES = sum(LEVELS)
CPU_NODES = 16
"""size where a pass over 81 rows costs many over one; the step times measured on two CPU cores asked for 15"""
HITS = (0.671, 0.060, 0.026, 0.016, 0.010, 0.009, 0.007, 0.006)
"""how often the target's choice was the first, second, … in its row: see docs/methods/token_recycling.md"""


@dataclass(frozen=True)
class TokenRecyclingOptions(Options):
    """Size of the tree and of the matrix."""

    former: ClassVar[Mapping[str, str]] = {"shrink": "fit"}

    nodes: int = option(
        0,
        help=f"candidates per round; 0: the published {NODES} on a CUDA device, {CPU_NODES} elsewhere",
        minimum=0,
        maximum=NODES,
    )
    fit: bool = option(False, help="choose fewer candidates where this machine's measured step times ask for it")
    followers: int = option(WIDEST, help="followers kept per token", minimum=1, maximum=WIDEST)
    fill: bool = option(True, help="learn from the prompt before the first round")


MOST_SHOWN = 1024
"""rows of the matrix that a trace holds from before the first round"""
UNKNOWN = -1
"""stands in rows of tokens that were never seen; no token has this id"""


class Followers:
    """Rows of token ids [vocab_size, width] in int32, the most probable follower first (2408.08696, §3.1)."""

    def __init__(self, vocab_size: int, width: int) -> None:
        self.width = min(width, vocab_size)
        self._rows = np.full((vocab_size, self.width), UNKNOWN, dtype=np.int32)

    @property
    def size_bytes(self) -> int:
        """The whole matrix, known rows or not."""
        return self._rows.nbytes

    @property
    def known(self) -> int:
        """Tokens whose row was ever written."""
        return len(self._known_tokens())

    def after(self, token: int) -> list[int]:
        """The token's row; empty where nothing is known about it."""
        row = self._rows[token]
        return [] if row[0] == UNKNOWN else row.tolist()

    def rows(self, most: int) -> list[tuple[int, list[int]]]:
        """(token, its row) of the known rows, by ascending token, at most so many."""
        known = self._known_tokens()[:most]
        return list(zip(known.tolist(), self._rows[known].tolist(), strict=True))

    def write(self, tokens: Sequence[int], rows: np.ndarray) -> None:
        """Write rows [len(tokens), width]. Of several rows for one token the last stays."""
        last = {token: index for index, token in enumerate(tokens)}
        self._rows[list(last)] = rows[list(last.values())]

    def dump(self) -> bytes:
        """The known rows as little-endian int32: all their tokens, then row after row."""
        known = self._known_tokens()
        return bytes(known.astype("<i4").tobytes() + self._rows[known].astype("<i4").tobytes())

    def load(self, data: bytes) -> None:
        """Take over what `dump` gave. Raises MemoryFileError where it is no matrix of this width and vocabulary."""
        count, odd = divmod(len(data), 4 * (1 + self.width))
        numbers = np.frombuffer(data, dtype="<i4") if odd == 0 else np.empty(0, dtype="<i4")
        if odd or not all(0 <= end < len(self._rows) for end in (numbers.min(initial=0), numbers.max(initial=0))):
            raise MemoryFileError(
                f"the memory holds no rows of {self.width} followers each for a vocabulary of {len(self._rows)} "
                "tokens; begin anew with --memory reset."
            )
        self._rows[numbers[:count]] = numbers[count:].reshape(count, self.width)

    def _known_tokens(self) -> np.ndarray:
        return np.flatnonzero(self._rows[:, 0] != UNKNOWN)


def whole_template() -> list[Path]:
    """80 paths with the published number at each depth, breadth first.

    Our reading: of the children of what the depth above kept, those with the smallest product of ranks counted from 1,
    as if a follower's probability fell with its rank as in Zipf's law; among equals the one whose first ranks are
    lower.
    """
    template, level = list[Path](), list[Path]([()])
    for count in LEVELS:
        children = [(*path, rank) for path in level for rank in range(WIDEST)]
        level = sorted(children, key=lambda path: (prod(rank + 1 for rank in path), path))[:count]
        template += sorted(level)
    return template


def by_worth(template: Sequence[Path], hits: Sequence[float]) -> list[Path]:
    """The paths in the order in which a smaller tree keeps them, parents always before children.

    `hits` are the probabilities, each below 1 and falling, that the follower of rank 0, 1, … is what the target says; a
    path's worth, the probability that it is accepted, is their product. Paths of ranks beyond `hits` are left out.
    """
    possible = [path for path in template if max(path) < len(hits)]
    return sorted(possible, key=lambda path: (-_worth(path, hits), len(path), path))


def best_size(ordered: Sequence[Path], hits: Sequence[float], costs: StepCosts) -> int:
    """How many of the paths, at least one, take the least time per token: one target pass over them and the root,
    divided by the tokens expected of it."""
    tokens, best = 1.0, (float("inf"), 1)
    for size, path in enumerate(ordered, start=1):
        tokens += _worth(path, hits)
        best = min(best, (costs.target_s(size + 1) / tokens, size))
    return best[1]


def _worth(path: Path, hits: Sequence[float]) -> float:
    return prod(hits[rank] for rank in path)


@DRAFTERS.register("token_recycling")
class TokenRecyclingDrafter(Drafter[TokenRecyclingOptions], Attaches, Tunes, Remembers, ReadsPrompt, Begins, Observes):
    """Drafts what the target recently found probable after each token, as a static tree.

    Every target pass tells the most probable followers of each token it read, accepted or not. They are kept in a
    matrix and looked up again: the root's followers, their followers, and so on along a fixed template. Candidates are
    point masses. Token Recycling (Luo et al., 2408.08696).
    """

    candidates: ClassVar[Candidates] = Candidates(most="nodes", shows=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="what the target found probable after each token before",
        memory="a matrix of followers, one row per token of the vocabulary",
    )

    def __init__(self, options: TokenRecyclingOptions) -> None:
        super().__init__(options)
        self._matrix = Followers(1, 1)
        self._from_prompt: set[int] = set()
        self._at_start: list[Exhibit] = []
        """the whole matrix, until it was shown with the first draft"""

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        """Fix the size for the kind of device; from then on the options hold the number."""
        self._matrix = Followers(target.info.vocab_size, self.options.followers)
        if self.options.nodes == 0:
            self.options = replace(self.options, nodes=NODES if target.device.type == "cuda" else CPU_NODES)

    def tune(self, costs: StepCosts) -> None:
        """Fix the size for these step times, where that is asked for; from then on the options say what was chosen."""
        if self.options.fit:
            size = best_size(self._ordered[: self.options.nodes], HITS, costs)
            self.options = replace(self.options, nodes=size, fit=False)

    def remembered_for(self) -> Mapping[str, Option]:
        return {"followers": self.options.followers}

    def recall(self, memory: bytes) -> None:
        self._matrix.load(memory)

    def memory(self) -> bytes:
        return self._matrix.dump()

    def read_prompt(self, tokens: Sequence[int], logits: Tensor) -> None:
        if self.options.fill:
            self._matrix.write(tokens, self._top(logits))
            self._from_prompt.update(tokens)

    def begin(self, tokens: Sequence[int]) -> None:
        rows = [
            ExhibitRow("from the prompt" if token in self._from_prompt else "from earlier runs", [token, *row], [0])
            for token, row in self._matrix.rows(MOST_SHOWN)
        ]
        self._at_start = [Exhibit(MATRIX_AT_START, rows, marked="the row's own token")] if rows else []

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
        exhibits, self._at_start = [*self._rows_behind(tree), *self._at_start], []
        return Proposal(tree, note=note, exhibits=exhibits)

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
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
        return [Exhibit(MATRIX_REWRITTEN, changed, marked="new")] if changed else []

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
            marks = [rank for rank, follower in enumerate(followers) if follower in drafted]
            shown.append(ExhibitRow(_after(parents), followers, marks, nodes))
        return [Exhibit(MATRIX_BEHIND, shown, marked="drafted")] if shown else []

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

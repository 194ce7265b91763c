"""The one data shape below the waist: a draft tree.

A chain is a tree of width one, an n-gram draft is a tree of point masses, "no drafting" is a root alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from specviz.core.draws import Room
from specviz.core.sampling import NUMPY_FORMATS
from specviz.errors import DraftError
from specviz.trace.events import CandidateKind
from specviz.trace.tree_shape import families_of, rows_of

ROOT = 0

FROM_TARGET = "target"
"""source of candidates that the target itself proposed, from what its last pass said follows the root"""

Shape = Literal["chain", "tree"]
"""`chain`: no node has siblings; a root alone is one. `tree`: anything"""


@dataclass(slots=True)
class DraftTree:
    """Candidates in draw order. Node 0 is the root (last committed token, not yet in the target's cache).

    Parents precede children; siblings stand in the order in which they were drawn and will be tried.
    `proposals[i]` [V] is the distribution node i was drawn from (before earlier siblings were removed);
    None for the root and for point masses.
    """

    tokens: list[int]
    parents: list[int] = field(default_factory=lambda: [-1])
    depths: list[int] = field(default_factory=lambda: [0])
    kinds: list[CandidateKind] = field(default_factory=lambda: ["root"])
    proposals: list[Tensor | None] = field(default_factory=lambda: [None])
    sources: list[str] = field(default_factory=lambda: ["root"])
    block: Room | None = None
    """of a chain that was drawn by one call: its candidates' distributions in one piece, the rows of `proposals`"""
    _drawn_probs: list[float] = field(default_factory=list, repr=False)

    @classmethod
    def from_root(cls, token: int) -> DraftTree:
        # all named here: a factory for each list would be a call for each
        return cls([token], [-1], [0], ["root"], [None], ["root"], None, [])

    def add(self, parent: int, token: int, kind: CandidateKind, proposal: Tensor | None, source: str) -> int:
        """Append a candidate under `parent` and return its id.

        Raises DraftError where the parent is unknown or a drawn candidate carries no proposal: how a
        candidate was drawn must be declared, because a wrong declaration is silently lossy.
        """
        if not 0 <= parent < len(self.tokens):
            raise DraftError(
                f"node {len(self.tokens)} names parent {parent}, but only 0 to {len(self.tokens) - 1} exist."
            )
        if (proposal is None) != (kind == "point_mass"):
            raise DraftError(
                f"node {len(self.tokens)} is declared '{kind}' but carries {'no' if proposal is None else 'a'} "
                "proposal distribution; sampled candidates need one, point masses must not have one."
            )
        self.tokens.append(token)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1)
        self.kinds.append(kind)
        self.proposals.append(proposal)
        self.sources.append(source)
        self.block = None
        return len(self.tokens) - 1

    def add_chain(
        self, tokens: Sequence[int], kind: CandidateKind, block: Room | None, probs: Sequence[float], source: str
    ) -> None:
        """`add` of n tokens, each below the one before, to a tree that is a root alone.

        block: the distributions they were drawn from, n times [V]; None for point masses. probs: of each token there;
        empty for point masses."""
        assert len(self.tokens) == 1, "a chain is added below a root that has nothing below it."
        proposals = () if block is None else block.rows
        steps = len(tokens)
        assert len(proposals) == len(probs) == (0 if kind == "point_mass" else steps), "it is as `kind` declares it."
        self.tokens += tokens
        self.parents += range(steps)
        self.depths += range(1, steps + 1)
        self.kinds += [kind] * steps
        self.proposals += proposals or [None] * steps
        self.sources += [source] * steps
        self.block = block
        self._drawn_probs = [1.0, *(probs or [1.0] * steps)]

    def arrange(self, nodes: Sequence[int]) -> None:
        """Keep these nodes in this order and renumber them: the root first, parents before children."""
        new_id = {node: index for index, node in enumerate(nodes)}
        self.parents = [new_id[self.parents[node]] if node != ROOT else -1 for node in nodes]
        for name in ("tokens", "depths", "kinds", "proposals", "sources"):
            values = getattr(self, name)
            setattr(self, name, [values[node] for node in nodes])
        self._drawn_probs = []
        self.block = None

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def drafted(self) -> int:
        """Number of candidates, the root left out."""
        return len(self.tokens) - 1

    def children(self, node: int) -> list[int]:
        """Children in draw order."""
        return [i for i in range(node + 1, len(self.tokens)) if self.parents[i] == node]

    def families(self) -> list[list[int]]:
        """Per node its children in draw order: all of them in one go."""
        return families_of(self.parents)

    def rows(self) -> list[int]:
        """Per node its row in a pass over the tree: see `rows_of`."""
        return list(range(len(self))) if self.is_chain() else rows_of(self.parents, self.tokens)

    def path(self, node: int) -> list[int]:
        """Nodes from depth 1 down to `node`; empty for the root."""
        path: list[int] = []
        while node != ROOT:
            path.append(node)
            node = self.parents[node]
        return path[::-1]

    def proposal_prob(self, node: int) -> float:
        """q(token) in the distribution the node was drawn from; 1.0 for point masses and the root."""
        return self.proposal_probs()[node]

    def proposal_probs(self) -> list[float]:
        """The same of every node; one transfer from the device for the whole tree, at the first question."""
        if len(self._drawn_probs) != len(self.tokens):
            drawn = [(node, q) for node, q in enumerate(self.proposals) if q is not None]
            if all(q.is_cpu and q.dtype in NUMPY_FORMATS for _, q in drawn):
                self.know_drawn([i for i, _ in drawn], [float(q.numpy()[self.tokens[i]]) for i, q in drawn])
            else:
                nodes, probs = self.drawn_probs()
                self.know_drawn(nodes, [] if probs is None else probs.tolist())
        return self._drawn_probs

    def drawn_probs(self) -> tuple[list[int], Tensor | None]:
        """The nodes that were drawn and q(token) of each [their number], still on the device, for those who have more
        to bring over. None where no node was drawn, or the numbers are here already."""
        rows = [(i, proposal) for i, proposal in enumerate(self.proposals) if proposal is not None]
        if not rows or len(self._drawn_probs) == len(self.tokens):
            return [], None
        return [i for i, _ in rows], torch.stack([proposal[self.tokens[i]] for i, proposal in rows])

    def know_drawn(self, nodes: Sequence[int], probs: Sequence[float]) -> None:
        """Hold what was brought over of `drawn_probs`."""
        self._drawn_probs = [1.0] * len(self.tokens)
        for node, prob in zip(nodes, probs, strict=True):
            self._drawn_probs[node] = prob

    def is_chain(self) -> bool:
        return self.parents == list(range(-1, len(self.parents) - 1))

    def token_path(self, node: int) -> list[int]:
        return [self.tokens[i] for i in self.path(node)]

"""Sequoia: the shape with the most expected tokens, found once by dynamic programming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT
from specviz.options import option
from specviz.trace.declared_method import Trees
from specviz.trace.events import CandidateKind
from specviz.tree_policies.acceptance_vector import parse_vector, vector_for
from specviz.tree_policies.base import DEEPEST, TREE_POLICIES, Draft, Pair, StepCosts, TreePolicy, TreePolicyOptions
from specviz.tree_policies.drawing import sibling_kinds, siblings_of


@dataclass(frozen=True)
class SequoiaOptions(TreePolicyOptions):
    """What the shape is made for."""

    budget: int = option(16, help="candidates per round", minimum=1, maximum=128, counts="candidates")
    depth: int = option(8, help="levels at most", minimum=1, maximum=DEEPEST, counts="levels")
    acceptance: str = option(
        "auto",
        help="probability that the first, second, … sibling is the accepted one, such as 0.6,0.1,0.05; "
        "auto: as measured for the pair and the temperature in use, or else for the bundled pair",
    )
    fit: bool = option(
        False, help="choose fewer candidates or levels where this machine's measured step times ask for it"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.vector  # noqa: B018 - raises where it is not one

    @property
    def vector(self) -> tuple[float, ...]:
        return vector_for(None)[1] if self.acceptance == "auto" else parse_vector(self.acceptance)


class Planned(NamedTuple):
    """A node of the planned tree, by its children in order of trial."""

    children: tuple[Planned, ...] = ()


class Plans:
    """The best trees of at most `most` nodes, root included, and `depth` levels, under an acceptance vector.

    F(m, l) is the expected number of accepted nodes, the root counted, of the best tree of at most m nodes and l
    levels; a tree's first b children take y of the nodes, child b the others (Sequoia 2402.12374, §3.1.2).
    """

    def __init__(self, vector: Sequence[float], most: int, depth: int) -> None:
        self._vector = vector
        self._best = [np.ones(most + 1)]
        self._partial: list[list[np.ndarray]] = [[]]
        for _ in range(depth):
            self._add_level(most)

    def _add_level(self, most: int) -> None:
        below = self._best[-1]
        rows = [np.ones(most + 1)]
        for prob in self._vector:
            row = np.full(most + 1, -np.inf)
            for m in range(2, most + 1):
                split = np.arange(1, m)
                row[m] = np.max(rows[-1][split] + prob * below[m - split])
            rows.append(row)
        self._partial.append(rows)
        self._best.append(np.max(rows, axis=0))

    def expected(self, nodes: int, depth: int) -> float:
        """Accepted nodes and the root, which stands for the token that ends the round: tokens per round."""
        return float(self._best[depth][nodes])

    def shape(self, nodes: int, depth: int) -> Planned:
        """A best tree, walked back through the tables; of equals that with the fewest children."""
        if depth == 0 or nodes <= 1:
            return Planned()
        rows, below = self._partial[depth], self._best[depth - 1]
        width = int(np.argmax([row[nodes] for row in rows]))
        children = []
        for number in range(width, 0, -1):
            split = np.arange(1, nodes)
            kept = int(split[np.argmax(rows[number - 1][split] + self._vector[number - 1] * below[nodes - split])])
            children.append(self.shape(nodes - kept, depth - 1))
            nodes = kept
        return Planned(tuple(reversed(children)))


@TREE_POLICIES.register("sequoia")
class SequoiaTreePolicy(TreePolicy[SequoiaOptions]):
    """The tree shape with the most expected tokens for its size; on request sized by the measured step times.

    Sequoia (2402.12374): an acceptance vector says how often each sibling is the accepted one, dynamic programming
    finds the best shape; with `fit`, nodes and levels are chosen to minimise time per token. Candidates are drawn
    without replacement with fresh noise every round; at temperature 0 the most probable.
    """

    trees: ClassVar[Trees] = Trees(in_order=True, static=True)

    settles_siblings: ClassVar[bool] = True

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return sibling_kinds(sampling)

    def prepare(self, pair: Pair) -> None:
        """Fix the vector; from then on the options hold its numbers, and say what they were measured on."""
        if self.options.acceptance == "auto":
            name, values = vector_for(pair)
            self.options = replace(self.options, acceptance=f"{name}: {','.join(map(str, values))}")

    def tune(self, costs: StepCosts) -> None:
        """Fix nodes and levels for these step times; from then on the options say what was chosen."""
        if not self.options.fit or not costs.target:
            return

        def per_token(size: tuple[int, int]) -> float:
            nodes, depth = size
            return (costs.target_s(nodes + 1) + depth * costs.draft_s) / self._plans.expected(nodes + 1, depth)

        sizes = [(n, d) for n in range(1, self.options.budget + 1) for d in range(1, self.options.depth + 1) if d <= n]
        nodes, depth = min(sizes, key=per_token)
        self.options = replace(self.options, budget=nodes, depth=depth, fit=False)

    def grow(self, draft: Draft) -> None:
        level = [(ROOT, self._shape)]
        while level:
            planned = dict(level)
            nodes, logits = draft.expand([node for node, shape in level if shape.children])
            if not nodes:
                return
            level = []
            for node, family in zip(nodes, siblings_of(logits, draft.sampling), strict=True):
                for shape in planned[node].children:
                    if family.left <= 0.0:
                        break
                    taken = family.take(draft)
                    level.append((draft.add(node, taken.token, family.kind, taken.proposal), shape))

    @cached_property
    def _plans(self) -> Plans:
        return Plans(self.options.vector, self.options.budget + 1, self.options.depth)

    @property
    def _shape(self) -> Planned:
        return self._plans.shape(self.options.budget + 1, self.options.depth)

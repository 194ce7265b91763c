"""A tree of a shape that is written down: a list of paths, pasted from a paper's code or edited by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from torch import Tensor

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, Shape
from specviz.errors import OptionError
from specviz.options import option
from specviz.trace.declared_method import Trees
from specviz.trace.events import CandidateKind
from specviz.trace.tree_shape import FORM, Path, families, gap, read_paths, written
from specviz.tree_policies.base import DEEPEST, MOST_NODES, TREE_POLICIES, WIDEST, Draft, TreePolicy, TreePolicyOptions
from specviz.tree_policies.drawing import DRAWS, Draw, choose_draw

RANKED = "top_k"
"""the way of drawing under which a rank is a place in the drafter's own order"""


@dataclass(frozen=True)
class PathsOptions(TreePolicyOptions):
    """The list, and what a rank means."""

    paths: str = option(
        "0; 1; 2; 0,0; 0,1; 1,0; 0,0,0",
        help=f"the draft's shape as paths of ranks from the root, {FORM}: rank 0 is a node's first child",
        counts="listed",
    )
    draw: str = option(
        "auto",
        help="what takes a rank's place; auto: the next draw without replacement, at temperature 0 the next most "
        "probable; top_k: always the token that is so probable, and ranks may be left out",
        choices=("auto", *DRAWS),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        paths = read_paths(self.paths)
        if len(paths) > MOST_NODES:
            raise OptionError(f"paths lists {len(paths)} candidates, but at most {MOST_NODES} are allowed; list fewer.")
        if len(paths[-1]) > DEEPEST:
            raise OptionError(
                f"paths lists {written(paths[-1])[:60]}, which is {len(paths[-1])} deep, but at most {DEEPEST} levels "
                "are allowed."
            )
        for path in paths:
            if path[-1] >= WIDEST:
                raise OptionError(
                    f"paths lists {written(path)}, but ranks below a node go from 0 to {WIDEST - 1} at most."
                )
        missing = gap(paths)
        if missing is not None and self.draw != RANKED:
            raise OptionError(
                f"paths leaves out {written(missing)}, but siblings are drawn one after the other, and what was drawn "
                f"is submitted; add it, or set draw to {RANKED}."
            )


@TREE_POLICIES.register("paths")
class PathsTreePolicy(TreePolicy[PathsOptions]):
    """A static tree of your own: the shape is a list of paths, as Medusa's and EAGLE's are published.

    Level by level, one drafter pass each. Medusa (2401.10774, §2.3.3) and EAGLE (2401.15077, §4.1) take the tokens of
    the given ranks; drawn without replacement instead, the same shape stays lossless under every rule for trees.
    """

    trees: ClassVar[Trees] = Trees(in_order=True)

    settles_siblings: ClassVar[bool] = True

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset([self._draw(sampling).kind])

    def shape(self, sampling: Sampling) -> Shape:
        return "tree" if self._is_tree else "chain"

    def grow(self, draft: Draft) -> None:
        """With a budget the first candidates, level by level; above the list's own size each node of the last level
        goes on with one child."""
        most, draw = self.options.most, self._draw(draft.sampling)
        level: dict[int, Path] = {ROOT: ()}
        depth = 0
        while (
            level and draft.tree.drafted < most and self.options.goes_deeper(depth, self._deepest, draft.tree.drafted)
        ):
            depth += 1
            plans = {
                node: [0] if depth > self._deepest else self._families.get(path, []) for node, path in level.items()
            }
            asked, logits = draft.expand([node for node, ranks in plans.items() if ranks])
            below: dict[int, Path] = {}
            for row, node in enumerate(asked):
                ranks = plans[node][: most - draft.tree.drafted]
                for rank, (token, q) in self._take(draft, draw, logits[row : row + 1], ranks):
                    below[draft.add(node, token, draw.kind, q)] = (*level[node], rank)
            level = below

    def _take(
        self, draft: Draft, draw: Draw, logits: Tensor, ranks: Sequence[int]
    ) -> list[tuple[int, tuple[int, Tensor | None]]]:
        """(rank, (token, distribution)) below one node with these logits [1, V]; fewer where it holds no more."""
        if not ranks:
            return []
        (family,), used = draw.level(draft, logits, ranks[-1] + 1, draft.draws)
        draft.draws += used
        return [(rank, family[rank]) for rank in ranks if rank < len(family)]

    @cached_property
    def _families(self) -> dict[Path, list[int]]:
        return families(read_paths(self.options.paths))

    @property
    def _deepest(self) -> int:
        return 1 + max(map(len, self._families))

    @property
    def _is_tree(self) -> bool:
        return any(len(ranks) > 1 for ranks in self._families.values())

    def _draw(self, sampling: Sampling) -> Draw:
        return choose_draw(self.options.draw, self._is_tree, greedy=sampling.greedy)

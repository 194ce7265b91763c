"""RSD with stochastic beam search: every level is a sample without replacement of whole paths.

Stochastic beam search gives each path a Gumbel key and keeps the largest. Seen as a race (a key g is an arrival at the
time exp(-g)) paths arrive at rates equal to their probabilities, and only the order of the arrivals is needed. A race
forgets its past, so the order can be drawn step by step without any key: the next arrival is another child of a path
that is already there, at the rate of what is left below it, or the next path of the level above with its first child,
at the rate of everything that was still to arrive there. So the whole tree is drawn through the run's random source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT
from specviz.options import option
from specviz.trace.declared_method import Trees
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import DEEPEST, TREE_POLICIES, WIDEST, Draft, TreePolicy, TreePolicyOptions
from specviz.tree_policies.drawing import Siblings, sibling_kinds, siblings_of


@dataclass(frozen=True)
class RsdSOptions(TreePolicyOptions):
    """Size of the beam."""

    width: int = option(3, help="paths kept at each level", minimum=1, maximum=WIDEST, counts="per_level")
    depth: int = option(4, help="levels", minimum=1, maximum=DEEPEST, counts="levels")


@dataclass(frozen=True, slots=True)
class Path:
    """A path of the beam, in order of arrival."""

    node: int | None
    """None: it arrived, but drafting ends there; kept because its arrival divides the time"""
    prob: float
    rest: float = 0.0
    """rate of all arrivals at its level after it"""


@dataclass(slots=True)
class Race:
    """The arrivals of one level, from the paths of the level above."""

    above: Sequence[Path]
    below: dict[int, Siblings]
    """of the paths that may be extended"""
    arrived: int = 0
    """how many of the paths above"""

    def rates(self) -> list[float]:
        """Of the next child below each path that is there, and of the next path above."""
        rates = [
            path.prob * self.below[path.node].left if path.node in self.below else 0.0
            for path in self.above[: self.arrived]
        ]
        waiting = self.arrived < len(self.above)
        first = 1.0 if self.arrived == 0 else self.above[self.arrived - 1].rest
        return [*rates, first if waiting else 0.0]

    def next(self, draft: Draft) -> Path | None:
        """The path below which the next candidate arrives, or one where drafting ends; None where all are there."""
        rates = self.rates()
        possible = [index for index, rate in enumerate(rates) if rate > 0.0]
        if not possible:
            return None
        event = possible[0] if len(possible) == 1 else self._draw(draft, rates)
        if event == self.arrived:
            self.arrived += 1
        return self.above[event]

    @staticmethod
    def _draw(draft: Draft, rates: Sequence[float]) -> int:
        rate = torch.tensor(rates, dtype=torch.float64)
        return draft.draw(rate / rate.sum())


class RankedRace(Race):
    """Temperature 0: not a race but plain beam search, the most probable path first."""

    def next(self, draft: Draft) -> Path | None:
        paths = [path for path in self.above if path.node in self.below and self.below[path.node].left > 0.0]
        return max(paths, key=lambda path: path.prob * self.below[path.node or ROOT].best, default=None)


@TREE_POLICIES.register("rsd_s")
class RsdSTreePolicy(TreePolicy[RsdSOptions]):
    """Recursive speculative decoding with stochastic beam search: the most promising paths share a fixed width.

    RSD-S of Jeong et al. 2402.14160, §3.3, after Kool et al. 1903.06059. How many children a node gets is random;
    siblings stand in the order of their keys, so that the sequential rule holds. At temperature 0 beam search.
    """

    trees: ClassVar[Trees] = Trees(beam=True)

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return sibling_kinds(sampling)

    def grow(self, draft: Draft) -> None:
        beam, depth = [Path(ROOT, 1.0)], 0
        while self.options.goes_deeper(depth, self.options.depth, draft.tree.drafted):
            depth += 1
            nodes, logits = draft.expand([path.node for path in beam if path.node is not None])
            below = dict(zip(nodes, siblings_of(logits, draft.sampling), strict=True)) if nodes else {}
            beam = self._level(draft, (RankedRace if draft.sampling.greedy else Race)(beam, below))
            if not beam:
                return

    def _level(self, draft: Draft, race: Race) -> list[Path]:
        beam, found = list[Path](), 0
        while race.below and found < self.options.width and draft.tree.drafted < self.options.most:
            path = race.next(draft)
            if path is None:
                break
            siblings = race.below.get(path.node) if path.node is not None else None
            if path.node is None or siblings is None:
                beam.append(Path(None, 0.0, sum(race.rates())))
                continue
            taken = siblings.take(draft)
            node = draft.add(path.node, taken.token, siblings.kind, taken.proposal)
            beam.append(Path(node, path.prob * taken.prob, sum(race.rates())))
            found += 1
        return beam if found else []

"""What a walk may come to, worked out before it begins, so that a device is waited for once and not at every step.

Draws are keyed, so what each would give is known without making it. A walk from the root down ends at a node all of
whose candidates were rejected in their order: as many ends as nodes, each with one rest of the target and one token.
On a CPU, where nothing waits, rules work out what they need when they need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import torch
from torch import Tensor

from specviz.core.randomness import RandomSource, SeededRandom, TokenDraw
from specviz.core.tree import DraftTree
from specviz.trace.uniform_draws import Key
from specviz.verifiers.base import TargetRows
from specviz.verifiers.candidates import drawn_before


def draws_at(
    tree: DraftTree, target: TargetRows, randomness: RandomSource, key: Callable[[int], Key]
) -> Callable[[int], TokenDraw]:
    """By node, the token drawn there from the target's own distribution; `key` of a depth."""
    if target.fetch is None or not isinstance(randomness, SeededRandom):
        return lambda node: randomness.draw(target.probs(node), key(tree.depths[node]))
    drawn = randomness.peek_each(target.fetch, target.all_probs(), list(map(key, tree.depths)))
    return lambda node: drawn()[node]


class Ends:
    """Of a tree on a device: every trial's two numbers, and every end, of the rule that goes from the root down and
    takes from the target what a rejected candidate was drawn from."""

    def __init__(self, tree: DraftTree, target: TargetRows, randomness: SeededRandom, position: int) -> None:
        """`position` is the root's child's in the text."""
        assert target.fetch is not None, "on a CPU nothing is foreseen."
        probs, families = target.all_probs(), tree.families()
        self._left = probs.clone()  # [nodes, V], what the candidates leave that were rejected so far
        self._reach = torch.ones(len(tree), dtype=torch.float64, device=probs.device)
        self._trials: dict[int, int] = {}
        numbers = [torch.zeros(3, 0, dtype=torch.float64, device=probs.device)]
        for nodes, turn in self._turns(tree, families):
            children = [families[node][turn] for node in nodes]
            drawn_from = _proposals(tree, children, [families[node][:turn] for node in nodes], probs)  # [nodes, V]
            rows = self._left[nodes]
            at = torch.tensor([tree.tokens[child] for child in children], device=probs.device).unsqueeze(1)
            p, q = rows.gather(1, at).squeeze(1).double(), drawn_from.gather(1, at).squeeze(1).double()
            rest, mass = self._rest(nodes, children, (p, q), (rows, drawn_from))
            self._left[nodes] = torch.where((mass > 0.0).unsqueeze(1), _shared_out(rest, mass).to(rows.dtype), rows)
            self._trials |= {child: len(self._trials) + i for i, child in enumerate(children)}
            numbers.append(torch.stack([p, q, mass]))
        self._seen = target.fetch.leave(torch.cat(numbers, dim=1))
        keys = [("target", position + depth, 0) for depth in tree.depths]
        self._drawn = randomness.peek_each(target.fetch, self._left, keys)

    def odds(self, child: int) -> tuple[float, float]:
        """p and Q of a candidate once its earlier siblings are rejected."""
        p, q, _ = self._numbers(child)
        return p, q

    def mass(self, child: int) -> float:
        """What its rejection leaves of the target at its parent, before that is made whole."""
        return self._numbers(child)[2]

    def at(self, node: int) -> tuple[Tensor, TokenDraw]:
        """Once all candidates below are rejected: what is left of the target [V], and the token drawn from it."""
        return self._left[node], self._drawn()[node]

    def _numbers(self, child: int) -> list[float]:
        numbers: list[float] = self._seen()[0][:, self._trials[child]].tolist()
        return numbers

    def _turns(self, tree: DraftTree, families: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], int]]:
        """The nodes whose candidate of that number is tried next, all of them together."""
        for turn in range(max(map(len, families))):
            yield [node for node, family in enumerate(families) if len(family) > turn], turn

    def _rest(
        self, nodes: Sequence[int], children: Sequence[int], odds: tuple[Tensor, Tensor], rows: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """What each child's rejection leaves at its node [nodes, V], and its mass [nodes]: see `residual`. `odds` are p
        and Q of the children [nodes], `rows` p and Q at the nodes [nodes, V]."""
        rest = (rows[0] - rows[1]).clamp_min_(0.0)
        return rest, rest.sum(-1, dtype=torch.float64)


class LeafEnds(Ends):
    """Those of the rules that begin at the leaves and ask how far whole paths reach."""

    def _turns(self, tree: DraftTree, families: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], int]]:
        """Level by level: how far a child reaches follows from its parent, whose earlier children are rejected."""
        for depth in range(max(tree.depths)):
            level = [node for node, family in enumerate(families) if family and tree.depths[node] == depth]
            for turn in range(max(len(families[node]) for node in level)):
                yield [node for node in level if len(families[node]) > turn], turn

    def _rest(
        self, nodes: Sequence[int], children: Sequence[int], odds: tuple[Tensor, Tensor], rows: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """See `scaled_rejection`, `path_reach` and `reach_after`."""
        reach, (p, q) = self._reach[list(nodes)], odds
        self._reach[list(children)] = torch.where(q > 0.0, (reach * p / q).clamp_max(1.0), (reach * p > 0.0).double())
        rest = (rows[0].double() * reach.unsqueeze(1) - rows[1].double()).clamp_min_(0.0)
        mass = rest.sum(-1)
        below = mass + 1.0 - reach
        self._reach[list(nodes)] = torch.where(below > 0.0, mass / below, torch.ones_like(below))
        return rest, mass


def ends_of(
    tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int, kind: type[Ends] = Ends
) -> Ends | None:
    """None where nothing waits, and where the outcomes of draws are not known before they are made."""
    if target.fetch is None or not isinstance(randomness, SeededRandom):
        return None
    return kind(tree, target, randomness, position)


def numbers_at(target: TargetRows, number: Callable[[Tensor], Tensor]) -> Callable[[int], float]:
    """By node, a number of the target's distribution there: `number` makes of [..., V] its [...]."""
    if target.fetch is None:
        return cache(lambda node: float(number(target.probs(node))))
    seen = target.fetch.leave(number(target.all_probs()))
    return lambda node: float(seen()[0][node])


def _proposals(tree: DraftTree, children: Sequence[int], before: Sequence[Sequence[int]], like: Tensor) -> Tensor:
    """Q of each child once the siblings `before` it are rejected [children, V]; 1 at the token of a point mass."""
    rows = torch.zeros(len(children), like.shape[-1], dtype=like.dtype, device=like.device)
    for row, (child, rejected) in enumerate(zip(children, before, strict=True)):
        proposal, taken = tree.proposals[child], drawn_before(tree, child, rejected)
        if proposal is None:
            rows[row, tree.tokens[child]] = 1.0
            continue
        rows[row] = proposal
        if taken:
            rows[row, taken] = 0.0
            rows[row] = _shared_out(rows[row], rows[row].sum(dtype=torch.float64))
    return rows


def _shared_out(rest: Tensor, total: Tensor) -> Tensor:
    """rest [..., V] divided by its total [...]; zeros stay zeros."""
    total = total.to(rest.dtype).unsqueeze(-1)
    return rest / torch.where(total > 0.0, total, torch.ones_like(total))

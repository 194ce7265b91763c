"""The target's pass over a draft tree, and its distributions at the nodes, worked out as far as someone asks.

At temperature 0 a verifier needs one argmax over all rows and one transfer; nothing V-sized leaves the device.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from specviz.core.draws import Walk, some_token, walk
from specviz.core.sampling import ON_CPU, Sampling, most_probable, transform
from specviz.core.transfer import Fetch, Seen
from specviz.core.tree import DraftTree
from specviz.lm.base import Cache, LanguageModel, SplitModel, Unfinished


def score(target: LanguageModel, cache: Cache, tree: DraftTree, unfinished: Unfinished | None = None) -> Tensor:
    """One target pass over the root and all candidates; logits [len(tree), V].

    Node i becomes cache row start + `tree.rows()[i]`: nodes of the same text share a row. `unfinished` holds the rows'
    first layers where the drafter has run them already."""
    if tree.is_chain():
        return _answered(target, cache, tree.tokens, None, unfinished)
    start, rows = cache.length, tree.rows()
    node_of = {row: node for node, row in reversed(list(enumerate(rows)))}  # the first node of each row
    nodes = [node_of[row] for row in range(len(node_of))]
    tokens = [tree.tokens[node] for node in nodes]
    parents = [start - 1, *(start + rows[tree.parents[node]] for node in nodes[1:])]
    logits = _answered(target, cache, tokens, parents, unfinished)
    return logits if len(nodes) == len(tree) else logits[rows]


def _answered(
    target: LanguageModel,
    cache: Cache,
    tokens: Sequence[int],
    parents: Sequence[int] | None,
    unfinished: Unfinished | None,
) -> Tensor:
    """Logits [n, V] of the target's pass over n rows."""
    if unfinished is None:
        logits = target.forward(tokens, cache, parents)
    else:
        assert isinstance(target, SplitModel), "only a split model leaves something unfinished."
        logits = target.finish(tokens, cache, parents, unfinished)
    vocab = target.info.vocab_size
    return logits if logits.shape[1] == vocab else logits[:, :vocab]


class ScoredTree:
    """The target's view of one tree; what a verifier sees as `TargetRows`."""

    def __init__(self, tree: DraftTree, logits: Tensor, sampling: Sampling) -> None:
        self.tree = tree
        self._logits = logits
        self._sampling = sampling
        self._argmax: list[int] = []
        self._probs: Tensor | None = None
        self._candidates: list[float] = []
        self.fetch = None if logits.is_cpu or logits.device.type in ON_CPU else Fetch()
        """what a rule wants of a device is left there; None on a CPU"""
        self._drawn: list[int] = []
        self.walked: Walk | None = None
        """what one call said of the whole chain, where one did"""
        self._seen = None if self.fetch is None else self.fetch.leave(*self._wanted())

    def argmax(self, node: int) -> int:
        """The most probable token at the node, lowest id on a tie."""
        return self.all_argmax()[node]

    def all_argmax(self) -> list[int]:
        """The same at every node."""
        if not self._argmax:
            if self._seen is None:
                self._argmax = most_probable(self._logits)
            else:
                self._know(self._seen)
        return self._argmax

    def all_probs(self) -> Tensor:
        """p at every node [len(tree), V]."""
        if self._probs is None:
            swept = self.walked and self.walked.room.whole[: len(self.tree)]
            self._probs = transform(self._logits, self._sampling) if swept is None else swept
        return self._probs

    def walk(self, seed: int, position: int) -> Walk | None:
        """See `TargetRows.walk`."""
        tree, sampling = self.tree, self._sampling
        if sampling.greedy or not sampling.uncut:
            return None
        walked = walk(self._logits, sampling.temperature, tree.tokens, tree.block, seed, position)
        if walked is not None:
            self.walked, self._candidates = walked, [1.0, *walked.p]
        return walked

    @property
    def logits(self) -> Tensor:
        """[len(tree), V], before the sampling transform."""
        return self._logits

    @property
    def greedy(self) -> bool:
        """Temperature 0."""
        return self._sampling.greedy

    def share_of_best(self, node: int) -> float:
        """p(token of `node`) / max p at its parent by the model's own softmax: e to the difference of two logits."""
        row = self._logits[self.tree.parents[node]]
        row = row if row.dtype == torch.float64 else row.float()
        return float((row[self.tree.tokens[node]] - row.max()).exp())

    def entropy_of_likeliest(self, node: int, count: int) -> float:
        """-Σ p ln p over the `count` most probable tokens at the node; at temperature 0 by the model's own softmax."""
        row = self._logits[node].double().softmax(-1) if self._sampling.greedy else self.probs(node).double()
        return float(torch.special.entr(row.topk(min(count, row.shape[-1])).values).sum())

    def probs(self, node: int) -> Tensor:
        """p(· | path to node) [V]."""
        if self._sampling.greedy:
            point = torch.zeros(self._logits.shape[-1], device=self._logits.device)
            point[self.argmax(node)] = 1.0
            return point
        return self.all_probs()[node]

    def candidate_prob(self, node: int) -> float:
        """p(token of `node` | path to its parent)."""
        return self.candidate_probs()[node]

    def candidate_probs(self) -> list[float]:
        """The same of every node; the root's is meaningless."""
        if not self._candidates:
            if self._seen is not None:
                self._know(self._seen)
            if not self._candidates:
                self._candidates = self._look_up()
        return self._candidates

    def _look_up(self) -> list[float]:
        """One number per node (the root's is meaningless); one transfer, for what the tree holds of the draft too."""
        tree = self.tree
        if self._sampling.greedy:
            pairs = zip(tree.parents, tree.tokens, strict=True)
            return [float(self.argmax(max(parent, 0)) == token) for parent, token in pairs]
        probs = self.all_probs()
        if probs.is_cpu:
            rows = probs.numpy()  # number by number: a seventh of what torch takes to gather a few
            return [float(rows[max(parent, 0), token]) for parent, token in zip(tree.parents, tree.tokens, strict=True)]
        picked = self._picked()
        drawn, q = tree.drawn_probs()
        numbers: list[float] = (picked if q is None else torch.cat([picked, q])).tolist()
        if q is not None:
            tree.know_drawn(drawn, numbers[len(tree) :])
        return numbers[: len(tree)]

    def _picked(self) -> Tensor:
        """p of each node's token at its parent [len(tree)]."""
        probs = self.all_probs()
        index = torch.tensor([self.tree.parents, self.tree.tokens], device=probs.device)
        return probs[index[0].clamp_(min=0), index[1]]

    def _wanted(self) -> list[Tensor]:
        """What every rule asks of a device: each node's most probable token with its logit, when sampled p of each
        node's token, and q of the tokens that were drawn."""
        best = self._logits.max(-1)
        wanted = [best.indices, best.values]
        if not self._sampling.greedy:
            wanted.append(self._picked())
        self._drawn, q = self.tree.drawn_probs()
        return wanted if q is None else [*wanted, q]

    def _know(self, seen: Seen) -> None:
        """Hold what was brought over."""
        best, values, *numbers = seen()
        self._argmax = [some_token(int(token)) for token in torch.where(values > -torch.inf, best, -1).tolist()]
        if not self._sampling.greedy:
            self._candidates = numbers.pop(0).tolist()
        if numbers:
            self.tree.know_drawn(self._drawn, numbers[0].tolist())


class Foresight:
    """What the target would write next after any text, with a cache of its own: for a bound that asks beforehand."""

    def __init__(self, target: LanguageModel) -> None:
        self._target = target
        self._cache = target.new_cache()

    def __deepcopy__(self, memo: object) -> Foresight:
        """Of a policy that is copied for each of several drafters: they ask one target."""
        return self

    def __call__(self, tokens: Sequence[int]) -> int:
        """The most probable token after `tokens`, by one pass over those that the last question did not share."""
        cache, shared = self._cache, 0
        while shared < min(cache.length, len(tokens) - 1) and cache.tokens[shared] == tokens[shared]:
            shared += 1
        cache.truncate(shared)
        logits = self._target.forward(list(tokens[shared:]), cache, last_only=True)
        cache.keep(range(shared, cache.length))
        return int(logits[0, : self._target.info.vocab_size].argmax())

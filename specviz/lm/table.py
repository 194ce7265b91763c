"""The toy model of proofs: an exact language model on a handful of tokens, with a cache that catches mistakes.

Its logits are a fixed random function of the whole attended text (tokens and their positions), so exact probabilities
can be written down for every context, and any wrong mask, position or stale row changes the result or raises.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from statistics import NormalDist

import torch
from torch import Tensor

from specviz.lm.base import Blocks, Cache, ModelInfo, Unfinished
from specviz.lm.rows import Placement, TreeCache

EXIT_SEED = 1000
Row = tuple[int, int]
"""(token, position) as it was written"""


class TableCache(TreeCache):
    """Physical rows beside the bookkeeping, so that the two can be compared."""

    def __init__(self, model: TableModel) -> None:
        super().__init__()
        self.model = model
        self.stored: list[Row] = []

    def _move_rows(self, rows: list[int], start: int) -> None:
        for offset, row in enumerate(rows):
            self.stored[start + offset] = self.stored[row]

    def _drop_rows(self, length: int) -> None:
        del self.stored[length:]

    def text(self, row: int) -> tuple[int, ...]:
        """The tokens from the start of the text to `row` by the bookkeeping alone, walking parents."""
        tokens = []
        while row >= 0:
            tokens.append(self.tokens[row])
            row = self._parents[row]
        return tuple(reversed(tokens))


class TableModel:
    """A language model whose conditional distributions are looked up, not learned.

    `spread` is the standard deviation of the logits (0: uniform; larger: more peaked). `order` limits what the
    logits depend on to the last `order` tokens, which makes long enumerations cheap; None: the whole text.
    """

    def __init__(
        self,
        vocab_size: int,
        seed: int,
        context_length: int = 64,
        *,
        spread: float = 1.5,
        order: int | None = None,
        eos_ids: Sequence[int] = (),
    ) -> None:
        self.vocab_size = vocab_size
        self.seed = seed
        self.spread = spread
        self.order = order
        self._partial: dict[Blocks, TableModel] = {}
        self._identity = f"table {vocab_size} {seed} {spread} {order}".encode()
        self._logits: dict[tuple[int, ...], Tensor] = {}
        self._info = ModelInfo(
            name=f"table-{vocab_size}-{seed}",
            architecture="TableModel",
            adapter="table",
            parameters=0,
            layers=2,
            hidden_size=vocab_size,
            vocab_size=vocab_size,
            context_length=context_length,
            dtype="float64",
            weights_sha256=hashlib.sha256(self._identity).hexdigest(),
            eos_ids=tuple(eos_ids),
        )

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def new_cache(self) -> TableCache:
        return TableCache(self)

    def exact_logits(self, context: Sequence[int]) -> Tensor:
        """Logits [V] in float64 after the text `context`."""
        key = tuple(context if self.order is None else context[len(context) - min(self.order, len(context)) :])
        logits = self._logits.get(key)
        if logits is None:
            logits = self._logits[key] = self._random_logits(key)
        return logits

    def exact_probs(self, context: Sequence[int]) -> Tensor:
        """Probabilities [V] in float64 after the text `context`, at temperature 1."""
        return self.exact_logits(context).softmax(-1)

    def _random_logits(self, key: tuple[int, ...]) -> Tensor:
        message = self._identity + b"|" + ",".join(map(str, key)).encode()
        digest = hashlib.shake_256(message).digest(7 * self.vocab_size)
        normal = NormalDist(0.0, self.spread or 1.0)
        values = []
        for i in range(self.vocab_size):
            u = (int.from_bytes(digest[7 * i : 7 * i + 7], "big") + 0.5) / 2.0**56
            values.append(normal.inv_cdf(u) if self.spread else 0.0)
        return torch.tensor(values, dtype=torch.float64)

    def forward(
        self,
        tokens: Sequence[int],
        cache: Cache,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
    ) -> Tensor:
        """Logits [n, V] in float64 (see `LanguageModel.forward`).

        AssertionError where rows, mask and positions disagree: a mistake in our own code, never in the input.
        """
        own, placement = self._append(tokens, cache, parents)
        texts = [self._attended(own, placement, row) for row in range(placement.start, placement.stop)]
        own.see({depth: self._states(texts, depth) for depth in own.watched})
        return torch.stack([self.exact_logits(text) for text in (texts[-1:] if last_only else texts)])

    def _states(self, texts: Sequence[tuple[int, ...]], depth: int) -> Tensor:
        """[n, V]: the token at depth 0, what `exit` says at depth 1, the logits themselves at depth 2."""
        if depth == 0:
            return self.embedding()[[text[-1] for text in texts]]
        table = self if depth == self._info.layers else self.exit
        return torch.stack([table.exact_logits(text) for text in texts])

    def watch(self, cache: Cache, depths: Sequence[int]) -> None:
        """See `GivesFeatures.watch`."""
        assert isinstance(cache, TableCache), "this cache belongs to another adapter."
        cache.watch(depths, self._info.layers)

    def seen(self, cache: Cache) -> Tensor:
        """See `GivesFeatures.seen`."""
        assert isinstance(cache, TableCache), "this cache belongs to another adapter."
        return cache.seen

    def keys_values(self, cache: Cache, layer: int) -> tuple[Tensor, Tensor]:
        """See `GivesFeatures.keys_values`: the tokens stand in for the keys and values it does not have [1, L, V]."""
        assert isinstance(cache, TableCache), "this cache belongs to another adapter."
        rows = self.embedding()[[token for token, _ in cache.stored]][None]
        return rows, rows

    def turned(self, queries: Tensor, positions: Tensor) -> Tensor:
        """See `GivesFeatures.turned`: it knows no positions."""
        return queries

    def embedding(self) -> Tensor:
        """See `GivesFeatures.embedding`: one-hot."""
        return torch.eye(self.vocab_size, dtype=torch.float64)

    def head(self) -> Tensor:
        """See `GivesFeatures.head`: its last states are its logits."""
        return torch.eye(self.vocab_size, dtype=torch.float64)

    def why_not_split(self, blocks: Blocks) -> None:
        """See `SplitModel.why_not_split`: there is nothing to run."""

    def partial(self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, blocks: Blocks) -> Tensor:
        """See `SplitModel.partial`: another table answers, one for each choice of blocks; its logits are the states."""
        own, placement = self._append(tokens, cache, parents)
        texts = [self._attended(own, placement, row) for row in range(placement.start, placement.stop)]
        return torch.stack([self.running(blocks).exact_logits(text) for text in texts])

    def block_bytes(self, blocks: Blocks) -> None:
        """See `SplitModel.block_bytes`: it has no weights to count."""

    def read_out(self, states: Tensor) -> Tensor:
        """See `SplitModel.read_out`."""
        return states

    @property
    def exit(self) -> TableModel:
        """What this model says when it stops early: a table of its own."""
        return self.running(Blocks.first(1))

    def running(self, blocks: Blocks) -> TableModel:
        """What it says when these blocks run alone: stopping early is one such choice, skipping layers are others."""
        if blocks not in self._partial:
            run = sum(1 << layer for layer in blocks.attention) + sum(
                1 << self._info.layers + one for one in blocks.mlp
            )
            choice = 1 if blocks == Blocks.first(len(blocks.mlp)) else 2 + run
            self._partial[blocks] = TableModel(
                self.vocab_size,
                choice * EXIT_SEED + self.seed,
                self._info.context_length,
                spread=self.spread,
                order=self.order,
            )
        return self._partial[blocks]

    def set_aside(self, cache: Cache, rows: Sequence[int], states: Tensor, layers: int) -> Unfinished:
        """See `SplitModel.set_aside`; kept is each row's text [its length]."""
        assert isinstance(cache, TableCache), "this cache belongs to another adapter."
        texts = [cache.text(row) for row in rows]
        assert torch.equal(states, self._states(texts, 1)), "states and rows are not the same."
        cache.keep([])
        return Unfinished(layers, states, tuple(torch.tensor(text) for text in texts))

    def finish(
        self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, unfinished: Unfinished
    ) -> Tensor:
        """See `SplitModel.finish`; AssertionError where the states are those of other texts."""
        assert isinstance(cache, TableCache), "this cache belongs to another adapter."
        logits = self.forward(tokens, cache, parents)
        texts = [cache.text(row) for row in range(cache.length - len(tokens), cache.length)]
        known = [tuple(text.tolist()) for text in unfinished.kept]
        assert texts == known, f"rows of {texts} go on from the states of {known}."
        return logits

    def _append(
        self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None
    ) -> tuple[TableCache, Placement]:
        assert isinstance(cache, TableCache), "this cache belongs to another adapter."
        assert cache.model is self, "this cache belongs to another model."
        wrong = [token for token in tokens if not 0 <= token < self.vocab_size]
        assert not wrong, f"token {wrong[:1]} is outside the vocabulary of {self.vocab_size}."
        assert len(cache.stored) == cache.length, "stale rows: the storage and the bookkeeping differ in length."
        placement = cache.place(tokens, parents, self._info.context_length)
        cache.stored += zip(placement.tokens, placement.positions, strict=True)
        cache.add(placement)
        return cache, placement

    def forward_hidden(
        self,
        tokens: Sequence[int],
        cache: Cache,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Its logits stand in for the hidden states it does not have [n, V] (see `lm.base.GivesHidden`)."""
        logits = self.forward(tokens, cache, parents, last_only)
        return logits, logits

    @staticmethod
    def _attended(cache: TableCache, placement: Placement, row: int) -> tuple[int, ...]:
        """The text that `row` attends to, read through mask and stored positions as attention would."""
        if placement.visible is None:
            seen = cache.stored[: row + 1]
        else:
            line = placement.visible[row - placement.start].tolist()
            seen = [stored for stored, visible in zip(cache.stored, line, strict=False) if visible]
        attended = tuple([token for token, _ in seen])
        positions = [position for _, position in seen]
        assert positions == list(range(len(seen))), f"row {row} attends to positions {positions}, with gaps or repeats."
        text = cache.text(row)
        assert attended == text, (
            f"row {row} attends to {attended}, but its text is {text}: a stale row or a wrong mask."
        )
        return attended

"""What the engine asks of a language model: rows in, logits out, and a cache that is a tree of rows.

Shapes: n new rows, L cached rows, V vocabulary. Batch 1, but for the last section: rows of several
sequences are computed together there, and none sees another's. Knows nothing about drafters, verifiers or traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from specviz.core.draws import Chooser
from specviz.frozen import frozen


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Identity of loaded weights; becomes the trace's model card."""

    name: str
    architecture: str
    adapter: str
    parameters: int
    layers: int
    hidden_size: int
    vocab_size: int
    context_length: int
    dtype: str
    weights_sha256: str
    eos_ids: tuple[int, ...]
    tokenizer_sha256: str = ""
    """of the tokenizer it was loaded with; empty where there is none"""
    read_per_pass: int = 0
    """weights that one pass reads; see the trace's model card"""
    window: int = 0
    """tokens that the narrowest attention of the model sees, where that is what ends its context; see the card"""
    read_dtype: str = ""
    """in which a pass over a few rows reads the weights, where that is not `dtype`: as the checkpoint stores them"""
    dtype_why: str = ""
    """why `auto` took this dtype; empty where another one was asked for"""


class Cache(Protocol):
    """Keys and values of the rows computed so far, for one sequence.

    The first `base` rows are linear: row i is token i of the text. Rows after that form a tree (a chain is the
    usual case); each knows its parent row. `tokens[i]` is the token of row i. A forward call adds tree rows only:
    `base` moves in `keep` and `truncate` alone (so a prefill is followed by `keep(range(length))`).
    """

    tokens: list[int]
    base: int

    @property
    def length(self) -> int:
        """Rows held, linear and tree."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Make the path `rows` (absolute row indices ≥ base, ascending, each the parent of the next, the first
        a child of row base-1) the continuation of the linear part and drop every other row after it.
        `base` becomes `length`.
        Costs only the kept tail, never a copy of the whole cache. An empty path drops all tree rows."""
        ...

    def truncate(self, length: int) -> None:
        """Forget everything from linear row `length` on (branching in time)."""
        ...


class LanguageModel(Protocol):
    """A causal language model with full attention."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def device(self) -> torch.device: ...

    def new_cache(self) -> Cache: ...

    def forward(
        self,
        tokens: Sequence[int],
        cache: Cache,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
    ) -> Tensor:
        """Append rows to `cache` and return their logits [n, V], on the device, in the model's dtype or wider.

        `parents[i]` is the absolute cache row that row i continues: a row already cached, or an earlier row of
        this very call (`cache.length + j` as it was before the call). Each row sees the linear rows up to its
        branching point, its ancestors and itself; its position is its parent's plus one.
        `None`: a chain after the last row.
        `last_only` returns [1, V], the last row's logits (prefill needs no more).
        Raises ModelError where the context length would be exceeded.
        """
        ...


@runtime_checkable
class SeesPictures(LanguageModel, Protocol):
    """A language model whose prompt begins with a picture."""

    @property
    def picture_ids(self) -> list[int]:
        """The tokens that stand for the picture, in the order in which a prompt begins with them."""
        ...

    def seeing(self, pixels: Tensor) -> LanguageModel:
        """The same model shown this picture, uint8 [side, side, 3]: for one run, sharing its weights."""
        ...


@dataclass(frozen=True, slots=True)
class Blocks:
    """Which sub-layers a partial pass runs; the others hand their input on."""

    attention: frozenset[int]
    mlp: frozenset[int]

    @classmethod
    def first(cls, layers: int) -> Blocks:
        """The first `layers` layers, whole."""
        return cls(frozenset(range(layers)), frozenset(range(layers)))


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Rows whose first `layers` layers are computed, taken out of the cache until the rest is run."""

    layers: int
    states: Tensor
    """[n, hidden], after those layers"""
    kept: tuple[Tensor, ...]
    """what those layers had written to the cache for the n rows; the adapter's own layout"""


@runtime_checkable
class SplitModel(LanguageModel, Protocol):
    """A model that can run some of its layers alone, and go on later from where it stopped.

    Rows of a partial pass hold keys and values of the layers that ran, and of no other: they must leave the cache
    (`set_aside`, or `Cache.keep` without them) before a whole pass.
    """

    def why_not_split(self, blocks: Blocks) -> str | None:
        """The reason, a clause about the model as "it", why these blocks cannot run alone, or None where they can.

        An adapter of many architectures cannot know before it has seen one; ask once before a run."""
        ...

    def partial(self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, blocks: Blocks) -> Tensor:
        """Append rows to `cache` as `forward` does, running `blocks` alone; states [n, hidden] after the last one."""
        ...

    def block_bytes(self, blocks: Blocks) -> int | None:
        """Of the weights of these blocks, as they are read; None where nobody can say."""
        ...

    def read_out(self, states: Tensor) -> Tensor:
        """Final norm and head on states [n, hidden]; logits [n, V]."""
        ...

    def set_aside(self, cache: Cache, rows: Sequence[int], states: Tensor, layers: int) -> Unfinished:
        """Take what the first `layers` layers wrote for these rows [n], which may repeat, out of `cache`, and drop
        every row beyond its text. states [n, hidden] are those of the same rows."""
        ...

    def finish(
        self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, unfinished: Unfinished
    ) -> Tensor:
        """What `forward` would do and return, but the first layers are taken from `unfinished`, not run again."""
        ...


@runtime_checkable
class GivesHidden(Protocol):
    """A language model that also tells its last hidden states."""

    def forward_hidden(
        self,
        tokens: Sequence[int],
        cache: Cache,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """What `forward` gives, and the hidden states behind it [n, H]: after the last layer and its norm, as the head
        reads them."""
        ...


@runtime_checkable
class GivesFeatures(LanguageModel, Protocol):
    """A language model whose passes can be read on the way: what a drafter trained on the target's states drafts from.

    Depths count as in `output_hidden_states` of transformers: 0 is the embedding, d < layers the residual stream after
    d layers, d = layers the last layer's output behind the final norm, as the head reads it.
    """

    def watch(self, cache: Cache, depths: Sequence[int]) -> None:
        """From now on every `forward` over `cache` leaves the states of its rows at these depths for `seen`; before
        that, and with none, nothing is copied. Raises OptionError for a depth that the model does not have."""
        ...

    def seen(self, cache: Cache) -> Tensor:
        """States [n, len(depths), H] of the n rows of the last `forward` over `cache`, in their order. Only that pass's
        are held: the next one replaces them."""
        ...

    def keys_values(self, cache: Cache, layer: int) -> tuple[Tensor, Tensor]:
        """Keys and values [G, L, D] of layer `layer` for all L rows in the cache, as attention reads them (positions
        included; the order of a key's components is the adapter's own). Views: valid until the next pass."""
        ...

    def turned(self, queries: Tensor, positions: Tensor) -> Tensor:
        """Queries [A, n, D] of someone else's, components as in transformers, as its own attention would turn them at
        these positions [n]: their products with the keys of `keys_values` are scores. Raises ModelError where its
        positions are of another kind."""
        ...

    def embedding(self) -> Tensor:
        """The token embedding [V, H]; not to be written to."""
        ...

    def head(self) -> Tensor:
        """The head's weight [V, H], which states at depth = layers are read out with; not to be written to."""
        ...


@frozen
class Chain:
    """What a model wrote by itself."""

    tokens: list[int]
    """[steps], as they were chosen; the last one was not read"""
    logits: Tensor
    """[steps, V], what each was chosen from"""
    seconds: list[float]
    """[steps], of each pass alone"""


@runtime_checkable
class WritesChains(LanguageModel, Protocol):
    """A model that goes on by itself, pass after pass, where nobody needs a say in between."""

    def write_chain(self, tokens: Sequence[int], cache: Cache, chooser: Chooser) -> Chain | None:
        """Behind the text in `cache`: a pass over `tokens`, then one over each token that `chooser` took of the last
        row's logits, but for its last. Rows, logits and tokens are those of as many calls of `forward`. None, and
        nothing done, where this model, here and now, runs its passes one by one."""
        ...


# --- several texts in one pass --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """What one sequence asks of a pass: the arguments of `LanguageModel.forward`."""

    tokens: Sequence[int]
    cache: Cache
    parents: Sequence[int] | None = None
    last_only: bool = False


class Batch(Protocol):
    """Sequences of one model that are computed together."""

    def new_cache(self) -> Cache:
        """The cache of one more sequence."""
        ...

    def forward(self, shares: Sequence[Share]) -> list[Tensor]:
        """One pass over the rows of all shares, each of a cache of its own; in their order what `forward` would give of
        each alone, up to rounding. Raises ModelError where one would exceed the context length."""
        ...

    def leave(self, cache: Cache) -> None:
        """This sequence is over; its cache is not used again, and no later pass pays for it."""
        ...


@runtime_checkable
class GivesBatches(LanguageModel, Protocol):
    """A language model that computes several sequences in one pass."""

    def new_batch(self) -> Batch:
        """A batch without sequences yet."""
        ...

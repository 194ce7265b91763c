"""The lean forward pass for Llama-architecture checkpoints: where the engine's speed comes from.

Preallocated keys and values, fused projections, the routine per row count that is fastest on this machine, a mask only
where rows leave the spine, and in-place compaction. Equal to transformers' `LlamaForCausalLM` up to rounding.

Shapes: n new rows, V vocabulary, H hidden size. The blocks themselves are run by `rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from math import prod

import torch
from torch import Tensor
from torch.nn import functional

from specviz.core.draws import Chooser
from specviz.lm.base import Blocks, Cache, Chain, ModelInfo, Unfinished
from specviz.lm.kernels import Projection, calibrate
from specviz.lm.llama.batch import LlamaBatch
from specviz.lm.llama.few_rows import ATTENTION, MLP, SOURCE, FewRows, TextRows
from specviz.lm.llama.replay import FEW, WIDTHS, FixedStep, ReplayedCache, Replays, width_for
from specviz.lm.llama.rows import LlamaCache, LlamaRows, Norm
from specviz.lm.llama.shape import LlamaShape
from specviz.lm.llama.weights import EMBEDDING, as_stored, for_lookup, layer
from specviz.lm.pages import LargePages
from specviz.lm.products import Short
from specviz.lm.rows import Placement

HEAD_OF = {True: EMBEDDING, False: "lm_head.weight"}
"""tied or not → the tensor that the head is"""
PREFILL_ROWS = 512
"""A longer chain is computed in pieces of this size, so that its mask stays small."""
Runner = Callable[[Tensor, bytes], Tensor]
"""residual stream x [n, hidden], what to run of each layer (as in `few_rows`) → x after that"""


class LlamaModel(LlamaRows):
    """Runs under inference mode; one instance serves any number of caches."""

    def __init__(self, shape: LlamaShape, weights: Mapping[str, Tensor], info: ModelInfo) -> None:
        self._info = info
        stored, pages = as_stored(weights, info), LargePages(SOURCE)
        norm = weights["model.norm.weight"]
        self._norm = Norm(norm, shape.norm_eps)
        self._weights = weights
        table = weights[HEAD_OF[shape.tied]]  # the largest, and read before it is copied: first, while little is held
        head, short = table[: info.vocab_size], stored(HEAD_OF[shape.tied])
        kept = None if short is None else Short(pages.joined([short[: info.vocab_size]]))
        carried = self._norm.absorbed_by(head)
        self._head = Projection(carried if kept else pages.joined([carried]), short=kept)
        shared = carried is head
        self._head_weight = self._head.weight if shared else None
        """None: the projection's differs, and this is read again for those who ask"""
        self._embedding = self._head.weight if shared and shape.tied else for_lookup(weights)
        del table, head, carried, short  # before the layers and the routines make their own copies
        layers = [layer(weights, f"model.layers.{i}.", shape, stored, pages) for i in range(shape.layers)]
        super().__init__(shape, layers, norm.device, norm.dtype)
        self._last_trimmed: tuple[tuple[int, ...], LlamaModel] | None = None
        self._few_rows = self._compiled_with(self._head)
        if self._few_rows and self._few_rows.as_stored:
            self._info = replace(info, read_dtype="bfloat16")
        self.kernels = {} if self._few_rows else self._calibrate()

    @property
    def info(self) -> ModelInfo:
        return self._info

    @torch.inference_mode()
    def _calibrate(self) -> dict[str, dict[int, str]]:
        """Which matrix routine serves which row count, per kind of projection; kept for the curious."""
        groups = {
            "qkv": [layer.qkv for layer in self._layers],
            "output": [layer.output for layer in self._layers],
            "gate_up": [layer.gate_up for layer in self._layers],
            "down": [layer.down for layer in self._layers],
            "head": [self._head],
        }
        return dict(zip(groups, calibrate(list(groups.values())), strict=True))

    @torch.inference_mode()
    def with_head(self, tokens: Sequence[int]) -> LlamaModel:
        """See `lm.vocabulary.TrimsHead`. The head's rows are read by asking the head itself, in whatever form its
        routines keep them: products with 0 and 1 are exact. The last one made is kept for the next run, which may begin
        in another thread at any moment."""
        key, known = tuple(tokens), self._last_trimmed
        if known is None or known[0] != key:
            trimmed = copy(self)
            ones = torch.eye(self.shape.hidden_size, device=self.device, dtype=self.dtype)
            trimmed._head_weight = self.head()[list(tokens)]
            left_out = (self.shape.vocab_size - len(tokens)) * self.shape.hidden_size
            trimmed._info = replace(self._info, read_per_pass=self._info.read_per_pass - left_out)
            short = None if self._head.short is None else self._head.short.rows(tokens)
            trimmed._head = Projection(self._head(ones).t()[list(tokens)].contiguous(), short=short)
            trimmed._few_rows = self._compiled_with(trimmed._head)
            if not self._few_rows:
                trimmed.kernels = self.kernels | {"head": calibrate([[trimmed._head]])[0]}
            known = self._last_trimmed = key, trimmed
        return known[1]

    def _compiled_with(self, head: Projection) -> FewRows | None:
        few_rows = FewRows.of(self.shape, self._layers, self.turns.cos, (self._norm, head))
        if few_rows is not None:
            few_rows.look_up_in(self._embedding)
        return few_rows

    def forward(
        self,
        tokens: Sequence[int],
        cache: Cache,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
    ) -> Tensor:
        """Logits [n, V], or [1, V] with `last_only` (see `LanguageModel.forward`)."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        few_rows = self._few_rows
        if few_rows is not None and len(tokens) <= few_rows.at_once and self.replays is None:
            return self._called(few_rows, tokens, cache, parents, last_only)
        if torch.is_inference_mode_enabled():  # as in every round: to enter it again takes a tenth of a small pass
            return self._forward(tokens, cache, parents, last_only)
        with torch.inference_mode():
            return self._forward(tokens, cache, parents, last_only)

    def _called(
        self,
        few_rows: FewRows,
        tokens: Sequence[int],
        cache: LlamaCache,
        parents: Sequence[int] | None,
        last_only: bool,
    ) -> Tensor:
        """By one compiled call, which needs no inference mode."""
        placement = cache.place(tokens, parents, self._info.context_length)
        seat, wanted = cache.seat(placement.stop), 1 if last_only else len(tokens)
        logits, states = few_rows.forward(seat, placement, wanted, cache.watched)
        if states is not None:
            cache.see_all(states.to(self.dtype))
        cache.add(placement)
        return logits

    def _forward(
        self, tokens: Sequence[int], cache: LlamaCache, parents: Sequence[int] | None, last_only: bool
    ) -> Tensor:
        replays = self.replays
        part = WIDTHS[-1] if isinstance(cache, ReplayedCache) else PREFILL_ROWS
        if parents is None and last_only and len(tokens) > part:
            return self._in_parts(tokens, cache, part)
        if replays is not None and replays.takes(len(tokens), cache):
            if last_only and len(tokens) > FEW:
                return self.read_out(self._replayed(replays, tokens, cache, parents, read=False)[0][-1:])
            logits = self._replayed(replays, tokens, cache, parents)[1]
            return (logits[-1:] if last_only else logits).clone()
        x = self._hidden(tokens, cache, parents)
        return self.read_out(x[-1:] if last_only else x)

    @property
    def at_once(self) -> int:
        """Rows up to which a pass is one compiled call; 0 where none is."""
        return 0 if self._few_rows is None else self._few_rows.at_once

    def in_one_call(self, texts: Sequence[TextRows]) -> Tensor:
        """See `FewRows.forward_texts`; over `at_once` rows at most."""
        assert self._few_rows is not None, "no pass is compiled here."
        return self._few_rows.forward_texts(texts)

    def write_chain(self, tokens: Sequence[int], cache: Cache, chooser: Chooser) -> Chain | None:
        """See `lm.base.WritesChains`: by one compiled call, or not at all."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        few_rows, start = self._few_rows, cache.length
        stop = start + len(tokens) + chooser.steps - 1
        if few_rows is None or len(tokens) > few_rows.at_once:
            return None
        if cache.watched or start > cache.base or stop > self._info.context_length:
            return None
        chain = few_rows.write_chain(cache.seat(stop), start, tokens, chooser)
        cache.go_on([*tokens, *chain.tokens[:-1]])
        return chain

    def _in_parts(self, tokens: Sequence[int], cache: LlamaCache, part: int) -> Tensor:
        """Logits [1, V] behind a chain that is read in parts of so many rows. Raises ModelError before the first where
        the context length would be exceeded."""
        cache.room(cache.place(tokens, None, self._info.context_length).stop)
        seen = list[Tensor]()
        for start in range(0, len(tokens), part):
            logits = self.forward(tokens[start : start + part], cache, None, last_only=True)
            seen += [cache.seen] if cache.watched else []
        if seen:
            cache.see_all(torch.cat(seen))
        return logits

    @torch.inference_mode()
    def forward_hidden(
        self,
        tokens: Sequence[int],
        cache: Cache,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Logits as `forward` gives them, and the last hidden states [n, H] (see `lm.base.GivesHidden`)."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        if self.replays is not None and self.replays.takes(len(tokens), cache):
            x, logits = self._replayed(self.replays, tokens, cache, parents)
            first = len(x) - 1 if last_only else 0
            return logits[first:].clone(), self._norm.whole(x[first:].to(self.dtype))
        x = self._hidden(tokens, cache, parents)
        if last_only:
            x = x[-1:]
        return self.read_out(x), self._norm.whole(x.to(self.dtype))

    def _replayed(
        self,
        replays: Replays,
        tokens: Sequence[int],
        cache: LlamaCache,
        parents: Sequence[int] | None,
        read: bool = True,
    ) -> tuple[Tensor, ...]:
        """Residual stream [n, hidden] and, if they are `read`, logits [n, V]: views that the next pass writes over; the
        rows are then in the cache."""
        placement = cache.place(tokens, parents, self._info.context_length)
        depths = tuple(sorted(set(cache.watched)))

        def body(ids: Tensor, step: FixedStep, states: Tensor | None) -> tuple[Tensor, ...]:
            x, seen = self._through(self._embedded(ids), 0, partial(self.run_chosen, step=step), depths)
            return x, *([self.read_out(x)] if read else []), *seen.values()

        results = replays.run((id(self), depths, read), body, placement, cache)
        first = 2 if read else 1  # where what was seen on the way begins
        cache.see(dict(zip(depths, results[first:], strict=True)))
        cache.add(placement)
        return results[:first]

    def _hidden(self, tokens: Sequence[int], cache: LlamaCache, parents: Sequence[int] | None) -> Tensor:
        """Residual stream [n, hidden] after the last layer; the rows are then in the cache."""
        placement = cache.place(tokens, parents, self._info.context_length)
        x = self._read_on(self._look_up(placement.tokens), 0, self._runner(placement, cache), cache)
        cache.add(placement)
        return x

    def _runner(self, placement: Placement, cache: LlamaCache) -> Runner:
        """How the blocks of this pass are run: by one call where it has few rows, else operation by operation."""
        few_rows = self._few_rows
        if few_rows is None or not few_rows.takes(len(placement.tokens)):
            return partial(self.run_chosen, step=self.step(placement, cache))
        return partial(few_rows.run, seat=cache.seat(placement.stop), placement=placement)

    def _look_up(self, tokens: Sequence[int]) -> Tensor:
        """Embeddings [n, hidden] of tokens [n]; a row widened as it is read is that of a table widened before."""
        return self._embedded(torch.tensor(tokens, device=self.device))

    def _embedded(self, ids: Tensor) -> Tensor:
        """The same of ids [n] on the device."""
        return functional.embedding(ids, self._embedding).to(self.dtype)

    def _read_on(self, x: Tensor, reached: int, run: Runner, cache: LlamaCache) -> Tensor:
        """Run the layers after the first `reached` ones, and leave the states that `watch` asked for."""
        x, states = self._through(x, reached, run, sorted(set(cache.watched)))
        cache.see(states)
        return x

    def _through(
        self, x: Tensor, reached: int, run: Runner, depths: Sequence[int]
    ) -> tuple[Tensor, Mapping[int, Tensor]]:
        """What is behind the last layer [n, hidden], and at these depths, which ascend."""
        layers, states = self.shape.layers, dict[int, Tensor]()
        for depth in depths:
            assert depth >= reached, f"states after {depth} layers are watched, but a pass goes on after {reached}."
            x = run(x, self.between(reached, depth))
            reached = depth
            states[depth] = x.to(self.dtype) if depth < layers else self._norm.whole(x.to(self.dtype))
        return run(x, self.between(reached, layers)), states

    def watch(self, cache: Cache, depths: Sequence[int]) -> None:
        """See `GivesFeatures.watch`."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        cache.watch(depths, self.shape.layers)

    def seen(self, cache: Cache) -> Tensor:
        """See `GivesFeatures.seen`."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        return cache.seen

    def keys_values(self, cache: Cache, layer: int) -> tuple[Tensor, Tensor]:
        """See `GivesFeatures.keys_values`; a key's components stand in rotary pair order."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        keys, values = cache.room(cache.length)[layer, :, : cache.length].chunk(2)
        return keys, values

    @torch.inference_mode()
    def turned(self, queries: Tensor, positions: Tensor) -> Tensor:
        """See `GivesFeatures.turned`; into rotary pair order, as the keys are."""
        pairs: Tensor = queries.unflatten(-1, (2, -1)).permute(1, 0, 3, 2).contiguous()  # [n, A, D / 2, 2]
        self.turns.at(positions).rotate(pairs, len(queries))
        return pairs.flatten(-2).transpose(0, 1)

    def embedding(self) -> Tensor:
        """See `GivesFeatures.embedding`; held in the model's format from the first question on."""
        self._embedding = self._embedding.to(self.dtype)
        if self._few_rows is not None:
            self._few_rows.look_up_in(self._embedding)
        return self._embedding[: self._info.vocab_size]

    def head(self) -> Tensor:
        """See `GivesFeatures.head`; held from the first question on."""
        if self._head_weight is None:
            tied = self.shape.tied
            self._head_weight = self.embedding() if tied else self._weights[HEAD_OF[tied]][: self._info.vocab_size]
        return self._head_weight

    def new_batch(self) -> LlamaBatch:
        """See `lm.base.GivesBatches`."""
        if self._few_rows is not None and not self._few_rows.looks_up:
            self.embedding()  # a compiled call of several texts looks rows up itself
        return LlamaBatch(self)

    def why_not_split(self, blocks: Blocks) -> None:
        """See `SplitModel.why_not_split`: every choice of blocks runs."""

    @torch.inference_mode()
    def partial(self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, blocks: Blocks) -> Tensor:
        """See `SplitModel.partial`."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        placement = cache.place(tokens, parents, self._info.context_length)
        chosen = bytes(ATTENTION * (i in blocks.attention) + MLP * (i in blocks.mlp) for i in range(self.shape.layers))
        replays = self.replays
        replayed = isinstance(cache, ReplayedCache) and cache.again(chosen)
        if replays is not None and replayed and replays.takes(len(tokens), cache):

            def body(ids: Tensor, step: FixedStep, states: Tensor | None) -> tuple[Tensor]:
                return (self.run_chosen(self._embedded(ids), chosen, step).to(self.dtype),)

            x = replays.run((id(self), chosen), body, placement, cache)[0].clone()
        else:
            x = self._runner(placement, cache)(self._look_up(placement.tokens), chosen).to(self.dtype)
        cache.add(placement)
        return x

    def block_bytes(self, blocks: Blocks) -> int:
        """See `SplitModel.block_bytes`."""
        sizes = self.shape.weight_sizes()

        def numbers(layers: frozenset[int], *parts: str) -> int:
            wanted = tuple(f"model.layers.{i}.{part}" for i in layers for part in parts)
            return sum(prod(size) for name, size in sizes.items() if name.startswith(wanted))

        attention = numbers(blocks.attention, "input_layernorm.", "self_attn.")
        mlp = numbers(blocks.mlp, "post_attention_layernorm.", "mlp.")
        return (attention + mlp) * self.dtype.itemsize

    @torch.inference_mode()
    def read_out(self, states: Tensor) -> Tensor:
        """See `SplitModel.read_out`."""
        if self._few_rows is not None and self._few_rows.takes(len(states)):
            return self._few_rows.read_out(states)
        return self._head(self._norm(states))

    @torch.inference_mode()
    def set_aside(self, cache: Cache, rows: Sequence[int], states: Tensor, layers: int) -> Unfinished:
        """See `SplitModel.set_aside`; kept is one tensor [layers, 2 * G, n, D]."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        index = torch.tensor(rows, device=self.device)
        kept = cache.room(cache.length)[:layers].index_select(2, index)
        cache.keep([])
        return Unfinished(layers, states, (kept,))

    @torch.inference_mode()
    def finish(
        self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, unfinished: Unfinished
    ) -> Tensor:
        """See `SplitModel.finish`."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        placement = cache.place(tokens, parents, self._info.context_length)
        layers, n = unfinished.layers, len(tokens)
        replays = self.replays if self.replays is not None and self.replays.takes(n, cache) else None
        rows = cache.room(placement.start + (width_for(n) if replays else n))
        rows[:layers, :, placement.start : placement.stop] = unfinished.kept[0]
        if replays:
            logits = self._finished(replays, placement, cache, unfinished)
        else:
            run = self._runner(placement, cache)
            logits = self.read_out(self._read_on(unfinished.states, layers, run, cache))
        cache.add(placement)
        return logits

    def _finished(self, replays: Replays, placement: Placement, cache: LlamaCache, unfinished: Unfinished) -> Tensor:
        """Logits [n, V] of the other layers, replayed."""
        first, depths = unfinished.layers, tuple(sorted(set(cache.watched)))

        def body(ids: Tensor, step: FixedStep, states: Tensor | None) -> tuple[Tensor, ...]:
            assert states is not None, "the other layers go on from states."
            x, seen = self._through(states, first, partial(self.run_chosen, step=step), depths)
            return self.read_out(x), *seen.values()

        logits, *states = replays.run((id(self), first, depths), body, placement, cache, unfinished.states)
        cache.see(dict(zip(depths, states, strict=True)))
        return logits.clone()

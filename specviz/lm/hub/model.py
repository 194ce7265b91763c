"""Adapter for any full-attention causal model of transformers: the reference the lean forward is tested against.

Rows of the cache are rows of a `DynamicCache`; the mask is always our own, four-dimensional and additive, because a
Boolean one is silently added to the scores by eager attention. Models whose cache mixes rows are refused with the
reason (`refusals`); those with sliding windows run the texts that fit their window, for which no layer forgets a row.
Passes of some layers alone are refused where the architecture does not allow them (`layers`).

Also for whoever calls a transformers model itself: what it calls the keys and values of the text so far, `cache` since
5.24, `past_key_values` before.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from specviz.errors import ModelError
from specviz.lm.base import Blocks, Cache, ModelInfo, Unfinished
from specviz.lm.hub.layers import HubLayers, Plan, error_of_idle_layers, error_when_split, relative, running
from specviz.lm.hub.refusals import why_not_supported, why_not_usable
from specviz.lm.rotary import turned_by
from specviz.lm.rows import Placement, TreeCache

CACHE_NAMES = ("cache", "past_key_values")
"""of that argument, newest first"""
PROBE_TOKENS = 4
PREFILL_ROWS = 512
"""A longer chain is computed in pieces of this size: its mask is dense, and grows with rows times text."""


class HubCache(TreeCache):
    """A `DynamicCache` of plain full-attention layers, cut and compacted by us."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import DynamicCache

        self.past: Any = DynamicCache()

    @torch.inference_mode()
    def _move_rows(self, rows: list[int], start: int) -> None:
        for layer in self.past.layers:
            index = torch.tensor(rows, device=layer.keys.device)
            for held in (layer.keys, layer.values):
                held[..., start : start + len(rows), :] = held.index_select(-2, index)

    def _drop_rows(self, length: int) -> None:
        for layer in self.past.layers:  # after a partial pass they differ in length
            surplus = layer.get_seq_length() - length
            if surplus > 0:
                layer.crop(-surplus)


class HubModel:
    """Wraps a loaded `AutoModelForCausalLM`."""

    def __init__(self, model: Any, info: ModelInfo) -> None:
        """Raises ModelError where the model cannot be used, with the reason."""
        reason = why_not_supported(model.config) or why_not_usable(model)
        if reason:
            raise ModelError(f"{info.name} cannot be used because {reason}; choose a full-attention decoder.")
        self._model = model.eval()
        self._takes_cache = cache_argument(model)
        self._device = _entry(model)
        self._info = info
        self._layers = HubLayers.of(model, info.layers)
        self._reasons: dict[Blocks, str | None] = {}
        self._probe = [min(i + 1, info.vocab_size - 1) for i in range(PROBE_TOKENS)]
        self._allowed = 1e-3 if model.dtype == torch.float32 else 5e-2  # rounding, as a share of the largest value
        self._check_trees()

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def device(self) -> torch.device:
        """Where rows go in and logits come out; layers may lie elsewhere."""
        return self._device

    def new_cache(self) -> HubCache:
        return HubCache()

    @torch.inference_mode()
    def forward(
        self,
        tokens: Sequence[int],
        cache: Cache,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
    ) -> Tensor:
        """Logits [n, V], or [1, V] with `last_only` (see `LanguageModel.forward`)."""
        assert isinstance(cache, HubCache), "this cache belongs to another adapter."
        read = bool(cache.watched)
        if parents is None and last_only and not read:
            tokens = self._prefill(tokens, cache)
        out = self._pass(tokens, cache, parents, last_only, **({"output_hidden_states": True} if read else {}))
        if read:
            cache.see({depth: out.hidden_states[depth][0].to(self.device) for depth in cache.watched})
        logits: Tensor = out.logits[0, :, : self._info.vocab_size]
        return logits

    def _prefill(self, tokens: Sequence[int], cache: HubCache) -> Sequence[int]:
        """Cache a chain but for its last piece, which is returned."""
        cache.place(tokens, None, self._info.context_length)  # refused as a whole, before a piece of it is there
        while len(tokens) > PREFILL_ROWS:
            self._pass(tokens[:PREFILL_ROWS], cache, None, last_only=True)
            tokens = tokens[PREFILL_ROWS:]
        return tokens

    def watch(self, cache: Cache, depths: Sequence[int]) -> None:
        """See `GivesFeatures.watch`."""
        assert isinstance(cache, HubCache), "this cache belongs to another adapter."
        cache.watch(depths, self._info.layers)

    def seen(self, cache: Cache) -> Tensor:
        """See `GivesFeatures.seen`."""
        assert isinstance(cache, HubCache), "this cache belongs to another adapter."
        return cache.seen

    def keys_values(self, cache: Cache, layer: int) -> tuple[Tensor, Tensor]:
        """See `GivesFeatures.keys_values`."""
        assert isinstance(cache, HubCache), "this cache belongs to another adapter."
        held = cache.past.layers[layer]
        return held.keys[0].to(self.device), held.values[0].to(self.device)

    @torch.inference_mode()
    def turned(self, queries: Tensor, positions: Tensor) -> Tensor:
        """See `GivesFeatures.turned`."""
        rotary = getattr(self._model.base_model, "rotary_emb", None)
        if rotary is None:
            raise ModelError(
                f"{self._info.name} ({self._info.architecture}) has no rotary positions that are found in it, and the "
                "drafter asks its keys with queries turned like its own; choose another drafter."
            )
        cos, sin = rotary(queries, positions[None])
        half = cos.shape[-1] // 2
        return turned_by(queries, cos[0, :, :half], sin[0, :, :half])

    def embedding(self) -> Tensor:
        """See `GivesFeatures.embedding`."""
        return self._weight_of(self._model.get_input_embeddings())

    def head(self) -> Tensor:
        """See `GivesFeatures.head`."""
        return self._weight_of(self._model.get_output_embeddings())

    def _weight_of(self, module: Any) -> Tensor:
        """A table of this model on its device; of one that was put elsewhere, a copy."""
        if not module.weight.is_meta:
            weight: Tensor = module.weight[: self._info.vocab_size].to(self.device)
            return weight
        from accelerate.utils import align_module_device

        with align_module_device(module, self.device):
            copied: Tensor = module.weight[: self._info.vocab_size].clone()
        return copied

    @torch.inference_mode()
    def forward_hidden(
        self,
        tokens: Sequence[int],
        cache: Cache,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Logits as `forward` gives them, and the last hidden states [n, H] (see `lm.base.GivesHidden`)."""
        out = self._pass(tokens, cache, parents, last_only, output_hidden_states=True)
        hidden = out.hidden_states[-1][0].to(self.device)
        return out.logits[0, :, : self._info.vocab_size], hidden[-1:] if last_only else hidden

    @torch.inference_mode()
    def why_not_split(self, blocks: Blocks) -> str | None:
        """See `SplitModel.why_not_split`: found out by a few tiny passes, once per choice of blocks."""
        if blocks not in self._reasons:
            self._reasons[blocks] = self._find_out(blocks)
        return self._reasons[blocks]

    @torch.inference_mode()
    def partial(self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, blocks: Blocks) -> Tensor:
        """See `SplitModel.partial`."""
        return self._partial(tokens, cache, parents, Plan(blocks))

    def block_bytes(self, blocks: Blocks) -> int | None:
        """See `SplitModel.block_bytes`."""
        return None if self._layers is None else self._layers.block_bytes(blocks)

    @torch.inference_mode()
    def read_out(self, states: Tensor) -> Tensor:
        """See `SplitModel.read_out`: the model's own forward, every layer of which hands the states on."""
        n = len(states)
        nothing = torch.zeros(1, n, dtype=torch.long, device=self.device)
        mask = torch.zeros(1, 1, n, n, dtype=self._model.dtype, device=self.device)
        with running(Plan(Blocks.first(0), states)):
            out = self._model(input_ids=nothing, attention_mask=mask, position_ids=nothing, use_cache=False)
        logits: Tensor = out.logits[0, :, : self._info.vocab_size]
        return logits

    @torch.inference_mode()
    def set_aside(self, cache: Cache, rows: Sequence[int], states: Tensor, layers: int) -> Unfinished:
        """See `SplitModel.set_aside`; kept are keys and values of layer 0, of layer 1, …, each [1, G, n, D]."""
        assert isinstance(cache, HubCache), "this cache belongs to another adapter."
        kept = []
        for layer in cache.past.layers[:layers]:
            index = torch.tensor(rows, device=layer.keys.device)
            kept += [layer.keys.index_select(-2, index), layer.values.index_select(-2, index)]
        cache.keep([])
        return Unfinished(layers, states, tuple(kept))

    @torch.inference_mode()
    def finish(
        self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, unfinished: Unfinished
    ) -> Tensor:
        """See `SplitModel.finish`."""
        assert isinstance(cache, HubCache), "this cache belongs to another adapter."
        for i in range(unfinished.layers):
            cache.past.update(*unfinished.kept[2 * i : 2 * i + 2], i)
        rest = frozenset(range(unfinished.layers, self._info.layers))
        with running(Plan(Blocks(rest, rest), unfinished.states)):
            return self.forward(tokens, cache, parents)

    def _partial(self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, plan: Plan) -> Tensor:
        assert isinstance(cache, HubCache), "this cache belongs to another adapter."
        placement = cache.place(tokens, parents, self._info.context_length)
        with running(plan):
            self._model.base_model(**self._inputs(placement, cache))  # spares the head
        assert plan.left is not None, "the model's forward did not call its last layer."
        cache.add(placement)
        return plan.left.to(self.device)

    def _pass(
        self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, last_only: bool, **wanted: bool
    ) -> Any:
        """Append rows to the cache; what transformers returns."""
        assert isinstance(cache, HubCache), "this cache belongs to another adapter."
        placement = cache.place(tokens, parents, self._info.context_length)
        out = self._model(**self._inputs(placement, cache), logits_to_keep=1 if last_only else 0, **wanted)
        cache.add(placement)
        return out

    def _inputs(self, placement: Placement, cache: HubCache) -> dict[str, Any]:
        return {
            "input_ids": torch.tensor([placement.tokens], device=self.device),
            "attention_mask": self._mask(placement),
            "position_ids": torch.tensor([placement.positions], device=self.device),
            self._takes_cache: cache.past,
            "use_cache": True,
        }

    def _mask(self, placement: Placement) -> Tensor:
        """Additive mask [1, 1, n, T] in the model's dtype."""
        n, start, dtype = placement.stop - placement.start, placement.start, self._model.dtype
        if placement.visible is None:
            hidden = torch.ones(n, start + n, dtype=torch.bool, device=self.device).triu_(start + 1)
        else:
            hidden = ~torch.from_numpy(placement.visible).to(self.device)
        mask = torch.zeros(n, start + n, dtype=dtype, device=self.device)
        return mask.masked_fill_(hidden, torch.finfo(dtype).min)[None, None]

    def _check_trees(self) -> None:
        """Two siblings must not see each other: some architectures read positions or biases out of the mask.

        Raises ModelError where a tiny tree cannot be read at all, or a branch differs from the same text on its own.
        """
        a, b, c, d = self._probe
        try:
            tree = self.forward([a, b, c, d], self.new_cache(), parents=[-1, 0, 0, 2])[[0, 2, 3]]
            difference = relative(tree, self.forward([a, c, d], self.new_cache()))
        except Exception as error:  # an unknown architecture can fail in any way, and then this is what to tell
            raise ModelError(
                f"{self._info.name} ({self._info.architecture}) does not run with the four-dimensional mask of a draft "
                f"tree ({type(error).__name__}: {' '.join(str(error).split())}); choose a "
                "model with rotary or learned positions."
            ) from error
        if not difference <= self._allowed:
            raise ModelError(
                f"{self._info.name} ({self._info.architecture}) does not follow a tree mask: a branch differs from the "
                f"same text alone by {difference:.1%} of its logits; choose another model."
            )

    def _find_out(self, blocks: Blocks) -> str | None:
        """Why these blocks cannot run alone; measured, because an architecture can be built in any way."""
        if self._layers is None:
            return f"no list of {self._info.layers} layers was found in it, so that none can be left out"
        halves = blocks.attention != blocks.mlp
        if halves and not self._layers.halves:
            return "attention and MLP are not modules of their own in its layers, so that neither can be left out alone"
        idle = 0.0
        try:
            wrong = error_when_split(self, blocks, self._probe)
            if halves:
                idle = error_of_idle_layers(lambda plan: self._partial(self._probe, self.new_cache(), None, plan))
        except Exception as error:  # an unknown architecture can fail in any way, and then this is what to tell
            return f"its layers do not run apart ({type(error).__name__}: {error})"
        if not wrong <= self._allowed:
            return f"passes in two parts differ from whole ones by {wrong:.1%} of the logits"
        if not idle <= self._allowed:
            return (
                f"its layers, less attention and MLP, still change their input by {idle:.1%}: the two are no branches"
            )
        return None


def _entry(model: Any) -> torch.device:
    """Where rows enter a model: of one whose layers lie in several places, the first that computes."""
    places = [torch.device(place) for place in getattr(model, "hf_device_map", {}).values() if place != "disk"]
    if not places:
        return torch.device("cpu") if model.device.type == "meta" else model.device
    return next((place for place in places if place.type != "cpu"), torch.device("cpu"))


def cache_argument(model: Any) -> str:
    """The name under which this model's forward takes its cache; its class is asked too, for what stands around a
    forward may hide its parameters."""
    known = [inspect.signature(forward).parameters for forward in (model.forward, type(model).forward)]
    return next((name for name in CACHE_NAMES for parameters in known if name in parameters), CACHE_NAMES[-1])


def given_cache(arguments: Mapping[str, Any]) -> Any:
    """The cache among the keyword arguments of a call, None where there is none."""
    return next((arguments[name] for name in CACHE_NAMES if name in arguments), None)


def returned_cache(output: Any) -> Any:
    """The cache in what a model returned, None where there is none."""
    return next((getattr(output, name) for name in CACHE_NAMES if hasattr(output, name)), None)

"""The model whose passes are timed: the engine's own, or a bare one of any batch size, from a checkpoint or random.

Place in the flow: `bench.profile` opens one and asks it for passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from specviz.core.clock import seconds_of
from specviz.errors import ModelError, OptionError
from specviz.lm.base import Cache, LanguageModel
from specviz.lm.checkpoint import read_config, sha256_of, weight_files
from specviz.lm.llama.bare import (
    BareLlama,
    BarePass,
    Graphs,
    check_room,
    parameters,
    pass_bytes,
    read_parameters,
    shape_named,
)
from specviz.lm.llama.shape import LlamaShape, why_not_lean
from specviz.lm.load import LoadedModel, lean_weights, shape_of
from specviz.lm.place import DTYPES, choose_dtype, fetch_weights, locate, read_spread
from specviz.lm.step_time import Clock, filled_cache, pass_s
from specviz.protocol.profiles import ModelSizes, ProfileRequest

Loader = Callable[..., LoadedModel]
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
"""entries of a config under which a pass does not read every weight"""


def open_model(request: ProfileRequest, load: Loader) -> Timed:
    """The request's model, ready. Raises ModelError where it cannot be loaded or does not fit into memory, OptionError
    where its context does not hold what is asked for."""
    if request.shape or request.bare or request.batches != (1,):
        return _bare(request)
    loaded = load(request.target, device=request.device, dtype=request.dtype)
    config = read_config(locate(request.target), loaded.info.name)
    _check_context(request, loaded.info.name, loaded.info.context_length)
    return EnginePasses(loaded.model, _engine_sizes(config, loaded))


def _check_context(request: ProfileRequest, name: str, holds: int) -> None:
    cached, new = max(request.contexts), max(request.rows)
    if cached + new > holds:
        raise OptionError(
            f"the context of {name} holds {holds} tokens, but {cached} cached rows and {new} new ones make "
            f"{cached + new}; choose shorter --contexts or fewer --rows."
        )


# --- the engine's own pass ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class EnginePasses:
    """Passes as runs make them: one sequence, a binary tree of rows, mask and bookkeeping included."""

    model: LanguageModel
    sizes: ModelSizes
    way: Literal["engine", "bare"] = "engine"
    cuda_graphs: bool = False
    _cache: tuple[int, Cache] | None = None

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        return DTYPES[self.model.info.dtype]

    @property
    def dtype_why(self) -> str:
        """Why `auto` took `dtype`; empty where another one was asked for."""
        return self.model.info.dtype_why

    def pass_timer(self, context: int, batch: int, n: int, clock: Clock) -> Callable[[], float]:
        """Makes the pass ready; each call then runs it once and gives its seconds. One cache serves all widths of a
        context. `batch` is 1."""
        if self._cache is None or self._cache[0] != context:
            self._cache = context, filled_cache(self.model, context)
        rows = self._cache[1]
        return lambda: pass_s(self.model, rows, n, clock)


def _engine_sizes(config: dict[str, Any], loaded: LoadedModel) -> ModelSizes:
    """Raises ModelError where a config does not tell what a pass reads."""
    if any(config.get(name) for name in EXPERTS):
        raise ModelError(
            f"{loaded.info.name} chooses among experts, so what a pass reads depends on its tokens; "
            "profile a dense model."
        )
    shape = shape_of(config, loaded.info.name)
    info = loaded.model.info
    sizes = _sizes(shape, info.name, info.weights_sha256, info.parameters, DTYPES[info.dtype])
    return replace(sizes, stored_bytes=DTYPES[info.read_dtype].itemsize) if info.read_dtype else sizes


def _sizes(shape: LlamaShape, name: str, sha256: str, numbers: int, dtype: torch.dtype) -> ModelSizes:
    return ModelSizes(
        name=name,
        weights_sha256=sha256,
        parameters=numbers,
        read_parameters=numbers - (parameters(shape) - read_parameters(shape)),
        number_bytes=dtype.itemsize,
        layers=shape.layers,
        hidden_size=shape.hidden_size,
        attention_size=shape.heads * shape.head_size,
        kv_size=shape.kv_heads * shape.head_size,
        vocab_size=shape.vocab_size,
        context_length=shape.context_length,
    )


# --- bare passes of any batch size ----------------------------------------------------------------------------------


@dataclass(slots=True)
class BarePasses:
    """Passes of fixed sizes; on a CUDA device each is a CUDA graph."""

    model: BareLlama
    sizes: ModelSizes
    dtype_why: str
    """see `EnginePasses`"""
    way: Literal["engine", "bare"] = "bare"
    graphs: Graphs | None = None

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        return self.model.embedding.dtype

    @property
    def cuda_graphs(self) -> bool:
        return self.graphs is not None

    def pass_timer(self, context: int, batch: int, n: int, clock: Clock) -> Callable[[], float]:
        """As that of `EnginePasses`, for any `batch`."""
        bare_pass = BarePass(self.model, batch, context, n)
        run = bare_pass.run if self.graphs is None else self.graphs.capture(bare_pass.run)
        return lambda: seconds_of(run, self.device, clock)


Timed = EnginePasses | BarePasses


def _bare(request: ProfileRequest) -> BarePasses:
    spread = read_spread(request.device)
    device = spread.device
    model, sizes, why = _random(request, device) if request.shape else _checkpoint(request, device)
    model.reserve(max(request.batches), max(request.contexts) + max(request.rows))
    return BarePasses(model, sizes, why, graphs=Graphs(device) if spread.graphs and device.type == "cuda" else None)


def _random(request: ProfileRequest, device: torch.device) -> tuple[BareLlama, ModelSizes, str]:
    """The model, its sizes, and why its number format was taken."""
    shape, name = shape_named(request.shape), f"{request.shape.lower()} shape, random weights"
    _check_context(request, name, shape.context_length)
    dtype, why = choose_dtype(request.dtype, device, {"dtype": "bfloat16", "hidden_size": shape.hidden_size})
    _check_memory(request, shape, name, device, dtype)
    return BareLlama.random(shape, device, dtype), _sizes(shape, name, "", parameters(shape), dtype), why


def _checkpoint(request: ProfileRequest, device: torch.device) -> tuple[BareLlama, ModelSizes, str]:
    """The same."""
    folder = locate(request.target)
    name = folder.resolve().name if Path(request.target).is_dir() else request.target
    config = read_config(folder, name)
    reason = why_not_lean(config)
    if reason:
        raise ModelError(f"the bare pass cannot run {name} because {reason}; leave out --bare and --batch.")
    fetch_weights(request.target, folder)
    files, shape = weight_files(folder, name), shape_of(config, name)
    _check_context(request, name, shape.context_length)
    dtype, why = choose_dtype(request.dtype, device, config)
    _check_memory(request, shape, name, device, dtype)
    shape, weights = lean_weights(config, files, name, dtype, device)
    return BareLlama.of(shape, weights), _sizes(shape, name, sha256_of(files), weights.numbers(), dtype), why


def _check_memory(
    request: ProfileRequest, shape: LlamaShape, name: str, device: torch.device, dtype: torch.dtype
) -> None:
    largest = pass_bytes(shape, dtype.itemsize, max(request.batches), max(request.contexts), max(request.rows))
    check_room(name, parameters(shape) * dtype.itemsize, largest, device)

"""A Llama pass of fixed sizes with nothing around it: B sequences, s cached rows each, n new rows each.

For timing what hardware can do at sizes, batch sizes and contexts that the engine does not run, and the one place where
a pass becomes a CUDA graph, the engine's own (`replay`) too. Equal to the engine's forward up to rounding, for a chain.
Cached rows hold random numbers: time does not depend on them. Layer counts, widths and vocabulary of the named sizes
are those of SmolLM2-135M and of Qwen2.5 (2412.15115, table 1, and its published configurations), laid out as a plain
Llama without biases; whether a machine has room for such a model is asked first.

Shapes: V vocabulary, H hidden size, Q query heads, G key heads, D head size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import psutil
import torch
from torch import Tensor
from torch.nn import functional

from specviz.errors import ModelError, OptionError
from specviz.lm.llama.shape import LlamaShape

GRAPH_WARM_UPS = 3
"""passes before one is captured: libraries set up their workspaces in the first ones"""
STANDARD_DEVIATION = 0.02
"""of random weights, as Llama checkpoints are initialised"""


@dataclass(frozen=True, slots=True)
class _Layer:
    qkv: Tensor
    output: Tensor
    gate_up: Tensor
    down: Tensor
    attention_norm: Tensor
    ffn_norm: Tensor


class BareLlama:
    """Weights, and storage for keys and values that all its passes share: time one pass at a time."""

    def __init__(self, shape: LlamaShape, embedding: Tensor, head: Tensor, norm: Tensor, layers: list[_Layer]) -> None:
        self.shape = shape
        self.embedding = embedding
        self.head = head
        self.norm = norm
        self.layers = layers
        self._storage = embedding.new_empty(0)

    @classmethod
    def of(cls, shape: LlamaShape, weights: Mapping[str, Tensor]) -> BareLlama:
        """From a checkpoint's tensors, each of which is asked for once: a mapping that reads them then holds no second
        copy.

        Raises ModelError for a checkpoint with biases."""

        def fused(prefix: str, *names: str) -> Tensor:
            return torch.cat([weights[f"{prefix}{name}.weight"] for name in names])

        if any(name.endswith(".bias") for name in weights):
            raise ModelError("the bare pass knows no biases, but this checkpoint has some; time it without --bare.")
        layers = []
        for i in range(shape.layers):
            at = f"model.layers.{i}."
            layers.append(
                _Layer(
                    fused(at, "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
                    fused(at, "self_attn.o_proj"),
                    fused(at, "mlp.gate_proj", "mlp.up_proj"),
                    fused(at, "mlp.down_proj"),
                    weights[at + "input_layernorm.weight"],
                    weights[at + "post_attention_layernorm.weight"],
                )
            )
        embedding = weights["model.embed_tokens.weight"]
        head = embedding if shape.tied else weights["lm_head.weight"]
        return cls(shape, embedding, head, weights["model.norm.weight"], layers)

    @classmethod
    def random(cls, shape: LlamaShape, device: torch.device, dtype: torch.dtype) -> BareLlama:
        """Weights made on the device itself, so that nothing of that size passes through the processor's memory."""
        generator = torch.Generator(device).manual_seed(0)

        def made(*size: int) -> Tensor:
            weight = torch.empty(size, device=device, dtype=dtype)
            return weight.normal_(std=STANDARD_DEVIATION, generator=generator)

        def one() -> Tensor:
            return torch.ones(shape.hidden_size, device=device, dtype=dtype)

        hidden, queries = shape.hidden_size, shape.heads * shape.head_size
        qkv = queries + 2 * shape.kv_heads * shape.head_size
        layers = [
            _Layer(
                made(qkv, hidden),
                made(hidden, queries),
                made(2 * shape.ffn_size, hidden),
                made(hidden, shape.ffn_size),
                one(),
                one(),
            )
            for _ in range(shape.layers)
        ]
        embedding = made(shape.vocab_size, hidden)
        head = embedding if shape.tied else made(shape.vocab_size, hidden)
        return cls(shape, embedding, head, one(), layers)

    @property
    def device(self) -> torch.device:
        return self.embedding.device

    @torch.inference_mode()
    def reserve(self, batch: int, rows: int) -> None:
        """Room for the keys and values of the largest pass; must not be called again once a pass is a CUDA graph."""
        shape = self.shape
        numbers = 2 * shape.layers * batch * shape.kv_heads * rows * shape.head_size
        self._storage = torch.empty(numbers, device=self.device, dtype=self.embedding.dtype).normal_()

    def stored(self, batch: int, rows: int) -> Tensor:
        """[layers, 2, B, G, rows, D], a view of what was reserved."""
        shape = self.shape
        size = (shape.layers, 2, batch, shape.kv_heads, rows, shape.head_size)
        return self._storage[: torch.Size(size).numel()].view(size)


class BarePass:
    """One pass of fixed sizes; the new rows are a chain after `context` cached ones."""

    @torch.inference_mode()
    def __init__(self, model: BareLlama, batch: int, context: int, n: int) -> None:
        device, dtype, shape = model.device, model.embedding.dtype, model.shape
        self._model = model
        self._context = context
        self.tokens = torch.zeros(batch, n, dtype=torch.long, device=device)
        self.cached = model.stored(batch, context + n)
        exponents = torch.arange(0, shape.head_size, 2, device=device, dtype=torch.float32) / shape.head_size
        places = torch.arange(context, context + n, device=device, dtype=torch.float32)
        angles = torch.outer(places, 1.0 / shape.rope_theta**exponents).repeat(1, 2)
        self._cos, self._sin = angles.cos().to(dtype), angles.sin().to(dtype)
        self._mask = None
        if n > 1:  # a given mask, as a tree has one: kernels that know only the causal mask do not serve trees
            seen = torch.ones(n, context + n, dtype=torch.bool, device=device).tril_(context)
            self._mask = torch.zeros(seen.shape, device=device, dtype=dtype).masked_fill_(~seen, torch.finfo(dtype).min)

    @torch.inference_mode()
    def run(self) -> Tensor:
        """Logits [B, n, V]."""
        model = self._model
        x = functional.embedding(self.tokens, model.embedding)
        for layer, (keys, values) in zip(model.layers, self._caches(), strict=True):
            attended = self._attention(self._normed(x, layer.attention_norm), layer, keys, values)
            x = x + functional.linear(attended, layer.output)
            gate, up = functional.linear(self._normed(x, layer.ffn_norm), layer.gate_up).chunk(2, -1)
            x = x + functional.linear(functional.silu(gate) * up, layer.down)
        return functional.linear(self._normed(x, model.norm), model.head)

    def _caches(self) -> Iterator[tuple[Tensor, Tensor]]:
        return ((one[0], one[1]) for one in self.cached)

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return functional.rms_norm(x, weight.shape, weight, self._model.shape.norm_eps)

    def _attention(self, x: Tensor, layer: _Layer, keys: Tensor, values: Tensor) -> Tensor:
        """x [B, n, H] → [B, n, Q·D]; the new rows' keys and values go into the last rows of the cache."""
        shape, (batch, n, _) = self._model.shape, x.shape
        heads = functional.linear(x, layer.qkv).view(batch, n, -1, shape.head_size).transpose(1, 2)
        queries, new_keys, new_values = heads.split((shape.heads, shape.kv_heads, shape.kv_heads), 1)
        keys[:, :, self._context :] = self._turned(new_keys)
        values[:, :, self._context :] = new_values
        out = functional.scaled_dot_product_attention(
            self._turned(queries), keys, values, self._mask, enable_gqa=shape.heads != shape.kv_heads
        )
        return out.transpose(1, 2).reshape(batch, n, -1)

    def _turned(self, rows: Tensor) -> Tensor:
        """Rotary positions (Su et al. 2104.09864) of [B, heads, n, D], in the halves of checkpoints."""
        first, second = rows.chunk(2, -1)
        return rows * self._cos + torch.cat((-second, first), -1) * self._sin


# --- CUDA graphs: the only code here that needs a GPU; its tests carry the mark `gpu` -------------------------------


class Graphs:
    """Turns passes into CUDA graphs that share their memory, so that launching kernels costs nothing."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()

    @torch.inference_mode()
    def capture(self, run: Callable[[], object]) -> Callable[[], None]:
        """`run` as one launch. Results are not kept: the logits of that many passes would fill the memory."""
        aside = torch.cuda.Stream(self._device)
        aside.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(aside):
            for _ in range(GRAPH_WARM_UPS):
                run()
        torch.cuda.current_stream(self._device).wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            run()
        return Recording(graph, run)


@dataclass(frozen=True, slots=True)
class Recording:
    """A pass as one launch."""

    graph: torch.cuda.CUDAGraph
    run: Callable[[], object]
    """what was recorded, with all that it reads: the graph knows addresses alone, and what lies there must stay"""

    def __call__(self) -> None:
        self.graph.replay()


CONTEXT = 32_768
RESERVE = 0.9
"""share of the free memory that may be used: the libraries need some too"""
GB = 1e9


def _shape(
    layers: int, hidden_size: int, heads: int, kv_heads: int, ffn_size: int, vocab: int, tied: bool
) -> LlamaShape:
    size = hidden_size // heads
    return LlamaShape(layers, hidden_size, heads, kv_heads, size, vocab, CONTEXT, 1e-6, 1e6, tied, ffn_size)


SHAPES: Mapping[str, LlamaShape] = {
    "135m": _shape(30, 576, 9, 3, 1536, 49_152, tied=True),
    "0.5b": _shape(24, 896, 14, 2, 4864, 151_936, tied=True),
    "1.5b": _shape(28, 1536, 12, 2, 8960, 151_936, tied=True),
    "7b": _shape(28, 3584, 28, 4, 18_944, 152_064, tied=False),
    "14b": _shape(48, 5120, 40, 8, 13_824, 152_064, tied=False),
    "32b": _shape(64, 5120, 40, 8, 27_648, 152_064, tied=False),
}
"""by the number of parameters"""


def shape_named(name: str) -> LlamaShape:
    """Raises OptionError for a name there is not."""
    if name.lower() not in SHAPES:
        raise OptionError(f"there is no shape '{name}'; choose one of {', '.join(SHAPES)}.")
    return SHAPES[name.lower()]


def parameters(shape: LlamaShape) -> int:
    """All of them, embedding included."""
    return sum(map(prod, shape.weight_sizes().values()))


def read_parameters(shape: LlamaShape) -> int:
    """What a pass reads whatever its width: an embedding that is no head too gives only the rows of its tokens."""
    return parameters(shape) - (0 if shape.tied else shape.vocab_size * shape.hidden_size)


def pass_bytes(shape: LlamaShape, number_bytes: int, batch: int, context: int, n: int) -> int:
    """What the largest pass holds beside the weights: cached keys and values, and its widest intermediate results."""
    cached = 2 * shape.layers * shape.kv_heads * shape.head_size * batch * (context + n)
    passing = batch * n * (shape.vocab_size + 3 * shape.ffn_size + 4 * shape.hidden_size)
    return number_bytes * (cached + passing)


def check_room(what: str, weight_bytes: int, passing_bytes: int, device: torch.device) -> None:
    """Raises ModelError where weights and the largest pass do not fit into the device's free memory."""
    free = free_bytes(device)
    if weight_bytes + passing_bytes > RESERVE * free:
        raise ModelError(
            f"{what} needs {weight_bytes / GB:.1f} GB for weights and {passing_bytes / GB:.1f} GB for the largest "
            f"pass, but {device} has {free / GB:.1f} GB free; "
            "choose a smaller shape, batch or context, or a shorter dtype."
        )


def free_bytes(device: torch.device) -> int:
    """Memory that can still be taken."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    left, available = _container(), psutil.virtual_memory().available
    return available if left is None else min(left, available)


def _container(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What a container's limit leaves; None where there is no limit."""
    try:
        limit, used = ((folder / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return None
    return int(limit) - int(used) if limit.isdigit() else None

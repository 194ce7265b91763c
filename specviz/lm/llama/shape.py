"""What the lean forward must know of a Llama checkpoint's `config.json`, which checkpoints it cannot run, and one whose
context is raised: the same weights, another `config.json`.

To raise it the base of the rotary angles grows, so that the slowest pair turns over the new context as far as it did
over the old ("NTK-aware" scaling): base · s^(D / (D - 2)) for s times the context and heads of D components. What the
model says beyond its old context it was never trained on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from specviz.errors import ModelError
from specviz.lm.checkpoint import read_config


class BlockSizes(Protocol):
    """Of one block."""

    @property
    def hidden(self) -> int: ...

    @property
    def heads(self) -> int: ...

    @property
    def kv_heads(self) -> int: ...

    @property
    def head_size(self) -> int: ...

    @property
    def ffn(self) -> int: ...

    @property
    def theta(self) -> float: ...

    @property
    def eps(self) -> float: ...


@dataclass(frozen=True, slots=True)
class LlamaShape:
    """Sizes of one checkpoint."""

    layers: int
    hidden_size: int
    heads: int
    kv_heads: int
    head_size: int
    vocab_size: int
    context_length: int
    norm_eps: float
    rope_theta: float
    tied: bool
    ffn_size: int

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> LlamaShape:
        """Read a `config.json` that `why_not_lean` has found no fault with."""
        heads = int(config["num_attention_heads"])
        return cls(
            layers=int(config["num_hidden_layers"]),
            hidden_size=int(config["hidden_size"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_size=int(config.get("head_dim") or config["hidden_size"] // heads),
            vocab_size=int(config["vocab_size"]),
            context_length=int(config["max_position_embeddings"]),
            norm_eps=float(config.get("rms_norm_eps", 1e-6)),
            rope_theta=float(_rope(config).get("rope_theta", config.get("rope_theta") or 10000.0)),
            tied=bool(config.get("tie_word_embeddings", False)),
            ffn_size=int(config["intermediate_size"]),
        )

    @classmethod
    def of_blocks(cls, sizes: BlockSizes, layers: int, context_length: int) -> LlamaShape:
        """Of a drafter's blocks, which have no vocabulary of their own."""
        return cls(
            layers=layers,
            hidden_size=sizes.hidden,
            heads=sizes.heads,
            kv_heads=sizes.kv_heads,
            head_size=sizes.head_size,
            vocab_size=0,
            context_length=context_length,
            norm_eps=sizes.eps,
            rope_theta=sizes.theta,
            tied=True,
            ffn_size=sizes.ffn,
        )

    def weight_sizes(self) -> dict[str, tuple[int, ...]]:
        """Every weight the checkpoint must have, with its size."""
        hidden, queries, keys = self.hidden_size, self.heads * self.head_size, self.kv_heads * self.head_size
        sizes: dict[str, tuple[int, ...]] = {
            "model.embed_tokens.weight": (self.vocab_size, hidden),
            "model.norm.weight": (hidden,),
        }
        if not self.tied:
            sizes["lm_head.weight"] = (self.vocab_size, hidden)
        for i in range(self.layers):
            prefix = f"model.layers.{i}."
            sizes |= {
                prefix + "input_layernorm.weight": (hidden,),
                prefix + "self_attn.q_proj.weight": (queries, hidden),
                prefix + "self_attn.k_proj.weight": (keys, hidden),
                prefix + "self_attn.v_proj.weight": (keys, hidden),
                prefix + "self_attn.o_proj.weight": (hidden, queries),
                prefix + "post_attention_layernorm.weight": (hidden,),
                prefix + "mlp.gate_proj.weight": (self.ffn_size, hidden),
                prefix + "mlp.up_proj.weight": (self.ffn_size, hidden),
                prefix + "mlp.down_proj.weight": (hidden, self.ffn_size),
            }
        return sizes


def _rope(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rotary settings, under the name of transformers 5 or of transformers 4."""
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


def why_not_lean(config: Mapping[str, Any]) -> str | None:
    """The reason why the lean forward cannot run this checkpoint, or None where it can."""
    architectures = list(config.get("architectures") or [])
    rope = _rope(config)
    rope_type = rope.get("rope_type", rope.get("type", "default"))
    if architectures != ["LlamaForCausalLM"]:
        return f"its architecture is {', '.join(architectures) or 'not named'}, not LlamaForCausalLM"
    if rope_type != "default":
        return f"its rotary embedding is scaled ('{rope_type}')"
    if config.get("hidden_act", "silu") != "silu":
        return f"its activation is '{config['hidden_act']}', not 'silu'"
    if config.get("quantization_config"):
        return "its weights are quantised"
    return None


def raised_base(shape: LlamaShape, times: float) -> float:
    """Base of the rotary angles for a context `times` as long."""
    return float(shape.rope_theta * times ** (shape.head_size / (shape.head_size - 2)))


def write_raised(source: Path, out: Path, context: int, times: float | None = None) -> Path:
    """Put a copy of the checkpoint `source` with `context` tokens into the folder `out`; its weights are linked, not
    copied. The base grows as for a context `times` as long (1: not at all), where that is given. Raises ModelError
    where that is no Llama checkpoint, or its context is longer already."""
    config = read_config(source, source.name)
    reason = why_not_lean(config)
    if reason:
        raise ModelError(f"the context of {source.name} cannot be raised because {reason}.")
    shape = LlamaShape.from_config(config)
    if context <= shape.context_length:
        raise ModelError(f"{source.name} has a context of {shape.context_length} tokens already; ask for more.")
    theta = raised_base(shape, context / shape.context_length if times is None else times)
    config |= {
        "max_position_embeddings": context,
        "rope_parameters": {"rope_type": "default", "rope_theta": theta},
    }
    out.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.name != "config.json":
            (out / path.name).symlink_to(path.resolve())
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return out

"""What the lean forward must know of a Llama checkpoint's `config.json`, and which checkpoints it cannot run.

Knows nothing about files, weights or caches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
        )


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

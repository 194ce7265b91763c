"""Which models of transformers cannot be decoded speculatively here, and why, before a single pass is made.

What their code does with a tree mask is found out by `hub` itself, from tiny passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

ATTENTION = frozenset({"sdpa", "eager"})
"""Attention implementations that take an arbitrary additive mask."""
SLIDING = "sliding_attention"
"""a layer that sees the last so many tokens alone"""
QUANTISED: Mapping[str, Sequence[str]] = {
    "bitsandbytes": ("bitsandbytes", "accelerate"),
    "gptq": ("gptqmodel", "optimum"),
    "awq": ("gptqmodel", "accelerate"),
    "compressed-tensors": ("compressed-tensors",),
    "fp8": ("accelerate",),
    "mxfp4": ("accelerate",),
    "torchao": ("torchao",),
    "hqq": ("hqq",),
    "eetq": ("kernels", "accelerate"),
}
"""quantisation method of a configuration → what transformers asks for before it reads such weights"""
FLAT_MASK = frozenset({"bloom"})
"""Architectures that have ALiBi without saying so in their configuration."""


def why_not_supported(config: Any) -> str | None:
    """The reason why a transformers config cannot be decoded speculatively here, or None where it can."""
    if getattr(config, "is_encoder_decoder", False):
        return "it is an encoder-decoder model, and only decoder-only models are supported"
    text = config.get_text_config(decoder=True) if hasattr(config, "get_text_config") else config
    types = getattr(text, "layer_types", None)
    other = sorted(set(types or ()) - {"full_attention", SLIDING})
    if other:
        return f"it has layers of type {', '.join(other)}, whose cache cannot give back rows of a draft tree"
    if getattr(text, "num_attention_heads", None) is None:
        return "it has no attention heads; a recurrent state cannot be rolled back to an earlier token"
    if getattr(text, "attention_chunk_size", None) is not None:
        return f"it attends in chunks of {text.attention_chunk_size} tokens, so its cache forgets rows"
    if getattr(text, "alibi", False) or getattr(text, "model_type", "") in FLAT_MASK:
        return (
            "it works out its position biases (ALiBi) from a two-dimensional mask, and a draft tree needs one of four "
            "dimensions"
        )
    return None


def window_of(config: Any) -> int:
    """How many tokens, itself included, the narrowest layer of a model sees; 0: every layer sees all.

    A text no longer than that is read by such layers as by all others, so as far as it goes no row of the cache is ever
    forgotten and a draft tree is exact.
    """
    text = config.get_text_config(decoder=True) if hasattr(config, "get_text_config") else config
    types = getattr(text, "layer_types", None)
    slides = SLIDING in types if types is not None else True
    return int(getattr(text, "sliding_window", None) or 0) if slides else 0


def attention_for(model_class: Any) -> str:
    """Which attention to load it with: sdpa, or eager for architectures whose scores sdpa cannot make (a soft cap in
    Gemma 2, sinks in gpt-oss)."""
    return "sdpa" if getattr(model_class, "_supports_sdpa", True) else "eager"


def what_to_install(config: Mapping[str, Any]) -> str | None:
    """A clause about a quantised checkpoint whose weights transformers reads through packages that are not here; None
    where nothing is missing, or nothing is known."""
    settings = config.get("quantization_config")
    method = str(settings.get("quant_method", "")) if isinstance(settings, Mapping) else ""
    missing = [package for package in QUANTISED.get(method, ()) if find_spec(package.replace("-", "_")) is None]
    if not missing:
        return None
    return f"its weights are quantised ('{method}') and transformers reads them with {' and '.join(missing)}"


def why_not_usable(model: Any) -> str | None:
    """The same of a loaded model: reasons that its configuration does not tell."""
    if getattr(model, "_is_stateful", False):
        return "it keeps a recurrent state, which cannot be rolled back to an earlier token"
    attention = getattr(model.config, "_attn_implementation", "eager")
    if attention not in ATTENTION:
        return f"it was loaded with '{attention}' attention, which takes no tree mask; use sdpa or eager"
    return None

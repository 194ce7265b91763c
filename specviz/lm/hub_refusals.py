"""Which models of transformers cannot be decoded speculatively here, and why, before a single pass is made.

What their code does with a tree mask is found out by `hub` itself, from tiny passes.
"""

from __future__ import annotations

from typing import Any

ATTENTION = frozenset({"sdpa", "eager"})
"""Attention implementations that take an arbitrary additive mask."""
FLAT_MASK = frozenset({"bloom"})
"""Architectures that have ALiBi without saying so in their configuration."""


def why_not_supported(config: Any) -> str | None:
    """The reason why a transformers config cannot be decoded speculatively here, or None where it can."""
    if getattr(config, "is_encoder_decoder", False):
        return "it is an encoder-decoder model, and only decoder-only models are supported"
    text = config.get_text_config(decoder=True) if hasattr(config, "get_text_config") else config
    types = getattr(text, "layer_types", None)
    other = sorted(set(types or ()) - {"full_attention"})
    if other:
        return f"it has layers of type {', '.join(other)}, whose cache cannot give back rows of a draft tree"
    if getattr(text, "num_attention_heads", None) is None:
        return "it has no attention heads; a recurrent state cannot be rolled back to an earlier token"
    if types is None and getattr(text, "sliding_window", None) is not None:
        return f"it attends through a sliding window of {text.sliding_window} tokens, so its cache forgets rows"
    if getattr(text, "attention_chunk_size", None) is not None:
        return f"it attends in chunks of {text.attention_chunk_size} tokens, so its cache forgets rows"
    if getattr(text, "alibi", False) or getattr(text, "model_type", "") in FLAT_MASK:
        return (
            "it works out its position biases (ALiBi) from a two-dimensional mask, and a draft tree needs one of four "
            "dimensions"
        )
    return None


def why_not_usable(model: Any) -> str | None:
    """The same of a loaded model: reasons that its configuration does not tell."""
    if getattr(model, "_is_stateful", False):
        return "it keeps a recurrent state, which cannot be rolled back to an earlier token"
    attention = getattr(model.config, "_attn_implementation", "eager")
    if attention not in ATTENTION:
        return f"it was loaded with '{attention}' attention, which takes no tree mask; use sdpa or eager"
    return None

"""A checkpoint whose context is raised by scaling its rotary positions: the same weights, another `config.json`.

The base of the rotary angles grows, so that the slowest pair turns over the new context as far as it did over the old
("NTK-aware" scaling): base · s^(D / (D - 2)) for s times the context and heads of D components. What the model says
beyond its old context it was never trained on.
"""

from __future__ import annotations

import json
from pathlib import Path

from specviz.errors import ModelError
from specviz.lm.checkpoint import read_config
from specviz.lm.llama_config import LlamaShape, why_not_lean


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

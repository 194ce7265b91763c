"""A checkpoint through transformers: which weights go where, each held once.

What transformers cannot do becomes one sentence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from specviz.errors import ModelError
from specviz.lm.base import ModelInfo
from specviz.lm.checkpoint import StoredTensors
from specviz.lm.hub.model import HubModel
from specviz.lm.hub.refusals import attention_for, why_not_supported, window_of
from specviz.lm.place import DTYPES, Spread

BESIDE_WEIGHTS = ("_scale", "_shape", "_zero_point")
"""names of what a quantiser keeps beside the weights"""


def supported_config(folder: Path, name: str, spread: Spread) -> Any:
    """The config as transformers reads it. Raises ModelError where the model cannot be used: no weight is read yet."""
    from transformers import AutoConfig

    with _as_model_error(name):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    reason = why_not_supported(config)
    if reason:
        raise ModelError(f"{name} cannot be used because {reason}; choose a full-attention decoder.")
    if spread.ranks and not getattr(config.get_text_config(decoder=True), "base_model_tp_plan", None):
        raise ModelError(
            f"transformers has no plan by which {name} could be cut over processes; put its layers on several devices "
            "with --device-map auto."
        )
    return config


def load_hub(folder: Path, files: Sequence[Path], config: Any, info: ModelInfo, spread: Spread) -> HubModel:
    """The model, its weights where `spread` says. Raises ModelError."""
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    model_class: Any = MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    quantised = getattr(config, "quantization_config", None) is not None
    place = _placed(spread, quantised)
    wanted = {
        "config": config,
        "dtype": DTYPES[info.dtype],
        "attn_implementation": attention_for(model_class),
        "local_files_only": True,
    }
    with _as_model_error(info.name), _one_after_the_other():
        if place is None and getattr(model_class, "config_class", None) is type(config):
            unread = StoredTensors(files, info.name, DTYPES[info.dtype], spread.device).unread()
            model: Any = model_class.from_pretrained(None, state_dict=unread, **wanted)
        else:
            model = AutoModelForCausalLM.from_pretrained(
                folder, use_safetensors=True, trust_remote_code=False, **wanted, **(place or {})
            )
        if place is None:
            model = model.to(spread.device)
        if quantised:
            _unpack(model)
    return HubModel(model, _described(info, config, model, spread))


def _placed(spread: Spread, quantised: bool) -> dict[str, Any] | None:
    """What transformers is told about places; None: nothing, the weights are plain and all go to one device."""
    if spread.ranks:
        from transformers.distributed.configuration_utils import DistributedConfig

        return {"distributed_config": DistributedConfig(tp_plan="auto")}
    if spread.layers is not None:
        return {"device_map": spread.layers}
    if not quantised:
        return None
    # quantised weights cannot be moved once they are there
    return {} if spread.device.type == "cpu" else {"device_map": {"": spread.device}}


def _unpack(model: Any) -> None:
    """Make one pass: some quantisers bring weights into the form they compute with in the first one, and only then can
    they be counted."""
    import torch

    with torch.inference_mode():
        model(input_ids=torch.zeros(1, 1, dtype=torch.long, device=model.device), use_cache=False)


def _described(info: ModelInfo, config: Any, model: Any, spread: Spread) -> ModelInfo:
    text, window = config.get_text_config(decoder=True), window_of(config)
    context_length = int(text.max_position_embeddings)
    return replace(
        info,
        adapter=_adapter(model, spread),
        parameters=(parameters := _parameters(model)),
        read_per_pass=parameters - _gathered(model),
        layers=int(text.num_hidden_layers),
        hidden_size=int(text.hidden_size),
        vocab_size=min(int(text.vocab_size), info.vocab_size),
        context_length=min(context_length, window) if window else context_length,
        window=window if window < context_length else 0,
    )


def _adapter(model: Any, spread: Spread) -> str:
    """The adapter as a trace names it, with where the weights are if that is more than one place."""
    if spread.ranks:
        return f"transformers, cut over {spread.ranks} processes"
    if spread.layers is None:
        return "transformers"
    shared_out = getattr(model, "hf_device_map", {"": model.device})  # absent where all went to one device
    return f"transformers, layers on {', '.join(dict.fromkeys(str(place) for place in shared_out.values()))}"


def _parameters(model: Any) -> int:
    """Numbers in the weights; not those by which quantised ones are read."""
    return sum(one.numel() for name, one in model.named_parameters() if not name.endswith(BESIDE_WEIGHTS))


def _gathered(model: Any) -> int:
    """Parameters of an input embedding that is not the head too."""
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    shared = head is not None and head.weight is embedding.weight
    return 0 if shared else int(embedding.weight.numel())


@contextmanager
def _one_after_the_other() -> Iterator[None]:
    """Several threads would read ahead of what is converted and merged, and fill memory with what is not needed yet."""
    name = "HF_DEACTIVATE_ASYNC_LOAD"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def _as_model_error(name: str) -> Iterator[None]:
    """What transformers cannot do becomes one sentence."""
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"transformers cannot load {name} ({first}); choose another model.") from error

"""From a name to a language model that is ready to run: bundled, a folder, or an id on the Hugging Face hub.

Only safetensors weights are read and no code of a checkpoint is ever run. The lean forward is used where the
architecture allows, transformers otherwise; heavy imports happen on first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from specviz.errors import ModelError
from specviz.lm.base import LanguageModel, ModelInfo
from specviz.lm.checkpoint import read_config, sha256_of, weight_files
from specviz.lm.hub_refusals import what_to_install
from specviz.lm.llama_config import LlamaShape, why_not_lean
from specviz.lm.place import DTYPES, choose_device, choose_dtype, fetch_weights, is_folder, locate
from specviz.lm.stored_tensors import StoredTensors
from specviz.lm.text import TextCodec

ADAPTERS = ("auto", "lean-llama", "transformers")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model, its tokenizer and its identity."""

    model: LanguageModel
    tokenizer: TextCodec
    info: ModelInfo


def load(name: str, *, device: str = "auto", dtype: str = "auto", adapter: str = "auto") -> LoadedModel:
    """Load `name`: a bundled model, a local folder, or a hub id such as `owner/model`.

    `adapter`: auto, lean-llama or transformers. Raises ModelError with one sentence for everything that can go wrong.
    """
    if adapter not in ADAPTERS:
        raise ModelError(f"there is no adapter '{adapter}'; choose one of {', '.join(ADAPTERS)}.")
    where = choose_device(device)
    asked, folder = name, locate(name)
    if is_folder(name):
        name = folder.resolve().name  # a trace must not carry paths of this machine
    config = read_config(folder, name)
    reason = why_not_lean(config)
    if adapter == "lean-llama" and reason:
        raise ModelError(
            f"the lean forward cannot run {name} because {reason}; use the adapter 'transformers' or 'auto'."
        )
    lean = adapter != "transformers" and not reason
    supported = None if lean else _supported_config(folder, name)
    missing = None if lean else what_to_install(config)
    if missing:
        packages = missing.rpartition(" with ")[2].replace(" and ", " ")
        raise ModelError(f"{name} cannot be loaded because {missing}; install what is missing: pip install {packages}.")
    tokenizer = TextCodec.from_folder(folder, name)
    fetch_weights(asked, folder)
    files = weight_files(folder, name)
    precision = choose_dtype(dtype, where, config)
    info = _info(name, config, files, precision, tokenizer)
    model = _lean(config, files, info, where) if lean else _with_transformers(folder, supported, info, where)
    return LoadedModel(model, tokenizer, model.info)


def _info(name: str, config: dict[str, Any], files: list[Path], dtype: torch.dtype, tokenizer: TextCodec) -> ModelInfo:
    """What can be said before the weights are read; the adapters fill in the rest."""
    return ModelInfo(
        name=name,
        architecture=str((config.get("architectures") or [config.get("model_type", "unknown")])[0]),
        adapter="",
        parameters=0,
        layers=0,
        hidden_size=0,
        vocab_size=tokenizer.size,
        context_length=0,
        dtype=str(dtype).removeprefix("torch."),
        weights_sha256=sha256_of(files),
        eos_ids=tokenizer.eos_ids,
        tokenizer_sha256=tokenizer.sha256,
    )


def _gathered(model: Any) -> int:
    """Parameters of an input embedding that is not the head too."""
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    shared = head is not None and head.weight is embedding.weight
    return 0 if shared else int(embedding.weight.numel())


def _lean(config: dict[str, Any], files: list[Path], info: ModelInfo, device: torch.device) -> LanguageModel:
    from specviz.lm.llama import LlamaModel

    shape, weights = lean_weights(config, files, info.name, DTYPES[info.dtype], device)
    info = replace(
        info,
        adapter="lean-llama",
        parameters=(parameters := weights.numbers()),
        read_per_pass=parameters - (0 if shape.tied else shape.vocab_size * shape.hidden_size),
        layers=shape.layers,
        hidden_size=shape.hidden_size,
        vocab_size=min(shape.vocab_size, info.vocab_size),
        context_length=shape.context_length,
    )
    return LlamaModel(shape, weights, info)


def shape_of(config: dict[str, Any], name: str) -> LlamaShape:
    """Sizes from a `config.json`. Raises ModelError where one is missing."""
    try:
        return LlamaShape.from_config(config)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"the config.json of {name} lacks or misstates {error}; download it again.") from error


def lean_weights(
    config: dict[str, Any], files: list[Path], name: str, dtype: torch.dtype, device: torch.device
) -> tuple[LlamaShape, StoredTensors]:
    """Sizes and tensors of a Llama checkpoint. Raises ModelError where they are damaged or do not fit each other."""
    shape = shape_of(config, name)
    weights = StoredTensors(files, name, dtype, device)
    for key, expected in shape.weight_sizes().items():
        found = weights.size(key) if key in weights else "missing"
        if found != expected:
            raise ModelError(
                f"the weights of {name} do not fit its config.json: {key} should be {expected}, but is {found}."
            )
    return shape, weights


def _supported_config(folder: Path, name: str) -> Any:
    """The config as transformers reads it. Raises ModelError where the model cannot be used: no weight is read yet."""
    from transformers import AutoConfig

    from specviz.lm.hub_refusals import why_not_supported

    with _as_model_error(name):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    reason = why_not_supported(config)
    if reason:
        raise ModelError(f"{name} cannot be used because {reason}; choose a full-attention decoder.")
    return config


@contextmanager
def _as_model_error(name: str) -> Iterator[None]:
    """What transformers cannot do becomes one sentence."""
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"transformers cannot load {name} ({first}); choose another model.") from error


def _with_transformers(folder: Path, config: Any, info: ModelInfo, device: torch.device) -> LanguageModel:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoModelForCausalLM
    from transformers.utils import logging

    from specviz.lm.hub import HubModel
    from specviz.lm.hub_refusals import attention_for, window_of

    logging.disable_progress_bar()
    with _as_model_error(info.name):
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=DTYPES[info.dtype],
            attn_implementation=attention_for(MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)),
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
        )
        model = loaded.to(device)
    text, window = config.get_text_config(decoder=True), window_of(config)
    context_length = int(text.max_position_embeddings)
    info = replace(
        info,
        adapter="transformers",
        parameters=(parameters := sum(parameter.numel() for parameter in model.parameters())),
        read_per_pass=parameters - _gathered(model),
        layers=int(text.num_hidden_layers),
        hidden_size=int(text.hidden_size),
        vocab_size=min(int(text.vocab_size), info.vocab_size),
        context_length=min(context_length, window) if window else context_length,
        window=window if window < context_length else 0,
    )
    return HubModel(model, info)

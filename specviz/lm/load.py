"""From a name to a language model that is ready to run: bundled, a folder, or an id on the Hugging Face hub.

Only safetensors weights are read and no code of a checkpoint is ever run. The lean forward is used where the
architecture allows, transformers otherwise; heavy imports happen on first use. Knows nothing about drafters,
verifiers or traces.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from specviz.errors import ModelError
from specviz.lm.base import LanguageModel, ModelInfo
from specviz.lm.llama_config import LlamaShape, why_not_lean
from specviz.lm.place import choose_device, choose_dtype, locate
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
    folder = locate(name)
    if Path(name).is_dir():
        name = folder.resolve().name  # a trace must not carry paths of this machine
    config = _config(folder, name)
    files = weight_files(folder, name)
    precision = choose_dtype(dtype, where, config)
    tokenizer = TextCodec.from_folder(folder, name)
    reason = why_not_lean(config)
    if adapter == "lean-llama" and reason:
        raise ModelError(
            f"the lean forward cannot run {name} because {reason}; use the adapter 'transformers' or 'auto'."
        )
    info = _info(name, config, files, precision, tokenizer)
    if adapter == "transformers" or reason:
        model = _with_transformers(folder, info, where, precision)
    else:
        model = _lean(config, files, info, where, precision)
    return LoadedModel(model, tokenizer, model.info)


def _config(folder: Path, name: str) -> dict[str, Any]:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"{name} has no config.json, so it is no checkpoint; name a folder that has one.") from error
    except ValueError as error:
        raise ModelError(f"the config.json of {name} is not valid JSON ({error}); download it again.") from error
    if not isinstance(config, dict):
        raise ModelError(f"the config.json of {name} is not an object; download it again.")
    return config


def weight_files(folder: Path, name: str) -> list[Path]:
    """The safetensors files of a checkpoint, sorted. Raises ModelError where there are none."""
    files = sorted(folder.glob("*.safetensors"))
    if files:
        return files
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt")) or any(folder.glob("*.pth")):
        raise ModelError(
            f"{name} has only pickled weights, which can run code when opened; convert them to safetensors first."
        )
    raise ModelError(f"{name} has no *.safetensors file; put the weights beside its config.json.")


def _info(name: str, config: dict[str, Any], files: list[Path], dtype: torch.dtype, tokenizer: TextCodec) -> ModelInfo:
    """What can be said before the weights are read; the adapters fill in the rest."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
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
        weights_sha256=digest.hexdigest(),
        eos_ids=tokenizer.eos_ids,
    )


def _lean(
    config: dict[str, Any], files: list[Path], info: ModelInfo, device: torch.device, dtype: torch.dtype
) -> LanguageModel:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from specviz.lm.llama import LlamaModel

    try:
        shape = LlamaShape.from_config(config)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"the config.json of {info.name} lacks or misstates {error}; download it again.") from error
    weights: dict[str, Tensor] = {}
    try:
        for path in files:
            weights |= {key: tensor.to(device, dtype) for key, tensor in load_file(path).items()}
    except SafetensorError as error:
        raise ModelError(f"the weights of {info.name} cannot be read ({error}); download them again.") from error
    for key, expected in shape.weight_sizes().items():
        found = tuple(weights[key].shape) if key in weights else "missing"
        if found != expected:
            raise ModelError(
                f"the weights of {info.name} do not fit its config.json: {key} should be {expected}, but is {found}."
            )
    info = replace(
        info,
        adapter="lean-llama",
        parameters=sum(tensor.numel() for tensor in weights.values()),
        layers=shape.layers,
        hidden_size=shape.hidden_size,
        vocab_size=min(shape.vocab_size, info.vocab_size),
        context_length=shape.context_length,
    )
    return LlamaModel(shape, weights, info)


def _with_transformers(folder: Path, info: ModelInfo, device: torch.device, dtype: torch.dtype) -> LanguageModel:
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils import logging

    from specviz.lm.hub import HubModel, why_not_supported

    logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        reason = why_not_supported(config)
        if reason:
            raise ModelError(f"{info.name} cannot be used because {reason}; choose a full-attention decoder.")
        model: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            attn_implementation="sdpa",
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
        ).to(device)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"transformers cannot load {info.name} ({first}); choose another model.") from error
    text = config.get_text_config(decoder=True)
    info = replace(
        info,
        adapter="transformers",
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        layers=int(text.num_hidden_layers),
        hidden_size=int(text.hidden_size),
        vocab_size=min(int(text.vocab_size), info.vocab_size),
        context_length=int(text.max_position_embeddings),
    )
    return HubModel(model, info)

"""From a name to a language model that is ready to run: bundled, a folder, or an id on the Hugging Face hub.

Only safetensors weights are read and no code of a checkpoint is ever run. The lean forward is used where the
architecture allows, transformers otherwise; heavy imports happen on first use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from specviz.allocator import give_back
from specviz.errors import ModelError
from specviz.lm import ranks
from specviz.lm.base import LanguageModel, ModelInfo
from specviz.lm.checkpoint import StoredTensors, read_config, sha256_of, weight_files
from specviz.lm.hub.load import load_hub, supported_config
from specviz.lm.hub.refusals import what_to_install
from specviz.lm.llama.bare import Graphs
from specviz.lm.llama.captioner import Captioner, Eyes, EyesShape
from specviz.lm.llama.model import LlamaModel
from specviz.lm.llama.replay import Replays
from specviz.lm.llama.shape import LlamaShape, why_not_lean
from specviz.lm.place import (
    DTYPES,
    Origin,
    Spread,
    choose_dtype,
    fetch_weights,
    locate,
    read_spread,
    remember,
    shown_name,
)
from specviz.lm.text import TextCodec
from specviz.resources import altered

ADAPTERS = ("auto", "lean-llama", "transformers")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model, its tokenizer and its identity."""

    model: LanguageModel
    tokenizer: TextCodec
    info: ModelInfo


def load(name: str, *, device: str = "auto", dtype: str = "auto", adapter: str = "auto") -> LoadedModel:
    """Load `name`: a bundled model, a local folder, or a hub id such as `owner/model`.

    `device` may also say how a model that does not fit one is spread over several (`lm.place`). `adapter`: auto,
    lean-llama or transformers. Raises ModelError with one sentence for everything that can go wrong.
    """
    if adapter not in ADAPTERS:
        raise ModelError(f"there is no adapter '{adapter}'; choose one of {', '.join(ADAPTERS)}.")
    spread = read_spread(device)
    if spread.ranks:
        ranks.follow_unless_first(load)
    asked, folder, name = name, locate(name), shown_name(name)
    if problem := next(filter(None, map(altered, sorted(folder.glob("*")))), ""):
        raise ModelError(problem)
    config = read_config(folder, name)
    reason = why_not_lean(config) or ("it is to be spread over several places" if spread.spread else None)
    if adapter == "lean-llama" and reason:
        raise ModelError(
            f"the lean forward cannot run {name} because {reason}; use the adapter 'transformers' or 'auto'."
        )
    lean = adapter != "transformers" and not reason
    supported = None if lean else _supported(config, folder, name, spread)
    tokenizer = TextCodec.from_folder(folder, name)
    fetch_weights(asked, folder)
    files = weight_files(folder, name)
    precision, why = choose_dtype(dtype, spread.device, config)
    info = replace(_info(name, config, files, precision, tokenizer), dtype_why=why)
    model = _lean(config, files, info, spread) if lean else _hub(asked, folder, files, supported, info, spread)
    give_back()
    remember(model, Origin(asked, device, info.dtype, adapter))
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


def _supported(config: dict[str, Any], folder: Path, name: str, spread: Spread) -> Any:
    """The config as transformers reads it. Raises ModelError where it cannot run it, or lacks a package for it."""
    found = supported_config(folder, name, spread)
    missing = what_to_install(config)
    if missing:
        packages = missing.rpartition(" with ")[2].replace(" and ", " ")
        raise ModelError(f"{name} cannot be loaded because {missing}; install what is missing: pip install {packages}.")
    return found


def _hub(asked: str, folder: Path, files: list[Path], config: Any, info: ModelInfo, spread: Spread) -> LanguageModel:
    if not spread.ranks:
        return load_hub(folder, files, config, info, spread)
    ranks.say_load(asked, info.dtype)
    return ranks.led(load_hub(folder, files, config, info, spread))


def _lean(config: dict[str, Any], files: list[Path], info: ModelInfo, spread: Spread) -> LanguageModel:
    device = spread.device
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
    if "eyes" not in config:
        model = LlamaModel(shape, weights, info)
        if spread.graphs and device.type == "cuda":
            model.replays = Replays(model, Graphs(device).capture)
        return model
    eyes = Eyes.stored(EyesShape.from_config(config["eyes"], info.name), shape.hidden_size, weights, info.name)
    seen = sum(parameter.numel() for parameter in eyes.parameters())
    return Captioner(shape, weights, replace(info, read_per_pass=info.read_per_pass - seen), eyes)


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

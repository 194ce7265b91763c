"""The header of a recorded generate: which models and settings, on which machine.

Everything is read from the objects that ran; what cannot be known from them (times of bare passes) is left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from specviz.errors import ModelError
from specviz.lm.checkpoint import sha256_of, weight_files
from specviz.lm.step_time import machine
from specviz.lm.text import TextCodec
from specviz.record.settings import Settings
from specviz.trace.files import MAX_INTEGER
from specviz.trace.header import MethodCard, ModelCard, SamplingCard, Started, TokenizerCard, seal
from specviz.version import __version__


def started(model: Any, drafter: Any, text: TextCodec, settings: Settings, prompt_ids: Sequence[int]) -> Started:
    """`drafter` is the assistant model, or None where nothing drafts with weights of its own."""
    import transformers

    sampling, target = settings.sampling, model_card(model)
    header = Started(
        run_id="",
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        producer=f"transformers {transformers.__version__}, recorded by specviz {__version__}",
        source="live",
        target=target,
        drafter=MethodCard(settings.drafter, settings.options, True, None if drafter is None else model_card(drafter)),
        verifier=MethodCard(settings.rule, {}, True),
        sampling=SamplingCard(float(sampling.temperature), sampling.top_k, float(sampling.top_p)),
        tokenizer=TokenizerCard(text.name, text.size, text.sha256, list(text.special_ids)),
        machine=machine(model.device, target.dtype),
        seed=torch.initial_seed() % (MAX_INTEGER + 1),
        max_new_tokens=settings.max_length - len(prompt_ids),
        eos_ids=list(settings.eos_ids),
        stop=[],
        prompt_text=text.decode(text.without_added(prompt_ids)),
        prompt_ids=list(prompt_ids),
    )
    return replace(header, run_id=seal(header))


def model_card(model: Any) -> ModelCard:
    """Sizes from the config, the hash over the tensors that are loaded."""
    config = model.config.get_text_config(decoder=True)
    return ModelCard(
        name=name_of(model.config._name_or_path, type(model).__name__),
        architecture=type(model).__name__,
        adapter="transformers",
        parameters=int(model.num_parameters()),
        layers=int(config.num_hidden_layers),
        hidden_size=int(config.hidden_size),
        vocab_size=int(config.vocab_size),
        context_length=int(config.max_position_embeddings),
        dtype=str(model.dtype).removeprefix("torch."),
        weights_sha256=_files_sha256(model) or _tensors_sha256(model),
    )


def name_of(path: str, otherwise: str) -> str:
    """A hub id as it is, of a folder its last part: a trace must not carry paths of this machine."""
    if not path:
        return otherwise
    return Path(path).resolve().name if Path(path).is_dir() or Path(path).is_absolute() else path


def _files_sha256(model: Any) -> str:
    """That of the checkpoint's files, as our own runs have it, where the model is what stands there; else empty."""
    folder = Path(model.config._name_or_path)
    if not model.config._name_or_path or not folder.is_dir():
        return ""
    held = model.state_dict()
    try:
        files = weight_files(folder, folder.name)
    except ModelError:
        return ""
    for path in files:
        with safe_open(path, framework="pt") as stored:
            for name in stored.keys():  # noqa: SIM118 - no mapping
                if name not in held or held[name].is_meta:
                    return ""
                if not torch.equal(held[name].cpu(), stored.get_tensor(name).to(held[name].dtype)):
                    return ""
    return sha256_of(files)


def _tensors_sha256(model: Any) -> str:
    """Over all tensors by name; empty where some are not in memory (offloaded weights)."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        if tensor.is_meta:
            return ""
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()

"""The header of a recorded generate: with which settings, on which models and machine; and whether a trace can say so.

Everything is read from the objects that ran: transformers' generation config, logits processors, candidate generator
and models. What cannot be known from them (times of bare passes) is left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from specviz.core.sampling import Sampling
from specviz.errors import ModelError, RecordError
from specviz.lm.checkpoint import sha256_of, weight_files
from specviz.lm.step_time import machine
from specviz.lm.text import TextCodec
from specviz.trace.events import Option
from specviz.trace.files import MAX_INTEGER
from specviz.trace.header import MethodCard, ModelCard, SamplingCard, Started, TokenizerCard, seal
from specviz.version import __version__


def started(model: Any, drafter: Any, text: TextCodec, settings: Settings, prompt_ids: Sequence[int]) -> Started:
    """`drafter` is the assistant model, or None where nothing drafts with weights of its own."""
    import transformers

    sampling, target = settings.sampling, model_card(model)
    card = None if drafter is None else model_card(drafter, target.vocab_size)
    header = Started(
        run_id="",
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        producer=f"transformers {transformers.__version__}, recorded by specviz {__version__}",
        source="live",
        target=target,
        drafter=MethodCard(settings.drafter, settings.options, True, card),
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


def model_card(model: Any, vocab_size: int = 0) -> ModelCard:
    """Sizes from the config, the hash over the tensors that are loaded. `vocab_size`: of the target, for a drafter that
    reads and writes by the target's own embeddings."""
    config = model.config.get_text_config(decoder=True)
    return ModelCard(
        name=name_of(model.config._name_or_path, type(model).__name__),
        architecture=type(model).__name__,
        adapter="transformers",
        parameters=int(model.num_parameters()),
        layers=int(config.num_hidden_layers),
        hidden_size=int(config.hidden_size),
        vocab_size=int(getattr(config, "vocab_size", vocab_size)),
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


WARPERS = ("TemperatureLogitsWarper", "TopKLogitsWarper", "TopPLogitsWarper")
"""the transforms a trace can name, in the order in which it applies them"""
MTP, DFLASH = "MTPCandidateGenerator", "DFlashTokenCandidateGenerator"
GEMMA = "SinglePositionMultiTokenCandidateGenerator"
PROMPT_LOOKUP, EARLY_EXIT = "PromptLookupCandidateGenerator", "EarlyExitCandidateGenerator"
GENERATORS = {
    "AssistedCandidateGenerator": "transformers.assistant_model",
    EARLY_EXIT: "transformers.early_exit",
    PROMPT_LOOKUP: "transformers.prompt_lookup",
    MTP: "transformers.mtp",
    DFLASH: "transformers.dflash",
    GEMMA: "transformers.gemma_assistant",
}
"""what drafts, and what the trace calls it"""


@dataclass(frozen=True, slots=True)
class Settings:
    """How one generate drafts, judges and ends."""

    drafter: str
    options: dict[str, Option]
    rule: str
    """verifier that does what generate does"""
    sampling: Sampling
    max_length: int
    """tokens of prompt and output together"""
    eos_ids: tuple[int, ...]


def settings_of(config: Any, processors: Any, generator: Any) -> Settings:
    """Raises RecordError where a trace cannot say what this generate does."""
    kind = type(generator).__name__
    if kind not in GENERATORS:
        raise RecordError(
            f"generate drafts with {kind}, which is not recorded; use assistant_model with the target's own tokenizer, "
            "prompt_lookup_num_tokens, assistant_early_exit, use_mtp or speculation_type='dflash'."
        )
    for name in ("stop_strings", "assistant_ensemble_weight"):
        if getattr(config, name, None) is not None:
            raise RecordError(f"generate runs with {name}, which a trace cannot say; leave it out.")
    if kind == GEMMA and config.do_sample:
        raise RecordError(
            "generate samples with a Gemma assistant, which takes its most probable token and is judged as if it had "
            "drawn it: no lossless rule does that, and a trace cannot say it; record it with do_sample=False."
        )
    drafts_with_model = kind != PROMPT_LOOKUP
    return Settings(
        drafter=GENERATORS[kind],
        options=_options(config, generator, kind),
        rule="greedy" if not config.do_sample else "sequential" if drafts_with_model else "naive",
        sampling=_sampling(config.do_sample, processors),
        max_length=int(config.max_length),
        eos_ids=_eos_ids(config),
    )


def _sampling(do_sample: bool, processors: Any) -> Sampling:
    """Temperature, top-k and top-p as generate applies them. Raises RecordError for any other processor."""
    names = [type(processor).__name__ for processor in processors]
    unknown = [name for name in names if name not in WARPERS]
    if unknown:
        raise RecordError(
            f"generate changes the logits by {unknown[0]}, which a trace cannot say; sample with temperature, top-k "
            "and top-p alone."
        )
    if names != sorted(names, key=WARPERS.index):
        raise RecordError(
            f"generate applies {', '.join(names)} in this order, but a trace's sampling is temperature, then top-k, "
            "then top-p; leave the order to generate."
        )
    if not do_sample:
        return Sampling()
    by_name = dict(zip(names, processors, strict=True))
    temperature, top_k, top_p = (by_name.get(name) for name in WARPERS)
    return Sampling(
        temperature=1.0 if temperature is None else float(temperature.temperature),
        top_k=0 if top_k is None else int(top_k.top_k),
        top_p=1.0 if top_p is None else float(top_p.top_p),
    )


def _options(config: Any, generator: Any, kind: str) -> dict[str, Option]:
    if kind == PROMPT_LOOKUP:
        return {
            "prompt_lookup_num_tokens": int(generator.num_output_tokens),
            "max_matching_ngram_size": int(generator.max_matching_ngram_size),
        }
    if kind == MTP:
        return {"num_mtp_layers": int(generator.num_mtp_layers)}
    if kind == DFLASH:
        return {"block_size": int(generator.block_size)}
    if kind == GEMMA:
        return {"num_assistant_tokens": int(generator.num_assistant_tokens)}
    used = generator.assistant_generation_config
    options: dict[str, Option] = {
        "num_assistant_tokens": int(generator.num_assistant_tokens),
        "num_assistant_tokens_schedule": used.num_assistant_tokens_schedule,
        "assistant_confidence_threshold": used.assistant_confidence_threshold,
    }
    if kind == EARLY_EXIT:
        options["assistant_early_exit"] = int(config.assistant_early_exit)
    return options


def _eos_ids(config: Any) -> tuple[int, ...]:
    ids = config.eos_token_id
    return () if ids is None else (int(ids),) if isinstance(ids, int) else tuple(int(token) for token in ids)

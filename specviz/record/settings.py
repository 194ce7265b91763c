"""With which settings a generate runs, and whether a trace can say all of them.

Reads transformers' generation config, logits processors and candidate generator; computes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from specviz.core.sampling import Sampling
from specviz.errors import RecordError
from specviz.trace.events import Option

WARPERS = ("TemperatureLogitsWarper", "TopKLogitsWarper", "TopPLogitsWarper")
"""the transforms a trace can name, in the order in which it applies them"""
GENERATORS = {
    "AssistedCandidateGenerator": "transformers.assistant_model",
    "EarlyExitCandidateGenerator": "transformers.early_exit",
    "PromptLookupCandidateGenerator": "transformers.prompt_lookup",
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
            "prompt_lookup_num_tokens or assistant_early_exit."
        )
    for name in ("stop_strings", "assistant_ensemble_weight"):
        if getattr(config, name, None) is not None:
            raise RecordError(f"generate runs with {name}, which a trace cannot say; leave it out.")
    drafts_with_model = kind != "PromptLookupCandidateGenerator"
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
    if kind == "PromptLookupCandidateGenerator":
        return {
            "prompt_lookup_num_tokens": int(generator.num_output_tokens),
            "max_matching_ngram_size": int(generator.max_matching_ngram_size),
        }
    used = generator.assistant_generation_config
    options: dict[str, Option] = {
        "num_assistant_tokens": int(generator.num_assistant_tokens),
        "num_assistant_tokens_schedule": used.num_assistant_tokens_schedule,
        "assistant_confidence_threshold": used.assistant_confidence_threshold,
    }
    if kind == "EarlyExitCandidateGenerator":
        options["assistant_early_exit"] = int(config.assistant_early_exit)
    return options


def _eos_ids(config: Any) -> tuple[int, ...]:
    ids = config.eos_token_id
    return () if ids is None else (int(ids),) if isinstance(ids, int) else tuple(int(token) for token in ids)

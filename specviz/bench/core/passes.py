"""Models asked without a run: p of the target and q of the drafter at many places of texts, and the clock of passes.

No text is generated: the models read the prompts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from specviz.core.clock import now
from specviz.core.sampling import Sampling, transform
from specviz.errors import BenchError
from specviz.lm.base import LanguageModel
from specviz.lm.load import LoadedModel
from specviz.lm.step_time import Clock
from specviz.lm.text import check_vocabularies
from specviz.protocol.runs import PromptCard


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look, and under which sampling."""

    prompts: Sequence[PromptCard]
    step: int
    """every so many tokens"""
    sampling: Sampling


def distributions(
    target: LoadedModel, drafter: LoadedModel, places: Places
) -> Iterator[tuple[PromptCard, Tensor, Tensor]]:
    """(prompt, p [n, V], q [n, V]) per prompt, at its tokens 0, step, 2 · step, …

    Raises BenchError for a step below one, ModelError where the vocabularies differ or a prompt does not fit.
    """
    if places.step < 1:
        raise BenchError(f"the step between places is {places.step}, but must be at least 1.")
    check_vocabularies(target.tokenizer, drafter.tokenizer)
    for prompt in places.prompts:
        tokens = target.tokenizer.encode(prompt.text)
        if tokens:
            rows = [_rows(one.model, tokens, places) for one in (target, drafter)]
            yield prompt, rows[0], rows[1]


@torch.inference_mode()
def _rows(model: LanguageModel, tokens: Sequence[int], places: Places) -> Tensor:
    logits = model.forward(tokens, model.new_cache())
    return transform(logits[:: places.step, : model.info.vocab_size], places.sampling).cpu()


def pass_clock(device: torch.device) -> tuple[Clock, Literal["wall", "thread"]]:
    """On one thread of a processor the time it really worked, so that other programs disturb less; else wall time."""
    if device.type == "cpu" and torch.get_num_threads() == 1:
        return time.thread_time, "thread"
    return time.perf_counter, "wall"


def work_clock(device: torch.device) -> tuple[Clock, Literal["wall", "process"]]:
    """The same for work that is spread over threads of this process of which one runs at a time."""
    if device.type == "cpu" and torch.get_num_threads() == 1:
        return time.process_time, "process"
    return (lambda: now(device)), "wall"

"""Both distributions at many places of the prompt set's own texts: p of the target and q of the drafter, side by side.

No text is generated: the models read the prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.core.sampling import Sampling, transform
from specviz.errors import BenchError
from specviz.lm.base import LanguageModel
from specviz.lm.load import LoadedModel
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

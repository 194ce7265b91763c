"""A model that is asked about one text after another, each mostly the text before: only what is new is read.

The same noise belongs to a position whoever asks: so a text is the target's own sample with this seed, token for token
that of plain decoding with the verifier `naive`, and a drafter that looks at that noise agrees as often as it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.asynchronous.machines import shared
from specviz.core.randomness import RandomSource
from specviz.core.sampling import Sampling, transform
from specviz.lm.base import LanguageModel


@dataclass(frozen=True, slots=True)
class Draws:
    """How a token is drawn from what a model says."""

    sampling: Sampling
    randomness: RandomSource
    noise: str = "target"
    """purpose of the keys, as in `DraftContext.noise`"""

    def tokens(self, logits: Tensor, position: int) -> list[int]:
        """One for each row [n, V]; the first stands at `position` of the text, prompt included."""
        if self.sampling.greedy:
            best: list[int] = logits.argmax(-1).tolist()
            return best
        rows = enumerate(transform(logits, self.sampling), start=position)
        return [self.randomness.peek(row, (self.noise, place, 0)) for place, row in rows]


class Reader:
    """One model with one cache."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self._cache = model.new_cache()

    @torch.inference_mode()
    def logits(self, text: Sequence[int], tail: Sequence[int] = ()) -> Tensor:
        """What it believes follows `text` and each token of `tail`, from one pass: [len(tail) + 1, V]."""
        whole = [*text, *tail]
        known = min(shared(self._cache.tokens, whole), len(text) - 1)
        if known < self._cache.length:
            self._cache.truncate(known)
        logits = self.model.forward(whole[known:], self._cache)[len(text) - 1 - known :, : self.model.info.vocab_size]
        self._cache.keep(range(known, len(whole)))
        return logits


class Speaker:
    """A reader that also draws."""

    def __init__(self, model: LanguageModel, draws: Draws) -> None:
        self._reader = Reader(model)
        self._draws = draws

    def next_tokens(self, text: Sequence[int], count: int) -> list[int]:
        """The next `count` tokens after `text`, each read before the next."""
        grown = list(text)
        for _ in range(count):
            grown += self.answers(grown, [])
        return grown[len(text) :]

    def answers(self, text: Sequence[int], tail: Sequence[int]) -> list[int]:
        """What it says at the end of `text` and after each token of `tail`, from one pass: len(tail) + 1 tokens."""
        return self._draws.tokens(self._reader.logits(text, tail), len(text))

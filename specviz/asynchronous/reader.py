"""A model that is asked about one text after another, each mostly the text before: only what is new is read.

The same noise belongs to a position whoever asks: so a text is the target's own sample with this seed, token for token
that of plain decoding with the verifier `naive`, and a drafter that looks at that noise agrees as often as it can.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from specviz.asynchronous.machines import shared
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling, transform
from specviz.lm.base import LanguageModel


class Reader:
    """One model with one cache."""

    def __init__(self, model: LanguageModel, sampling: Sampling, seed: int) -> None:
        self.model = model
        self._sampling = sampling
        self._randomness = SeededRandom(seed)
        self._cache = model.new_cache()

    @torch.inference_mode()
    def next_tokens(self, text: Sequence[int], count: int) -> list[int]:
        """The next `count` tokens after `text`, each read before the next."""
        own = list(text)
        for _ in range(count):
            own += self.answers(own, [])
        return own[len(text) :]

    @torch.inference_mode()
    def answers(self, text: Sequence[int], tail: Sequence[int]) -> list[int]:
        """What it says at the end of `text` and after each token of `tail`, from one pass: len(tail) + 1 tokens."""
        whole = [*text, *tail]
        known = min(shared(self._cache.tokens, whole), len(text) - 1)
        if known < self._cache.length:
            self._cache.truncate(known)
        logits = self.model.forward(whole[known:], self._cache)[len(text) - 1 - known :, : self.model.info.vocab_size]
        self._cache.keep(range(known, len(whole)))
        return self._tokens(logits, len(text))

    def _tokens(self, logits: Tensor, position: int) -> list[int]:
        if self._sampling.greedy:
            found: list[int] = logits.argmax(-1).tolist()
            return found
        probs = transform(logits, self._sampling)
        return [self._randomness.peek(row, ("target", position + place, 0)) for place, row in enumerate(probs)]

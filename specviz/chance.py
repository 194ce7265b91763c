"""Everything random goes through here: the sampling transform and the two verbs, accept and draw.

Because a run's randomness passes through two verbs only, a seeded object plays it for real, a scripted one
forces a lesson's outcome, and an exhaustive one walks every branch and so proves losslessness.
Knows nothing about models, trees or traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from specviz.errors import OptionError
from specviz.noise import Key, uniform


class Toss(NamedTuple):
    """Outcome of `accept`: u is the uniform draw, None where the dice did not use one."""

    accepted: bool
    u: float | None


class Drawn(NamedTuple):
    """Outcome of `draw`."""

    token: int
    u: float | None


class Dice(Protocol):
    """The two verbs, and a look at the noise of a draw to come."""

    def accept(self, probability: float, key: Key) -> Toss:
        """Succeed with `probability`: u < probability with u uniform in [0, 1), so 0 never succeeds."""
        ...

    def draw(self, probs: Tensor, key: Key) -> Drawn:
        """A token distributed as `probs` [V] (sums to 1)."""
        ...

    def foresee(self, probs: Tensor, key: Key) -> int:
        """The token that `draw` with this key would give if it were asked with `probs` [V].

        Decides nothing and may be asked any number of times before the draw: the same noise, other distributions.
        Only where a draw takes its distribution from the target alone, whatever was drafted, may a draft look at its
        noise (`DraftContext.noise` says so)."""
        ...


class SeededDice:
    """Real randomness, keyed: the same seed gives the same run, whatever else happens around it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def accept(self, probability: float, key: Key) -> Toss:
        u = uniform(self.seed, key)
        return Toss(u < probability, u)

    def draw(self, probs: Tensor, key: Key) -> Drawn:
        u = uniform(self.seed, key)
        return Drawn(pick(probs, u), u)

    def foresee(self, probs: Tensor, key: Key) -> int:
        return self.draw(probs, key).token


Starts = npt.NDArray[np.int64]
ON_CPU = ("cpu", "mps")
"""devices whose distributions are sorted and added up by numpy: Apple's has no double precision"""


def pick(probs: Tensor, u: float) -> int:
    """Inverse-CDF sampling: the first token whose cumulative probability exceeds u [V] → id.

    Never returns a token of probability zero: rounding at the upper end falls back to the last token with mass.
    """
    if probs.device.type in ON_CPU:
        return _pick_on_cpu(probs.cpu(), u)
    cumulative = torch.cumsum(probs, dim=-1, dtype=torch.float64)
    token = int(torch.searchsorted(cumulative, u * cumulative[-1], right=True))
    if token < probs.shape[-1] and probs[token] > 0:
        return token
    return int(torch.nonzero(probs)[-1])


BLOCK = 64
"""Tokens added up at once: sums of blocks cost a third of running sums, which only one block then needs."""


def _pick_on_cpu(probs: Tensor, u: float) -> int:
    """The same with numpy, block by block, which costs a fifth: a sampled draft makes a draw per candidate."""
    row = probs.numpy()
    sums = np.add.reduceat(row, _block_starts(len(row)), dtype=np.float64)
    cumulative = sums.cumsum()
    wanted = u * cumulative[-1]
    block = int(cumulative.searchsorted(wanted, side="right"))
    if block == len(sums):
        return int(np.flatnonzero(row)[-1])
    inside = row[block * BLOCK : (block + 1) * BLOCK]
    before = cumulative[block - 1] if block else 0.0
    token = int((before + inside.cumsum(dtype=np.float64)).searchsorted(wanted, side="right"))
    return block * BLOCK + (token if token < len(inside) else int(np.flatnonzero(inside)[-1]))


@lru_cache(maxsize=8)
def _block_starts(length: int) -> Starts:
    return np.arange(0, length, BLOCK)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Temperature, top-k and nucleus, in this order; applied alike to plain and speculative decoding."""

    temperature: float = 0.0
    top_k: int = 0
    """0 keeps all"""
    top_p: float = 1.0
    """1.0 keeps all"""

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature <= 10.0:
            raise OptionError(
                f"temperature is {self.temperature}, but must lie between 0 and 10; use 0 for greedy decoding."
            )
        if self.top_k < 0:
            raise OptionError(f"top-k is {self.top_k}, but must be 0 (off) or a positive number of tokens.")
        if not 0.0 < self.top_p <= 1.0:
            raise OptionError(f"top-p is {self.top_p}, but must be above 0 and at most 1 (off).")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0

    @property
    def plain(self) -> bool:
        """The transform is the softmax itself: nothing is sharpened and nothing cut off."""
        return self.temperature == 1.0 and self.top_k == 0 and self.top_p == 1.0


def transform(logits: Tensor, sampling: Sampling) -> Tensor:
    """Logits [..., V] → probabilities [..., V] in float32 (float64 stays float64).

    Temperature 0 is a point mass on the largest logit, lowest id on a tie. Nucleus keeps the smallest set of
    most probable tokens whose mass reaches top-p, at least one.
    """
    logits = logits if logits.dtype == torch.float64 else logits.float()
    if sampling.greedy:
        return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
    if sampling.temperature != 1.0:
        logits = logits / sampling.temperature
    if 0 < sampling.top_k < logits.shape[-1]:
        kept = logits.topk(sampling.top_k, dim=-1)
        logits = torch.full_like(logits, -torch.inf).scatter_(-1, kept.indices, kept.values)
    probs = logits.softmax(-1)
    if sampling.top_p < 1.0:
        probs = _nucleus(probs, sampling.top_p)
        probs = probs / probs.sum(-1, keepdim=True)
    return probs


def _nucleus(probs: Tensor, top_p: float) -> Tensor:
    """probs [..., V] with everything outside the nucleus set to 0; of equal tokens at its edge the lowest ids stay."""
    if probs.device.type in ON_CPU:
        return _nucleus_on_cpu(probs.cpu(), top_p).to(probs.device)
    ordered = probs.sort(dim=-1, descending=True, stable=True)
    before = ordered.values.cumsum(-1, dtype=torch.float64) - ordered.values
    kept = ordered.values.masked_fill(before >= top_p, 0.0)
    return probs.scatter(-1, ordered.indices, kept)


def _nucleus_on_cpu(probs: Tensor, top_p: float) -> Tensor:
    """The same with numpy, which sorts plain values twenty times as fast as torch sorts values with their places."""
    kept = probs.clone()
    for row in kept.view(-1, probs.shape[-1]).numpy():
        ordered = np.sort(row)[::-1]
        before = ordered.cumsum(dtype=np.float64) - ordered
        size = int((before < top_p).sum())
        edge = ordered[size - 1]
        surplus = int((row >= edge).sum()) - size
        if surplus:
            row[np.flatnonzero(row == edge)[-surplus:]] = 0.0
        row[row < edge] = 0.0
    return kept


def residual(target: Tensor, draft: Tensor) -> tuple[Tensor, float]:
    """norm(max(0, p - Q)) [V] and its mass before normalising (Leviathan et al. 2211.17192, §2.3).

    Where nothing is left (p equals Q up to rounding) the target itself is returned with mass 0.
    """
    left = (target - draft).clamp_min_(0.0)
    mass = _sum(left)
    if mass <= 0.0:
        return target, 0.0
    return left.div_(mass), mass


def without(draft: Tensor, tokens: Sequence[int]) -> tuple[Tensor, float]:
    """q with `tokens` removed and renormalised [V], and the mass that was left before normalising.

    What the next of several draws without replacement is distributed as. Mass 0 means the support is exhausted;
    the returned zeros must then not be drawn from.
    """
    left = draft.clone()
    for token in tokens:
        left[token] = 0.0
    mass = _sum(left)
    return (left.div_(mass) if mass > 0.0 else left), mass


def _sum(values: Tensor) -> float:
    """The sum of values [V], added up in double precision where the device has it."""
    return float(values.sum(dtype=torch.float32 if values.device.type == "mps" else torch.float64))


class ScriptedDice:
    """Dice for lessons: outcomes are given in order, `True`/`False` for accept, a token id for draw."""

    def __init__(self, outcomes: Sequence[bool | int]) -> None:
        self._outcomes = list(outcomes)

    def accept(self, probability: float, key: Key) -> Toss:
        outcome = self._next(key)
        if not isinstance(outcome, bool):
            raise OptionError(f"the script has token {outcome} where {key} needs True or False.")
        return Toss(outcome, None)

    def draw(self, probs: Tensor, key: Key) -> Drawn:
        outcome = self._next(key)
        if isinstance(outcome, bool):
            raise OptionError(f"the script has {outcome} where {key} needs a token id.")
        return Drawn(outcome, None)

    def foresee(self, probs: Tensor, key: Key) -> int:
        """A script holds no noise to look at: the most probable token."""
        return int(probs.argmax())

    def _next(self, key: Key) -> bool | int:
        if not self._outcomes:
            raise OptionError(f"the script has no outcome left for {key}; give one more.")
        return self._outcomes.pop(0)

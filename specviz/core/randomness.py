"""Everything random goes through here: the two verbs, accept and draw.

Because a run's randomness passes through two verbs only, a seeded object plays it for real, a scripted one forces an
outcome, and an exhaustive one walks every branch and so proves losslessness.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from specviz.core.sampling import ON_CPU
from specviz.trace.uniform_draws import Key, uniform


class AcceptDraw(NamedTuple):
    """Outcome of `accept`: u is the uniform draw, None where none was used."""

    accepted: bool
    u: float | None


class TokenDraw(NamedTuple):
    """Outcome of `draw`."""

    token: int
    u: float | None


class RandomSource(Protocol):
    """The two verbs, and a look at the noise of a draw to come."""

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        """Succeed with `probability`: u < probability with u uniform in [0, 1), so 0 never succeeds."""
        ...

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        """A token distributed as `probs` [V] (sums to 1)."""
        ...

    def peek(self, probs: Tensor, key: Key) -> int:
        """The token that `draw` with this key would give if it were asked with `probs` [V].

        Decides nothing and may be asked any number of times before the draw: the same noise, other distributions.
        Only where a draw takes its distribution from the target alone, whatever was drafted, may a draft look at its
        noise (`DraftContext.noise` says so)."""
        ...


class SeededRandom:
    """Real randomness, keyed: the same seed gives the same run, whatever else happens around it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        u = uniform(self.seed, key)
        return AcceptDraw(u < probability, u)

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        u = uniform(self.seed, key)
        return TokenDraw(pick(probs, u), u)

    def peek(self, probs: Tensor, key: Key) -> int:
        return self.draw(probs, key).token


Starts = npt.NDArray[np.int64]


def pick(probs: Tensor, u: float) -> int:
    """Inverse-CDF sampling: the first token whose cumulative probability exceeds u [V] → id.

    Never returns a token of probability zero: rounding at the upper end falls back to the last token with mass.
    """
    if probs.device.type in ON_CPU:
        return _pick_on_cpu(probs.cpu(), u)
    cumulative, last = torch.cumsum(probs, dim=-1, dtype=torch.float64), probs.shape[-1] - 1
    token = torch.searchsorted(cumulative, u * cumulative[-1:], right=True).clamp_(max=last)  # [1]
    with_mass = torch.arange(last + 1, device=probs.device).masked_fill_(probs <= 0, -1).amax(-1, keepdim=True)
    return int(torch.where(probs[token] > 0, token, with_mass))  # all but this is asked of the device alone


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

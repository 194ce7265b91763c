"""From logits to the distribution that tokens are drawn from, and what is left of it after a rejection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from specviz.core import draws
from specviz.errors import OptionError

ON_CPU = ("cpu", "mps")
"""devices whose distributions are sorted and added up by numpy: Apple's has no double precision"""

NUMPY_FORMATS = (torch.float32, torch.float64)

COLDEST = 1e-30
"""the lowest temperature above 0; a logit divided by a much lower one is infinite in single precision"""


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
        if 0.0 < self.temperature < COLDEST:
            raise OptionError(
                f"temperature is {self.temperature}, by which no logit can be divided; use 0 for greedy decoding."
            )
        if self.top_k < 0:
            raise OptionError(f"top-k is {self.top_k}, but must be 0 (off) or a positive number of tokens.")
        if not 0.0 < self.top_p <= 1.0:
            raise OptionError(f"top-p is {self.top_p}, but must be above 0 and at most 1 (off).")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0

    @property
    def uncut(self) -> bool:
        """No token is cut off."""
        return self.top_k == 0 and self.top_p == 1.0

    @property
    def plain(self) -> bool:
        """The transform is the softmax itself: nothing is sharpened and nothing cut off."""
        return self.temperature == 1.0 and self.uncut


def most_probable(logits: Tensor) -> list[int]:
    """Of each row of logits [n, V] the token with the largest, lowest id on a tie. On a CPU raises ModelError for a row
    that holds no number."""
    swept = draws.most_probable(logits)
    if swept is not None:
        return swept
    if logits.device.type != "cpu":
        return logits.argmax(-1).tolist()
    if logits.dtype not in NUMPY_FORMATS:
        logits = logits.float()
    rows = logits.numpy()  # a quarter of what torch takes
    tokens: list[int] = rows.argmax(-1).tolist()
    return [draws.some_token(token if row[token] > -np.inf else -1) for row, token in zip(rows, tokens, strict=True)]


def largest_prob(logits: Tensor) -> float:
    """The largest probability of the softmax of logits [V]."""
    if logits.device.type == "cpu" and logits.dtype in NUMPY_FORMATS:
        row = logits.numpy()
        return 1.0 / float(np.exp(row - row.max()).sum())  # behind a pass torch's is slower, whose code is cold
    return float(logits.float().softmax(-1).max())


def transform(logits: Tensor, sampling: Sampling) -> Tensor:
    """Logits [..., V] → probabilities [..., V] in float32 (float64 stays float64).

    Temperature 0 is a point mass on the largest logit, lowest id on a tie. Top-k keeps exactly k tokens. Nucleus keeps
    the smallest set of most probable tokens whose mass reaches top-p, at least one. Of equal tokens at either edge the
    lowest ids stay.
    """
    logits = logits if logits.dtype == torch.float64 else logits.float()
    if sampling.greedy:
        return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
    if 0 < sampling.top_k < logits.shape[-1]:
        logits = _most_probable_of(logits, sampling.top_k)
    probs = draws.warp(logits, sampling.temperature)
    if sampling.top_p < 1.0:
        probs = _nucleus(probs, sampling.top_p)
        probs = probs / probs.sum(-1, keepdim=True)
    return probs


def _most_probable_of(logits: Tensor, count: int) -> Tensor:
    """logits [..., V], V above `count`, with all but the `count` largest at minus infinity."""
    best = logits.topk(count + 1, dim=-1)
    edge, after = best.values[..., count - 1 : count], best.values[..., count:]
    if logits.device.type in ON_CPU and not bool((edge == after).any()):
        first = best.indices[..., :count]
        return torch.full_like(logits, -torch.inf).scatter_(-1, first, best.values[..., :count])
    above, equal = logits > edge, logits == edge  # of equal ones `topk` takes any
    kept = above | (equal & (equal.cumsum(-1) <= count - above.sum(-1, keepdim=True)))
    return logits.masked_fill(~kept, -torch.inf)


def _nucleus(probs: Tensor, top_p: float) -> Tensor:
    """probs [..., V] with everything outside the nucleus set to 0."""
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
    swept = draws.rest(target, draft)
    if swept is not None:
        return swept
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
    swept = draws.taken_out(draft, tokens[0]) if len(tokens) == 1 else None
    if swept is not None:
        return swept
    left = draft.clone()
    for token in tokens:
        left[token] = 0.0
    mass = _sum(left)
    return (left.div_(mass) if mass > 0.0 else left), mass


def _sum(values: Tensor) -> float:
    """The sum of values [V], added up in double precision where the device has it."""
    return float(values.sum(dtype=torch.float32 if values.device.type == "mps" else torch.float64))

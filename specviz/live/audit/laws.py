"""A recomputed number, and a recomputed distribution, with how far the run's own may lie from it.

The run's logits are those of the same weights in its own number format and order of additions, so each may be off by
`logit_slack`; everything else follows by arithmetic in double precision.

The tally counts what was compared and what was wrong, as it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import expm1
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from specviz.protocol.audits import KINDS, MOST_DIFFERENCES, Audit, Count, Difference
from specviz.trace.events import TopK
from specviz.trace.header import SamplingCard
from specviz.trace.rules.scene import HALF_DIGIT

Row = npt.NDArray[np.float64]
SLACKS = {"float32": 2.0**-15, "float16": 2.0**-5, "bfloat16": 2.0**-2}
"""run's number format → how far one of its logits may lie from that of a float32 forward of the same weights; about
six times what was measured on the bundled pair (docs/audit.md)"""
SINGLE = 2.0**-18
"""relative: softmax, quotients and sums of single precision behind the logits"""


class Number(NamedTuple):
    value: float
    near: float = 0.0
    """the run's own lies at most so far away"""

    def holds(self, stored: float, rounding: float = 0.0) -> bool:
        return abs(stored - self.value) <= self.near + rounding + 1e-9


def spread(function: Callable[..., float], *numbers: Number) -> Number:
    """A function of numbers, monotone in each: its value, and how far its values at their ends lie from it."""
    value = function(*(number.value for number in numbers))
    ends = [(max(0.0, number.value - number.near), number.value + number.near) for number in numbers]
    return Number(value, max(abs(function(*corner) - value) for corner in product(*ends)))


@dataclass(frozen=True, slots=True)
class Law:
    """A distribution over the vocabulary."""

    probs: Row
    near: Row

    def __getitem__(self, token: int) -> Number:
        return Number(float(self.probs[token]), float(self.near[token]))

    def below(self, token: int) -> Number:
        """Mass of all tokens with smaller ids: where inverse-CDF sampling begins to give this token."""
        near = min(float(self.near[: token + 1].sum()), float(self.near[token:].sum()))
        return Number(float(self.probs[:token].sum()), near)

    def points_to(self, token: int, u: float) -> bool:
        """Whether the uniform draw u gives this token."""
        start, own = self.below(token), self[token]
        slack = start.near + own.near + SINGLE
        return start.value - slack <= u < start.value + own.value + slack

    def wins(self, token: int, times: Row) -> bool:
        """Whether no other token is faster in a race with these times [V], as far as the probabilities are known."""
        with np.errstate(divide="ignore"):
            soonest = times / (self.probs + self.near)
            latest = times / np.maximum(self.probs - self.near, 0.0)
        latest[token] = np.inf
        return bool(soonest[token] <= latest.min())

    def is_most_probable(self, token: int) -> bool:
        best = int(self.probs.argmax())
        return self[token].value + self[token].near >= self[best].value - self[best].near


def point(token: int, size: int) -> Law:
    """A point mass [size]."""
    probs = np.zeros(size)
    probs[token] = 1.0
    return Law(probs, np.zeros(size))


def belief(logits: Tensor, slack: float) -> Law:
    """logits [V] → the model's own softmax."""
    probs = logits.softmax(-1).numpy()
    return Law(probs, probs * (expm1(2 * slack) + SINGLE))


def law(logits: Tensor, sampling: SamplingCard, slack: float, shown: TopK | None) -> Law:
    """logits [V] → the distribution after temperature, top-k and nucleus as transformers applies them.

    `shown` is what the run recorded: of tokens so close that either may come first its own choice is followed. Of more
    that lie so near the edge of top-k than it has room for, each may have been cut off or not.
    """
    if sampling.temperature == 0:
        best = int(logits.argmax())
        if shown is not None and shown.tokens and float(logits[best] - logits[shown.tokens[0]]) <= 2 * slack:
            best = shown.tokens[0]
        return point(best, len(logits))
    probs = _closest([_warped(logits, sampling, edge) for edge in _edges(sampling, slack)], shown)
    off = expm1(2 * slack / sampling.temperature) + SINGLE
    near = probs * off
    if 0 < sampling.top_k < len(logits):
        contested, best = _contested(logits, sampling.top_k, slack), int(logits.argmax())
        uncut = probs[best] * ((logits - logits[best]) / sampling.temperature).exp().numpy()
        near = np.where(contested, uncut * (1 + off), near)
    return Law(probs, near)


def _contested(logits: Tensor, top_k: int, slack: float) -> npt.NDArray[np.bool_]:
    """The tokens [V] of which top-k keeps some, and by the logits alone nobody can say which."""
    edge = logits.topk(top_k).values[-1]
    close = (logits - edge).abs() <= 2 * slack
    free = top_k - int((logits > edge + 2 * slack).sum())
    contested: npt.NDArray[np.bool_] = (close & (int(close.sum()) > free)).numpy()
    return contested


def _edges(sampling: SamplingCard, slack: float) -> Sequence[float]:
    """Values of top-p between which a token at the edge of the nucleus may fall on either side."""
    if sampling.top_p >= 1:
        return (1.0,)
    off = expm1(2 * slack / sampling.temperature) + SINGLE
    return (sampling.top_p, sampling.top_p * (1 - off), min(1.0, sampling.top_p * (1 + off)))


def _warped(logits: Tensor, sampling: SamplingCard, top_p: float) -> Row:
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    scores, ids = logits.unsqueeze(0), torch.zeros(1, 1, dtype=torch.long)
    scores = TemperatureLogitsWarper(sampling.temperature)(ids, scores)
    if sampling.top_k > 0:
        scores = TopKLogitsWarper(sampling.top_k)(ids, scores)
    if top_p < 1:
        scores = TopPLogitsWarper(top_p)(ids, scores)
    row: Row = scores[0].softmax(-1).numpy()
    return row


def _closest(rows: Sequence[Row], shown: TopK | None) -> Row:
    if len(rows) == 1 or shown is None or not shown.tokens:
        return rows[0]
    return min(rows, key=lambda row: float(np.abs(row[shown.tokens] - shown.probs).sum()))


def normalised(over: np.ndarray, near: np.ndarray) -> tuple[Law | None, Number]:
    """max(0, over) and its sum, with the bounds that follow from those of `over`."""
    kept, near = np.maximum(over, 0.0), np.where(over > -near, near, 0.0)
    mass = Number(float(kept.sum()), float(near.sum()))
    if mass.value <= 2 * mass.near:
        return None, mass
    probs = kept / mass.value
    return Law(probs, (near + probs * mass.near) / (mass.value - mass.near)), mass


class Tally:
    """One audit on its way."""

    def __init__(self, rounds: int, how: tuple[str, ...]) -> None:
        self._rounds = rounds
        self._how = how
        self._compared = dict.fromkeys(KINDS, 0)
        self._wrong = dict.fromkeys(KINDS, 0)
        self._differences: list[Difference] = []
        self._gaps: dict[str, int] = {}

    def so_far(self, done: int) -> Audit:
        counts = {kind: Count(self._compared[kind], self._wrong[kind]) for kind in KINDS}
        gaps = tuple(f"{what} ({times} times)" if times > 1 else what for what, times in self._gaps.items())
        return Audit(done, self._rounds, counts, tuple(self._differences), gaps, self._how)

    def skip(self, what: str) -> None:
        """Something was not recomputed; `what` is a clause with the reason."""
        self._gaps[what] = self._gaps.get(what, 0) + 1

    def compare(self, kind: str, place: str, holds: bool, recorded: object, recomputed: object) -> None:
        self._compared[kind] += 1
        if holds:
            return
        self._wrong[kind] += 1
        if len(self._differences) < MOST_DIFFERENCES:
            self._differences.append(Difference(place, _shown(recorded), _shown(recomputed)))

    def number(self, kind: str, place: str, stored: float, due: Number, rounding: float = HALF_DIGIT) -> None:
        """A stored number against a recomputed one; `rounding` is that of its record."""
        self.compare(kind, place, due.holds(stored, rounding), stored, due.value)

    def head(self, kind: str, place: str, head: TopK, law: Law) -> None:
        """Every probability of a recorded head, its rest, and that no token outside is more probable than its last."""
        if not head.tokens:
            return
        for index, (token, prob) in enumerate(zip(head.tokens, head.probs, strict=True)):
            self.number(kind, f"{place}.probs[{index}]", prob, law[token])
        outside = law.probs.copy()
        outside[head.tokens] = 0.0
        near = float(law.near[head.tokens].sum()) + len(head.tokens) * HALF_DIGIT
        self.number(kind, f"{place}.rest", head.rest, Number(float(outside.sum()), near))
        left_out = outside - law.near
        best, last = int(left_out.argmax()), law[head.tokens[-1]]
        bound = min(head.probs[-1] + last.near, head.rest + near) + HALF_DIGIT  # one token has at most all of the rest
        holds = bool(left_out[best] <= bound or np.isclose(outside[best], 0.0))
        self.compare(kind, f"{place}.tokens", holds, f"without token {best}", f"it {outside[best]:.6g}")


def _shown(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)

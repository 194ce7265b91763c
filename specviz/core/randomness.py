"""Everything random goes through here: the two verbs, accept and draw.

Because a run's randomness passes through two verbs only, a seeded object plays it for real, a scripted one forces an
outcome, and an exhaustive one walks every branch and so proves losslessness. A draw whose key says `RACE` goes by a
time for every token instead of one number for all: the token with the smallest time over probability wins. `RACES`
does the same with the smallest of a token's times in several lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from specviz.core.draws import picked, some_token
from specviz.core.sampling import ON_CPU
from specviz.core.transfer import Fetch
from specviz.trace.uniform_draws import RACE, RACES, Key, race_purpose, stream, uniform


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


Times = npt.NDArray[np.float64]
RACES_KEPT = 64
"""places of the text whose times are remembered"""


class SeededRandom:
    """Real randomness, keyed: the same seed gives the same run, whatever else happens around it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._times: dict[Key, Times] = {}

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        u = uniform(self.seed, key)
        return AcceptDraw(u < probability, u)

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        if key[0] in (RACE, RACES):
            return TokenDraw(winner(probs, self._times_of(key, probs.shape[-1])), None)
        u = uniform(self.seed, key)
        return TokenDraw(pick(probs, u), u)

    def peek(self, probs: Tensor, key: Key) -> int:
        return self.draw(probs, key).token

    def peek_each(self, fetch: Fetch, rows: Tensor, keys: Sequence[Key]) -> Callable[[], list[TokenDraw]]:
        """What `draw` would give for each of the rows [n, V] of a device with its key, waited for when it is seen."""
        if keys[0][0] in (RACE, RACES):
            times = torch.from_numpy(np.stack([self._times_of(key, rows.shape[-1]) for key in keys])).to(rows.device)
            soonest = (times / rows.double()).min(-1)
            won = torch.where(soonest.values < torch.inf, soonest.indices, -1)
            seen, drawn = fetch.leave(won), [None] * len(keys)
            return lambda: list(map(TokenDraw, map(some_token, map(int, seen()[0].tolist())), drawn))
        u = [uniform(self.seed, key) for key in keys]
        picked = fetch.leave(_pick_on_device(rows, u))
        return lambda: list(map(TokenDraw, map(some_token, map(int, picked()[0].tolist())), u))

    def _times_of(self, key: Key, count: int) -> Times:
        """[V]. A round asks for those of its few places again and again; older places are past."""
        purpose, position, lanes = key
        if purpose == RACES:
            soonest: Times = np.min([self._times_of((RACE, position, lane), count) for lane in range(lanes)], axis=0)
            return soonest
        if len(self._times.get(key, ())) < count:
            self._times = dict(list(self._times.items())[-RACES_KEPT:])
            self._times[key] = race_times(self.seed, key, count)
        return self._times[key][:count]


Starts = npt.NDArray[np.int64]


def pick(probs: Tensor, u: float) -> int:
    """Inverse-CDF sampling: the first token whose cumulative probability exceeds u [V] → id.

    Never returns a token of probability zero: rounding at the upper end falls back to the last token with mass. Raises
    ModelError where none has any.
    """
    token = picked(probs, u)
    if token is None:
        here = probs.device.type in ON_CPU
        token = _pick_on_cpu(probs.cpu(), u) if here else int(_pick_on_device(probs.unsqueeze(0), [u]))
    return some_token(token)


def _pick_on_device(probs: Tensor, u: Sequence[float]) -> Tensor:
    """Of each row of probs [n, V] with its u the token [n], -1 where none has mass; nothing is waited for."""
    cumulative, last = torch.cumsum(probs, dim=-1, dtype=torch.float64), probs.shape[-1] - 1
    wanted = torch.tensor(u, dtype=torch.float64, device=probs.device).unsqueeze(1) * cumulative[:, -1:]
    token = torch.searchsorted(cumulative, wanted, right=True).clamp_(max=last)  # [n, 1]
    ids = torch.arange(last + 1, device=probs.device).expand(probs.shape)
    with_mass = ids.masked_fill(~(probs > 0), -1).amax(-1, keepdim=True)
    return torch.where(probs.gather(1, token) > 0, token, with_mass).squeeze(1)


BLOCK = 64
"""Tokens added up at once: sums of blocks cost a third of running sums, which only one block then needs."""


def _pick_on_cpu(probs: Tensor, u: float) -> int:
    """The same with numpy, block by block, which costs a fifth: a sampled draft makes a draw per candidate."""
    row = probs.numpy()
    sums = np.add.reduceat(row, _block_starts(len(row)), dtype=np.float64)
    cumulative = sums.cumsum()
    if not cumulative[-1] > 0.0:
        return -1
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


Words = npt.NDArray[np.uint64] | np.uint64


def winner(probs: Tensor, times: Times) -> int:
    """The token with the smallest E/p, lowest id on a tie [V], [V] → id: with independent exponential E a draw from p.

    A token of probability zero never wins. Raises ModelError where none has any.
    """
    row = probs.double().cpu().numpy()
    with np.errstate(divide="ignore"):
        arrivals = times / row
    token = int(arrivals.argmin())
    return some_token(token if arrivals[token] < np.inf else -1)


def race_times(seed: int, key: Key, count: int) -> Times:
    """E of tokens 0 … `count` - 1 in the race of this key [count]; `uniform_draws.race_time` gives them one by one."""
    _, position, lane = key
    begun = _mix(np.uint64(stream(seed, race_purpose(lane))) ^ np.uint64(position))
    state = _mix(begun ^ np.arange(count, dtype=np.uint64))
    u = (state >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return -np.log1p(-(u + 2.0**-54))


def _mix(x: Words) -> Words:
    """`uniform_draws._mix` for many at once."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))

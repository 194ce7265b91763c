"""The uniform number that belongs to a seed and a key: the one source of randomness, in plain Python.

The engine's random source (`core.randomness`) and the simulated runs (`simulation`) take their numbers here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import log1p

Key = tuple[str, int, int]
"""(purpose, position, index): which decision this is. A run never decides twice with the same key."""

RACE = "race"
"""purpose of keys (`RACE`, position, lane) whose noise is a time for every token instead of one number for all"""
RACES = "races"
"""purpose of keys (`RACES`, position, lanes): a token's time is the smallest that it has in the first so many lanes"""
MOST_LANES = 32
_MASK = (1 << 64) - 1


def _mix(x: int) -> int:
    """SplitMix64 finaliser (Steele, Lea, Flood 2014)."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def uniform(seed: int, key: Key) -> float:
    """The 53-bit uniform in [0, 1) that belongs to (seed, key); the same on every machine and device."""
    purpose, position, index = key
    return uniforms(seed, purpose, position, (index,))[0]


def uniforms(seed: int, purpose: str, position: int, indices: Iterable[int]) -> list[float]:
    """Those of the keys (purpose, position, index) for each index."""
    state = _mix(stream(seed, purpose) ^ (position & _MASK))
    return [(_mix(state ^ (index & _MASK)) >> 11) * 2.0**-53 for index in indices]


@lru_cache(maxsize=256)
def stream(seed: int, purpose: str) -> int:
    """What the keys of one purpose have in common; a run has a handful of them and asks for each all the time."""
    state = _mix(seed & _MASK)
    for byte in purpose.encode():
        state = _mix(state ^ byte)
    return state


def race_purpose(lane: int) -> str:
    """Purpose of the numbers behind the times of a lane, whose index is the token."""
    return f"{RACE}.{lane}"


def race_time(seed: int, key: Key, token: int) -> float:
    """E of a token in the race of this key: exponential with rate 1, never 0, independent between tokens.

    The token with the smallest E/p wins, and does so with probability p: no two distributions change its E, so that
    similar ones have mostly the same winner. Daliri et al. (2408.07978); Gumbel-max in another scale. In several lanes
    (`RACES`) E has the rate of their number for every token alike, so that a token still wins with probability p.
    """
    purpose, position, lane = key
    if purpose == RACES:
        return min(race_time(seed, (RACE, position, other), token) for other in range(lane))
    return -log1p(-(uniform(seed, (race_purpose(lane), position, token)) + 2.0**-54))

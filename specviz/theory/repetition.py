"""How much a text repeats itself: the share of its n-grams of tokens that came before in the same text.

Drafters that copy win where a text loops, whatever the method, so every bench prints this number beside its speeds and
keeps the texts above `MOST` apart from the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from specviz.protocol.sweeps.points import SweepPoint

NGRAM = 4
"""tokens"""
MOST = 0.25
"""texts that repeat more than this share are a class of their own, and in no headline"""


def repetition(ids: Sequence[Hashable], n: int = NGRAM) -> float:
    """Share of the n-grams that occurred before in the same text: 1 - different / all; 0 for a text shorter than n.

    `ids`: the generated tokens alone, the prompt left out.
    """
    grams = [tuple(ids[index : index + n]) for index in range(len(ids) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def repeats(share: float) -> bool:
    """Whether a text with this share belongs to the class of those that repeat themselves."""
    return share > MOST


def repeats_itself(point: SweepPoint) -> bool:
    """Whether the run belongs to the class of texts that repeat themselves: its own output, or the one it is compared
    with. Where that was not counted it does not."""
    return any(share is not None and repeats(share) for share in (point.repetition, point.plain_repetition))


def varied(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """The runs whose texts do not repeat themselves: what headlines are taken from."""
    return [point for point in points if not repeats_itself(point)]

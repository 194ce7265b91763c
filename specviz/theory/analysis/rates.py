"""Rates with their intervals, and rows of a table of rates.

Place in the flow: every table of the analysis is made of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from specviz.theory.analysis.facts import Candidate

LEVEL = 0.95
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of counted cases with its Wilson score interval (Wilson 1927) at 95 %.

    It takes the cases for independent. Those of one text are not, so the true uncertainty is rather larger.
    """

    hits: int
    of: int
    value: float | None
    """None: no cases"""
    low: float | None
    high: float | None


def rate(hits: int, of: int) -> Rate:
    """`hits` of `of` cases."""
    if of == 0:
        return Rate(0, 0, None, None, None)
    low, high = _wilson(hits, of)
    return Rate(hits, of, hits / of, low, high)


@lru_cache(maxsize=65536)
def _wilson(hits: int, of: int) -> tuple[float, float]:
    from scipy.stats import binomtest  # takes long to import

    found = binomtest(hits, of).proportion_ci(LEVEL, method="wilson")
    return float(found.low), float(found.high)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: which cases, and how many of them."""

    label: str
    rate: Rate


def rows(
    cases: Iterable[T], label: Callable[[T], str | None], hit: Callable[[T], bool], order: Sequence[str] = ()
) -> tuple[Row, ...]:
    """Cases grouped by label, those labelled None left out; in the given order, else as they first appear."""
    counts: dict[str, list[int]] = {name: [0, 0] for name in order}
    for case in cases:
        name = label(case)
        if name is not None:
            count = counts.setdefault(name, [0, 0])
            count[0] += hit(case)
            count[1] += 1
    return tuple(Row(name, rate(*count)) for name, count in counts.items() if count[1])


def accepted(candidate: Candidate) -> bool:
    return candidate.accepted


@dataclass(frozen=True, slots=True)
class Edges:
    """Bins from one edge up to, not including, the next; the last one has no end."""

    edges: tuple[float, ...]
    unit: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """`0–0.5`, `0.5–1`, …, `6+`; of whole numbers `1`, `2–3`."""
        inner = [self._between(low, high) for low, high in zip(self.edges, self.edges[1:], strict=False)]
        return (*inner, f"{self.edges[-1]:g}+{self.unit}")

    def label(self, value: float | None) -> str | None:
        """None where there is no value, or it lies below the first edge."""
        if value is None or value < self.edges[0]:
            return None
        return self.labels[sum(edge <= value for edge in self.edges) - 1]

    def _between(self, low: float, high: float) -> str:
        if isinstance(low, int) and isinstance(high, int):
            return f"{low}{self.unit}" if high == low + 1 else f"{low}–{high - 1}{self.unit}"
        return f"{low:g}–{high:g}{self.unit}"


RANKS = Edges((1, 2, 3, 4, 6, 11))
POSITIONS = Edges((0, 16, 32, 64, 128, 256))
BITS = Edges((0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0), " bits")

"""Rates with their intervals, and rows of a table of rates: every table of the analysis is made of these. And how well
the drafter knows the target: is it as sure as it is right, and what its distributions promise.

The latter is counted over places of the text alone, whatever their verdicts: a candidate that was never tested still
has a p.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
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


TENTHS = Edges(tuple(round(0.1 * tenth, 1) for tenth in range(10)))


@dataclass(frozen=True, slots=True)
class Bin:
    """Candidates that the drafter gave about the same probability."""

    label: str
    count: int
    mean_draft: float
    """mean q"""
    mean_target: float
    """mean p after the sampling transform: at temperature 0 the share that is the target's own choice"""
    accepted: Rate
    """of those among them that were tested"""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The reliability diagram of a drafter."""

    bins: tuple[Bin, ...]
    error: float
    """expected calibration error: mean |mean q - mean p| of the bins, weighted by their counts (Guo et al. 2017)"""
    candidates: int


@dataclass(frozen=True, slots=True)
class Distances:
    """Means over the places at which both distributions are known."""

    places: int
    kl_bits: float | None
    """KL(target‖draft) of the places where it is finite"""
    infinite: int
    """places where the draft gives nothing to a token that the target can say"""
    total_variation: float
    overlap: float
    """mean sum of min(p, q) of the models' own beliefs"""
    target_bits: float
    draft_bits: float
    by_overlap: tuple[Row, ...]
    """acceptance of the first candidate, by the overlap of the beliefs at its place"""
    expected: float | None
    """mean sum of min(p, q) after the sampling transform where a candidate drawn from q was tested first: the
    acceptance that theory promises; None at temperature 0 and where nothing was drawn"""
    measured: Rate
    """the acceptance of those same candidates"""


def calibration(candidates: Sequence[Candidate]) -> Calibration | None:
    """None where no candidate has a probability of its drafter."""
    known = [(candidate, candidate.draft_prob, candidate.target_prob) for candidate in candidates if candidate.in_text]
    groups: dict[str, list[tuple[Candidate, float, float]]] = {name: [] for name in TENTHS.labels}
    for candidate, q, p in known:
        if q is not None and p is not None:
            groups[TENTHS.label(min(1.0, q)) or TENTHS.labels[0]].append((candidate, q, p))
    bins = [_bin(label, some) for label, some in groups.items() if some]
    total = sum(of_bin.count for of_bin in bins)
    if total == 0:
        return None
    error = sum(of_bin.count * abs(of_bin.mean_draft - of_bin.mean_target) for of_bin in bins) / total
    return Calibration(tuple(bins), error, total)


def _bin(label: str, some: Sequence[tuple[Candidate, float, float]]) -> Bin:
    tested = [candidate for candidate, _, _ in some if candidate.tested]
    hits = rate(sum(candidate.accepted for candidate in tested), len(tested))
    return Bin(label, len(some), fmean(q for _, q, _ in some), fmean(p for _, _, p in some), hits)


def distances(candidates: Sequence[Candidate]) -> Distances | None:
    """None where no place has both distributions: point masses, or traces before format 1.1."""
    places = [candidate for candidate in candidates if candidate.in_text and candidate.first]
    known = [candidate for candidate in places if candidate.belief is not None and candidate.belief.overlap is not None]
    beliefs = [candidate.belief for candidate in known if candidate.belief is not None]
    if not beliefs:
        return None
    finite = [belief.kl_bits for belief in beliefs if belief.kl_bits is not None]
    overlap = fmean(belief.overlap or 0.0 for belief in beliefs)
    tested = [candidate for candidate in known if candidate.tested]
    drawn = [candidate for candidate in tested if candidate.kind != "point_mass" and candidate.judged is not None]
    promised = [candidate.judged.overlap or 0.0 for candidate in drawn if candidate.judged is not None]
    return Distances(
        places=len(beliefs),
        kl_bits=fmean(finite) if finite else None,
        infinite=len(beliefs) - len(finite),
        total_variation=1 - overlap,
        overlap=overlap,
        target_bits=fmean(belief.target_bits for belief in beliefs),
        draft_bits=fmean(belief.draft_bits or 0.0 for belief in beliefs),
        by_overlap=rows(
            tested,
            lambda candidate: TENTHS.label(candidate.belief.overlap if candidate.belief else None),
            accepted,
            TENTHS.labels,
        ),
        expected=fmean(promised) if promised else None,
        measured=rate(sum(candidate.accepted for candidate in drawn), len(drawn)),
    )

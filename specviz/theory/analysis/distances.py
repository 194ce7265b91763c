"""How well the drafter knows the target: is it as sure as it is right, and what its distributions promise.

Counted over places of the text alone, whatever their verdicts: a candidate that was never tested still has a p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from specviz.theory.analysis.facts import Candidate
from specviz.theory.analysis.rates import Edges, Rate, Row, accepted, rate, rows

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

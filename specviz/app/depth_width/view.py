"""Depth against width as a chart and a table can draw it: one number at one γ, a line for each family.

Reads the shipped result; no model runs. One set of networks, or both beside one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz.app.parts.shipped_file import read_shipped
from specviz.errors import OptionError
from specviz.protocol import depth_widths
from specviz.protocol.depth_widths import DISTILLED, FAMILIES, TEXT, DepthWidths, Measured
from specviz.protocol.sweeps.intervals import Estimate
from specviz.resources import ROOT
from specviz.theory.depth_widths import Modelled, best, correlations, finding, modelled, together

FILE = ROOT / "studies" / "depth_width.json"


@dataclass(frozen=True, slots=True)
class Number:
    """What is drawn."""

    name: str
    label: str
    """as it is chosen"""
    axis: str
    across: str = "layers of the drafter"


THROUGHPUT = Number("throughput", "throughput", "tokens per second of processor time")
MATCHED = Number("matched", "matched tokens", "drafted tokens matched per round (replayed)")
SHARE = Number("share", "share of drafting", "share of the round spent drafting (modelled)")
QUALITY = Number("quality", "perplexity against throughput", "modelled tokens per second", "perplexity of the drafter")
NUMBERS = (THROUGHPUT, MATCHED, SHARE, QUALITY)
BOTH = "both"
NOT_RUN = f"Of {TEXT} nothing was timed or run: its times are those of the same shapes."


@dataclass(frozen=True, slots=True)
class Point:
    """One network."""

    name: str
    across: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """A family of a set; measured points of it are a line of their own."""

    name: str
    family: str
    points: tuple[Point, ...]
    measured: bool = False
    second: bool = False
    """whether it stands beside the same family of the other set"""


@dataclass(frozen=True, slots=True)
class Row:
    """One network in the table."""

    modelled: Modelled
    of: str
    """its set"""
    measured: Measured | None
    """in the engine at this γ"""


@dataclass(frozen=True, slots=True)
class DepthWidthView:
    """One number at one γ, of one set or both."""

    number: Number
    gamma: int
    lines: tuple[Line, ...]
    rows: tuple[Row, ...]
    verdict: str
    """whether the paper's finding shows, at the networks' best γ"""
    sentence: str
    """of what is drawn"""
    plain: Estimate
    """plain decoding's measured tokens per second"""
    origin: str


def shipped(file: Path = FILE) -> DepthWidths | None:
    """The shipped result; None where there is none. A damaged one is only logged: the page can do without."""
    return read_shipped(file, depth_widths.read)


def opening_gamma(study: DepthWidths) -> int:
    """The γ at which most networks are at their best, the shortest of equals."""
    wanted = [best(study, one).gamma for one in study.networks]
    return max(sorted({*wanted}), key=wanted.count)


def sets_of(study: DepthWidths) -> tuple[str, ...]:
    """What can be chosen: the sets of a study, and both where there are two."""
    names = tuple(study.sets())
    return (*names, BOTH) if len(names) > 1 else names


def depth_width_view(study: DepthWidths, number: str, gamma: int, of: str = DISTILLED) -> DepthWidthView:
    """Raises OptionError for a number, a γ or a set that was not measured."""
    chosen = next((one for one in NUMBERS if one.name == number), None)
    if chosen is None:
        raise OptionError(f"'{number[:40]}' was not measured; choose {', '.join(one.name for one in NUMBERS)}.")
    if of not in sets_of(study):
        raise OptionError(f"there is no set '{of[:40]}' in this study; choose {', '.join(sets_of(study))}.")
    drawn = {name: _rows(own, gamma, name) for name, own in study.sets().items() if of in (name, BOTH)}
    lines = [_line(rows, family, chosen, of == BOTH) for rows in drawn.values() for family in FAMILIES]
    if chosen is THROUGHPUT and of != BOTH:
        lines += [_measured(drawn[of], family) for family in FAMILIES]
    said = _said(drawn[of], chosen) if of != BOTH else _said_of_both(drawn[DISTILLED], drawn[TEXT], chosen)
    return DepthWidthView(
        chosen,
        gamma,
        tuple(one for one in lines if one.points),
        tuple(row for rows in drawn.values() for row in rows),
        together(study) if of == BOTH else finding(study.sets()[of])[-1],
        said if of == DISTILLED else f"{said} {NOT_RUN}",
        study.plain_tokens_per_s,
        " ".join([study.origin, *([] if study.text_set is None else [f"{TEXT}: {study.text_set.origin}"])]),
    )


def _rows(study: DepthWidths, gamma: int, name: str) -> tuple[Row, ...]:
    ran = {one.name: one for one in study.measured if one.gamma == gamma}
    return tuple(Row(modelled(study, one, gamma), name, ran.get(one.name)) for one in study.networks)


def _line(rows: Sequence[Row], family: str, number: Number, both: bool) -> Line:
    value: Callable[[Modelled], Estimate] = {
        THROUGHPUT: lambda one: one.tokens_per_s,
        MATCHED: lambda one: one.matched,
        SHARE: lambda one: Estimate(one.share, one.share, one.share),
        QUALITY: lambda one: one.tokens_per_s,
    }[number]
    own = [row.modelled for row in rows if row.modelled.network.family == family]
    across = [one.network.perplexity if number is QUALITY else float(one.network.layers) for one in own]
    points = (Point(one.network.name, place, *value(one)) for one, place in zip(own, across, strict=True))
    word = ", modelled" if number in (THROUGHPUT, QUALITY) else ""
    own_set = f" {rows[0].of}" if both else ""
    return Line(f"{family}{own_set}{word}", family, tuple(points), second=both and rows[0].of == TEXT)


def _measured(rows: Sequence[Row], family: str) -> Line:
    found = [
        Point(row.measured.name, float(row.modelled.network.layers), *row.measured.tokens_per_s)
        for row in rows
        if row.measured is not None and row.modelled.network.family == family
    ]
    return Line(f"{family}, measured", family, tuple(found), measured=True)


def _said_of_both(first: Sequence[Row], second: Sequence[Row], number: Number) -> str:
    gamma = first[0].modelled.gamma
    found = [[row.modelled for row in rows] for rows in (first, second)]
    if number is QUALITY:
        seen = correlations([one for rows in found for one in rows])
        if seen.perplexity is None or seen.step is None:
            return f"At γ = {gamma} too few networks differ for a correlation."
        return (
            f"At γ = {gamma}, over both sets, throughput's rank correlation is {seen.perplexity:+.2f} with perplexity, "
            f"{seen.step:+.2f} with the time of a drafting step."
        )
    if number is SHARE:
        return "The share of drafting is one for both sets: it follows from times alone."
    pairs = [(one.matched.value, other.matched.value) for one, other in zip(*found, strict=True)]
    (low, high), (lowest, highest) = ((min(own), max(own)) for own in zip(*pairs, strict=True))
    return (
        f"At γ = {gamma} networks match {low:.2f} to {high:.2f} tokens a round when {DISTILLED} and {lowest:.2f} to "
        f"{highest:.2f} by {TEXT}; of two of one shape the {DISTILLED} one matches more in "
        f"{sum(one > other for one, other in pairs)} of {len(pairs)}."
    )


def _said(rows: Sequence[Row], number: Number) -> str:
    gamma = rows[0].modelled.gamma
    first, last = rows[0].modelled, [row for row in rows if row.modelled.network.family == "blocks"][-1].modelled
    if number is QUALITY:
        seen = correlations([row.modelled for row in rows])
        if seen.perplexity is None or seen.step is None:
            return f"At γ = {gamma} too few networks differ for a correlation."
        return (
            f"At γ = {gamma} throughput's rank correlation is {seen.perplexity:+.2f} with perplexity, {seen.step:+.2f} "
            "with the time of a drafting step."
        )
    if number is SHARE:
        return (
            f"At γ = {gamma} drafting takes {first.share:.0%} of a round with {first.network.name} and "
            f"{last.share:.0%} with {last.network.name}: the elasticity of throughput to the drafter's step time."
        )
    if number is MATCHED:
        return (
            f"At γ = {gamma}, {last.network.name} matches {last.matched.value:.2f} tokens a round; to be as fast as "
            f"{first.network.name}, which matches {first.matched.value:.2f}, it would have to match {last.needed:.2f}"
            f"{', more than are drafted' if last.needed > gamma else ''}."
        )
    return (
        f"At γ = {gamma} the model says {first.tokens_per_s.value:.0f} tokens/s for {first.network.name} "
        f"({first.speedup:.2f} times plain decoding) and {last.tokens_per_s.value:.0f} for {last.network.name}."
    )

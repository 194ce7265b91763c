"""Depth against width as a chart and a table can draw it: one number at one γ, a line for each family.

Reads the shipped result; no model runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz.app.parts.shipped_file import read_shipped
from specviz.errors import OptionError
from specviz.protocol import depth_widths
from specviz.protocol.depth_widths import FAMILIES, DepthWidths, Measured
from specviz.protocol.sweeps.intervals import Estimate
from specviz.resources import ROOT
from specviz.theory.depth_widths import Modelled, best, correlations, finding, modelled

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
    """A family; measured points of it are a line of their own."""

    name: str
    points: tuple[Point, ...]
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One network in the table."""

    modelled: Modelled
    measured: Measured | None
    """in the engine at this γ"""


@dataclass(frozen=True, slots=True)
class DepthWidthView:
    """One number at one γ."""

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
    return read_shipped(file, depth_widths.read, "the recorded study of depth against width")


def opening_gamma(study: DepthWidths) -> int:
    """The γ at which most networks are at their best, the shortest of equals."""
    wanted = [best(study, one).gamma for one in study.networks]
    return max(sorted({*wanted}), key=wanted.count)


def depth_width_view(study: DepthWidths, number: str, gamma: int) -> DepthWidthView:
    """Raises OptionError for a number or a γ that was not measured."""
    chosen = next((one for one in NUMBERS if one.name == number), None)
    if chosen is None:
        raise OptionError(f"'{number[:40]}' was not measured; choose {', '.join(one.name for one in NUMBERS)}.")
    ran = {one.name: one for one in study.measured if one.gamma == gamma}
    rows = tuple(Row(modelled(study, one, gamma), ran.get(one.name)) for one in study.networks)
    lines = [_line(rows, family, chosen) for family in FAMILIES]
    if chosen is THROUGHPUT:
        lines += [_measured(rows, family) for family in FAMILIES]
    return DepthWidthView(
        chosen,
        gamma,
        tuple(one for one in lines if one.points),
        rows,
        finding(study)[-1],
        _said(rows, chosen),
        study.plain_tokens_per_s,
        study.origin,
    )


def _line(rows: Sequence[Row], family: str, number: Number) -> Line:
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
    return Line(f"{family}{word}", tuple(points))


def _measured(rows: Sequence[Row], family: str) -> Line:
    found = [
        Point(row.measured.name, float(row.modelled.network.layers), *row.measured.tokens_per_s)
        for row in rows
        if row.measured is not None and row.modelled.network.family == family
    ]
    return Line(f"{family}, measured", tuple(found), measured=True)


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

"""What the study of depth against width says and shows: a number at one γ, a line for each family; all tables.

One set of networks, or both sets. Place in the flow: the page, the documentation's tables and `specviz
study` follow from `STUDY`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from specviz.errors import OptionError
from specviz.protocol.sweeps.intervals import Estimate
from specviz.studies.chart import Axis, Chart, Level, Panel, Series
from specviz.studies.depth_width.findings import Modelled, best, correlations, finding, modelled, together
from specviz.studies.depth_width.networks import DISTILLED, FAMILIES, TEXT, DepthWidths, Measured, problems
from specviz.studies.depth_width.tables import markdown
from specviz.studies.study import (
    NICE,
    STUDIES,
    THREADS,
    Choice,
    Codec,
    Flag,
    Remade,
    Slider,
    Study,
    Table,
    View,
    count,
    work_folder,
)


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
class Row:
    """One network in the table."""

    modelled: Modelled
    of: str
    """its set"""
    measured: Measured | None
    """in the engine at this γ"""


ASIDE = 0.05
"""by which measured points stand aside from their layers, so that their intervals do not hide the modelled ones"""
SECOND = 2
"""marks further are those of the second set"""


def opening_gamma(study: DepthWidths) -> int:
    """The γ at which most networks are at their best, the shortest of equals."""
    wanted = [best(study, network).gamma for network in study.networks]
    return max(sorted({*wanted}), key=wanted.count)


def sets_of(study: DepthWidths) -> tuple[str, ...]:
    """What can be chosen: the sets of a study, and both where there are two."""
    names = tuple(study.sets())
    return (*names, BOTH) if len(names) > 1 else names


def choices(study: DepthWidths) -> tuple[Choice, Slider, Choice]:
    gammas = study.gammas
    return (
        Choice("number", "number", [(number.label, number.name) for number in NUMBERS], kind="dropdown", min_width=220),
        Slider("gamma", "γ, tokens drafted per round", gammas[0], gammas[-1], opening_gamma(study), min_width=220),
        Choice("set", "learnt by", [(name, name) for name in sets_of(study)], min_width=220),
    )


def view(study: DepthWidths, number: str, gamma: int, learnt: str = DISTILLED) -> View:
    """Raises OptionError for a number, a γ or a set that was not measured."""
    chosen = next((one for one in NUMBERS if one.name == number), None)
    if chosen is None:
        raise OptionError(f"'{number[:40]}' was not measured; choose {', '.join(one.name for one in NUMBERS)}.")
    if learnt not in sets_of(study):
        raise OptionError(f"there is no set '{learnt[:40]}' in this study; choose {', '.join(sets_of(study))}.")
    drawn = {name: rows_of(own, gamma, name) for name, own in study.sets().items() if learnt in (name, BOTH)}
    if learnt == BOTH:
        verdict, said = together(study), _said_of_both(drawn[DISTILLED], drawn[TEXT], chosen)
    else:
        verdict, said = finding(study.sets()[learnt])[-1], _said(drawn[learnt], chosen)
    remark = "" if learnt == DISTILLED else f" {NOT_RUN}"
    timed = [f"Times and runs: {study.times_origin}"] if study.times_origin else []
    origins = [study.origin, *timed, *([] if study.text_set is None else [f"{TEXT}: {study.text_set.origin}"])]
    chart = _chart(study, chosen, _lines(drawn, chosen))
    return View(f"{verdict} {said}{remark}", chart, (_table(drawn, gamma),), " ".join(origins))


def rows_of(study: DepthWidths, gamma: int, name: str) -> tuple[Row, ...]:
    """Every network of a set at one γ. Raises OptionError for a γ that was not measured."""
    ran = {one.name: one for one in study.measured if one.gamma == gamma}
    return tuple(Row(modelled(study, network, gamma), name, ran.get(network.name)) for network in study.networks)


def _lines(drawn: Mapping[str, Sequence[Row]], number: Number) -> list[Series]:
    """A line for each family of each set, modelled or replayed; where one set's throughput is drawn, also what was
    measured of it. A family has a colour; of its second set the marks are others and the line is dotted."""
    value: Callable[[Modelled], Estimate] = {
        THROUGHPUT: lambda one: one.tokens_per_s,
        MATCHED: lambda one: one.matched,
        SHARE: lambda one: Estimate(one.share, one.share, one.share),
        QUALITY: lambda one: one.tokens_per_s,
    }[number]
    word = ", modelled" if number in (THROUGHPUT, QUALITY) else ""
    both, lines = len(drawn) > 1, list[Series]()
    for name, rows in drawn.items():
        for index, (family, own) in enumerate(_by_family(rows)):
            points = [
                (
                    found.network.name,
                    found.network.perplexity if number is QUALITY else float(found.network.layers),
                    value(found),
                )
                for found in (row.modelled for row in own)
            ]
            mode: Literal["markers+text", "lines+markers"] = "markers+text" if number is QUALITY else "lines+markers"
            second = both and name == TEXT
            line = _line(f"{family}{f' {name}' if both else ''}{word}", index, points, mode)
            lines.append(replace(line, mark=index + SECOND * second, dash="dot" if second else ""))
    if number is THROUGHPUT and not both:
        (rows,) = drawn.values()
        lines += [
            line for index, (family, own) in enumerate(_by_family(rows)) for line in _measured_line(index, family, own)
        ]
    return lines


def _measured_line(index: int, family: str, rows: Sequence[Row]) -> Iterator[Series]:
    """Hollow marks alone, a little aside; nothing where nothing ran."""
    aside = 1 - ASIDE if index % 2 else 1 + ASIDE
    points = [
        (row.measured.name, row.modelled.network.layers * aside, row.measured.tokens_per_s)
        for row in rows
        if row.measured is not None
    ]
    if points:
        yield replace(_line(f"{family}, measured", index, points, "markers"), hollow=True, size=11)


def _line(
    name: str,
    index: int,
    points: Sequence[tuple[str, float, Estimate]],
    mode: Literal["markers", "lines+markers", "markers+text"],
) -> Series:
    """`points`: network, where it stands, its value. Numbers at marks are layers."""
    names, across, values = zip(*points, strict=True)
    has_intervals = any(value.high > value.low for value in values)
    return Series(
        name, across, [value.value for value in values], index, mode,
        low=[value.low for value in values] if has_intervals else (),
        high=[value.high for value in values] if has_intervals else (),
        hover="<br>%{customdata[0]}: %{y:.3g}", extra=[[network] for network in names],
        texts=[network.partition("x")[0] for network in names], text_below=index % 2 == 1, size=8, error_width=1,
    )  # fmt: skip


def _by_family(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    found = [(family, [row for row in rows if row.modelled.network.family == family]) for family in FAMILIES]
    return [(family, own) for family, own in found if own]


def _chart(study: DepthWidths, number: Number, lines: Sequence[Series]) -> Chart:
    """Layers doubling from left to right, or perplexity; plain decoding as a dotted line where throughput was
    measured."""
    layers = [] if number is QUALITY else lines[0].x
    across = Axis(number.across, log=number is not QUALITY, ticks=[(layer, f"{layer:.0f}") for layer in layers])
    up = Axis(number.axis, from_zero=True, form=".0%" if number is SHARE else "")
    plain = [Level(study.plain_tokens_per_s.value, "plain, measured")] if any(line.hollow for line in lines) else []
    return Chart(across, (Panel(lines, up),), levels=plain)


def _table(drawn: Mapping[str, Sequence[Row]], gamma: int) -> Table:
    """Every network at the chosen γ, of both sets side by side. *needed*: matched tokens with which it were as fast as
    its family's shallowest."""
    if len(drawn) > 1:
        pairs = zip(drawn[DISTILLED], drawn[TEXT], strict=True)
        paired = [_paired(one.modelled, other.modelled) for one, other in pairs]
        return Table(PAIRED, paired, f"γ = {gamma}; tokens/s: modelled")
    title = f"γ = {gamma}; needed: matched tokens to be as fast as the shallowest of the family"
    (rows,) = drawn.values()
    return Table(COLUMNS, [_row(row) for row in rows], title)


def _said_of_both(first: Sequence[Row], second: Sequence[Row], number: Number) -> str:
    gamma = first[0].modelled.gamma
    found = [[row.modelled for row in rows] for rows in (first, second)]
    if number is QUALITY:
        seen = correlations([row for rows in found for row in rows])
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


def _paired(one: Modelled, other: Modelled) -> list[str]:
    network = one.network
    return [
        f"{network.family} {network.name}",
        f"{network.step.median_ms:.2f}",
        f"{network.perplexity:.1f}",
        f"{other.network.perplexity:.1f}",
        f"{one.matched.value:.2f}",
        f"{other.matched.value:.2f}",
        f"{one.tokens_per_s.value:.0f}",
        f"{other.tokens_per_s.value:.0f}",
    ]


def _row(row: Row) -> list[str]:
    one, network = row.modelled, row.modelled.network
    measured = "–" if row.measured is None else f"{row.measured.tokens_per_s.value:.0f}"
    return [
        f"{network.family} {network.name}",
        f"{network.step.median_ms:.2f}",
        f"{one.matched.value:.2f}",
        f"{one.needed:.2f}",
        f"{one.tokens_per_s.value:.0f}",
        measured,
        f"{one.share:.0%}",
    ]


INTRO = (
    "Should a drafter be deep or wide? Two families of `small_model`, 1 to 16 layers: *blocks* have equally many "
    "parameters between embedding and head, *whole* as the network runs. All learnt from the same tokens. "
    "**Recorded**, on the machine named below: *replayed* is counted on texts that the target wrote once, *modelled* "
    "is (matched + 1) / (γ t_d + t_v(γ + 1)) from measured times; *measured* is the engine itself. After "
    "[2402.01528](https://arxiv.org/abs/2402.01528); method: `docs/depth_width.md`."
)
TWO_SETS = (
    "Each network was trained twice from the same texts, {written:.0%} of which hold what the target wrote: "
    f"*{DISTILLED}* from the target, and by *{TEXT}* to the text's next token. The times are of the distilled ones; "
    "the others have the same shapes, and did not run in the engine."
)
PAIRED = (
    "network",
    "step, ms",
    *(
        f"{number}, {learnt}"
        for number in ("perplexity", "matched", "tokens/s")
        for learnt in (DISTILLED, "cross entropy")
    ),
)
"""of both sets side by side, their throughput modelled"""
COLUMNS = ("network", "step, ms", "matched", "needed", "modelled tokens/s", "measured", "drafting")


def _remark(study: DepthWidths) -> str:
    return "" if study.text_set is None else TWO_SETS.format(written=study.text_set.written_share)


STUDY = STUDIES.add(
    Study(
        name="depth_width",
        home=__package__,
        summary="train small models of six depths at equal size, and measure what depth costs a drafter and what it "
        "brings",
        question="Deep or wide?",
        order=20,
        intro=INTRO,
        remark=_remark,
        codec=Codec(
            DepthWidths, "study of depth against width", None, "specviz study depth-width --write", indented=True,
            problems=problems,
        ),
        file="studies/depth_width.json",
        page="depth_width.md",
        section="depth width study",
        choices=choices,
        view=view,
        tables=markdown,
        flags=(
            Flag(
                "--minutes", "most minutes of training; the second set then reads as many tokens (default %(default)s)",
                60.0, float, "M",
            ),
            count("--tokens", 20_000_000, "most tokens for each network"),
            count("--prompts", 3, "prompts of each family to replay on"),
            count("--repeats", 1, "times every prompt is run"),
            work_folder("depth-width", "texts, checkpoints and trained networks; the training goes on from it"),
            THREADS,
            NICE,
            Flag(
                "--replay",
                "train, time and run nothing: replay the shipped two on what the target wrote in these traces; "
                "where none is named, in the shipped recordings",
                None, Path, "TRACE", several=True, alone=True,
            ),
            Flag(
                "--train",
                "time, replay and run nothing: train the first set alone; the whole study then goes on from it",
                alone=True,
            ),
            Flag(
                "--second-set",
                "time and run nothing: train and replay the second set alone and add it to the kept result of the "
                "first, whose finished training the work folder holds",
                alone=True,
            ),
            Flag(
                "--times",
                "train and replay nothing: time the shapes of the kept result anew, and run the shipped two",
                alone=True,
            ),
        ),
        remade=Remade(
            "what depth costs a drafter and what it brings", 48, ("--minutes", "42"), rests_on=("target",)
        ),
    )
)  # fmt: skip

"""Depth against width as the page and the documentation show it: a number at one γ, a line for each family; all tables.

Reads the result; no model runs. One set of networks, or both beside one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz.bench.core.report import markdown_table, or_dash
from specviz.errors import OptionError
from specviz.protocol.sweeps.intervals import Estimate
from specviz.resources import ROOT, without
from specviz.studies.depth_width import result as depth_widths
from specviz.studies.depth_width.findings import Modelled, best, by_set, correlations, finding, modelled, together
from specviz.studies.depth_width.result import DISTILLED, FAMILIES, TEXT, DepthWidths, Measured, Network, TextSet, Times

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
    return without(file, depth_widths.read, None) if file.is_file() else None


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
        lines += [_measured_line(drawn[of], family) for family in FAMILIES]
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


def _measured_line(rows: Sequence[Row], family: str) -> Line:
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


def markdown(study: DepthWidths) -> str:
    """All tables, what is modelled and what measured, and the command."""
    first = f"**The first set, {DISTILLED}**, which all tables up to the second set's are of"
    parts = [*([] if study.text_set is None else [together(study), first]), *finding(study), _what(study)]
    for family, meaning in FAMILIES.items():
        parts += [f"**Family {family}**: {meaning}.", _networks(study.family(family))]
    parts += [
        f"Tokens matched per round by γ, *replayed* on {study.replayed_tokens:,} tokens that the target wrote once "
        f"after {study.replayed_prompts} prompts, greedy [95 % over resampled prompts]; and what a deeper network "
        "would have to match to be as fast as its family's shallowest.",
        _matched(study),
        "*Modelled* throughput at each network's best γ, (matched + 1) / (γ t_d + t_v(γ + 1)) from the medians above, "
        "and the share of the round spent drafting, which is the elasticity of throughput to the step time.",
        _throughput(study),
        f"*Measured* in the engine, by the processor's time of whole rounds, beside plain decoding of the same prompts "
        f"in the same run ({study.plain_tokens_per_s.value:.0f} tokens/s "
        f"[{study.plain_tokens_per_s.low:.0f}–{study.plain_tokens_per_s.high:.0f}]); the model leaves out all but the "
        "passes.",
        _measured(study),
        f"Target's pass by rows: {', '.join(f'{rows}: {_ms(times)}' for rows, times in study.passes.items())} ms.",
        f"{study.origin}{_load(study)} Made by `{study.command}`.",
        *second_set(study),
    ]
    return "\n\n".join(parts)


def _what(study: DepthWidths) -> str:
    return (
        f"Every network learnt from the same {study.tokens:,} tokens (`{study.loss}`, same texts, places and seed). "
        f"Perplexity is per token of held-out text of the corpus (the target's: {study.target_perplexity:.1f}); "
        "agreement and α are on held-out text of the target. A step and the target's passes are processor "
        f"milliseconds, median [quartiles] of {study.repeats} rounds in turns."
    )


def _networks(own: Sequence[Network]) -> str:
    head = ("network", "blocks", "as it runs", "trained", "perplexity", "agreement", "α", "step, ms")
    rows = [
        [
            f"`{one.name}`",
            *(
                f"{count / 1e6:.2f} M"
                for count in (one.block_parameters, one.running_parameters, one.trained_parameters)
            ),
            f"{one.perplexity:.1f}",
            f"{one.agreement:.3f}",
            f"{one.acceptance:.3f}",
            _ms(one.step),
        ]
        for one in own
    ]
    return markdown_table(head, rows)


def _matched(study: DepthWidths) -> str:
    gammas = [gamma for gamma in SHOWN if gamma in study.gammas]
    rows = []
    for one in study.networks:
        cells = [
            f"{found.value:.2f} [{found.low:.2f}–{found.high:.2f}]" for found in (one.matched[g - 1] for g in gammas)
        ]
        needed = [f"{modelled(study, one, gamma).needed:.2f}" for gamma in gammas]
        rows.append([f"{one.family} `{one.name}`", *cells, *needed])
    head = ("network", *(f"γ = {gamma}" for gamma in gammas), *(f"needed, γ = {gamma}" for gamma in gammas))
    return markdown_table(head, rows)


def _throughput(study: DepthWidths) -> str:
    rows = []
    for one in study.networks:
        found = best(study, one)
        low, high = found.tokens_per_s.low, found.tokens_per_s.high
        rows.append(
            [f"{one.family} `{one.name}`", str(found.gamma), f"{found.tokens_per_s.value:.0f} [{low:.0f}–{high:.0f}]",
             f"{found.speedup:.2f}", f"{found.share:.0%}"]
        )  # fmt: skip
    return markdown_table(("network", "best γ", "tokens/s", "× plain", "drafting"), rows)


def _measured(study: DepthWidths) -> str:
    by_name = {one.name: one for one in study.networks}
    rows = []
    for one in study.measured:
        value = modelled(study, by_name[one.name], one.gamma)
        speed, gain = one.tokens_per_s, one.speedup
        rows.append(
            [f"`{one.name}`", str(one.gamma), f"{speed.value:.0f} [{speed.low:.0f}–{speed.high:.0f}]",
             f"{value.tokens_per_s.value:.0f}", f"{gain.value:.2f} [{gain.low:.2f}–{gain.high:.2f}]",
             f"{value.speedup:.2f}", f"{one.matched:.2f}", f"{one.same_text} of {one.runs}"]
        )  # fmt: skip
    head = ("network", "γ", "tokens/s", "modelled", "× plain", "modelled", "matched", "same text")
    return markdown_table(head, rows)


def _ms(times: Times) -> str:
    return f"{times.median_ms:.2f} [{times.low_ms:.2f}–{times.high_ms:.2f}]"


def _load(study: DepthWidths) -> str:
    return "" if study.load is None else f" Load of the machine: {study.load:.1f}."


SHOWN = (1, 2, 4, 8)
"""γ of the tables"""


def second_set(study: DepthWidths) -> list[str]:
    """Paragraphs and tables; nothing where there is one set."""
    second = study.text_set
    if second is None:
        return []
    sets = by_set(study)
    return [
        f"**The second set, {TEXT}**",
        _what_second(study, second),
        "Rank correlations over a set's networks, each at its best γ, of throughput with step time and with "
        "perplexity, and of layers with perplexity:",
        _correlations(sets),
        f"The networks of {TEXT}; tokens per second are *modelled* from the times of the same shapes, those of "
        f"*{DISTILLED}* stand beside them, modelled likewise. Matched tokens are *replayed* [95 % over resampled "
        "prompts].",
        _second_networks(study, sets[DISTILLED], sets[TEXT]),
        f"The second set: {second.origin} Made by `{second.command}`.",
    ]


def _what_second(study: DepthWidths, second: TextSet) -> str:
    return (
        f"The same twelve shapes from the same batches, places, seed, optimiser and learning rates, {second.tokens:,} "
        f"tokens each, by cross entropy to the text's own next token (`{second.loss}`): the target is not asked. "
        f"{second.written_share:.0%} of those tokens stand in rows that the target had written behind beginnings of "
        "the corpus, as for the first set, so that this is no drafter that never met its target; the rest is the "
        "corpus'. Perplexity, agreement, α and matched tokens are measured as those of the first set, on the same "
        f"texts ({study.replayed_tokens:,} tokens after {study.replayed_prompts} prompts). **Nothing of this set was "
        "timed or run in the engine**: networks of one shape take one time, so step and passes are the first set's."
    )


def _correlations(sets: dict[str, list[Modelled]]) -> str:
    both = [one for found in sets.values() for one in found]
    rows = []
    for name, found in {**sets, "both": both}.items():
        seen = correlations(found)
        count = len({(one.network.name, one.network.perplexity) for one in found})
        rows.append([name, str(count), *(or_dash(one, "{:+.2f}") for one in (seen.step, seen.perplexity, seen.depth))])
    return markdown_table(("set", "networks", "step time", "perplexity", "layers and perplexity"), rows)


def _second_networks(study: DepthWidths, first: Sequence[Modelled], second: Sequence[Modelled]) -> str:
    gammas = [gamma for gamma in SHOWN if gamma in study.gammas]
    rows = []
    for beside, one in zip(first, second, strict=True):
        own = one.network
        matched = [own.matched[gamma - 1] for gamma in gammas]
        rows.append(
            [f"{own.family} `{own.name}`", f"{own.perplexity:.1f}", f"{own.agreement:.3f}", f"{own.acceptance:.3f}",
             *(f"{found.value:.2f} [{found.low:.2f}–{found.high:.2f}]" for found in matched), str(one.gamma),
             f"{one.tokens_per_s.value:.0f} [{one.tokens_per_s.low:.0f}–{one.tokens_per_s.high:.0f}]",
             f"{one.speedup:.2f}", f"{beside.tokens_per_s.value:.0f}"]
        )  # fmt: skip
    head = ("network", "perplexity", "agreement", "α", *(f"matched, γ = {gamma}" for gamma in gammas), "best γ",
            "tokens/s", "× plain", DISTILLED)  # fmt: skip
    return markdown_table(head, rows)

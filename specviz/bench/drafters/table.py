"""The rows of `specviz bench drafters`, each drafter overall and on every prompt family, and their report as Markdown.

Place in the flow: reads what the contest yielded for the entrants of `drafters/plan.py`. The report is kept as JSON
beside its page, read before a measurement that writes and written after it, so one drafter can be measured anew without
losing the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from specviz.bench.core.contest import ContestRun
from specviz.bench.core.report import DASH, Origin, markdown_table, or_dash, spread, value_of
from specviz.bench.core.rows import (
    NONE,
    Plain,
    Text,
    beside_plain,
    by_class,
    counted,
    engine_speed,
    over_prompts,
    row_statistics,
    texts,
    texts_table,
    whole_speed,
)
from specviz.bench.drafters.plan import Entrant
from specviz.errors import BenchError
from specviz.protocol.sweeps.points import BASELINE, Quartiles
from specviz.theory.rows import MOST, RowStatistics

NUMBERS = (
    "× plain, decoding",
    "× plain, whole call",
    "acceptance rate",
    "mean acceptance length",
    "MBSU",
    "nodes per target pass",
    "drafting, share of the round",
    "same output",
)


@dataclass(frozen=True, slots=True)
class DrafterReport:
    """Everything a reader needs to judge the numbers."""

    parts: tuple[Part, ...]
    """one per temperature"""
    absent: dict[str, str]
    """drafter → why it has no row"""
    origin: Origin
    later: dict[str, str]
    """drafter → when it was measured, of those that were not measured with all the others"""
    prompts: int
    warm_up_prompts: int
    """prompts behind a warm start"""
    repeats: int
    max_new_tokens: int
    temperatures: tuple[float, ...]
    """asked for; `parts` has those that were reached"""
    seed: int
    unequal: tuple[str, ...]
    """lossless drafters that wrote another text where the same one is asserted: greedily, in float32"""
    complete: bool
    """False: stopped before everything had run"""


def markdown(report: DrafterReport) -> str:
    """The fastest of every family; then at each temperature a table over all prompts, one per family and one over the
    texts that repeat themselves, the fastest in bold; each text's repetition; who did not run; where it comes from."""
    parts = [_winners(report)]
    for part in report.parts:
        for section in part.sections:
            parts += [f"**{section.family or 'All prompts'}, temperature {part.temperature:g}**", _table(section)]
        if part.repeating.rows:
            title = f"Texts that repeat more than {MOST:.0%} of their 4-grams, temperature {part.temperature:g}"
            parts += [f"**{title}**", _table(part.repeating)]
    parts += ["**The texts of plain decoding**", texts_table([(part.temperature, part.texts) for part in report.parts])]
    return _joined(report, parts)


def _winners(report: DrafterReport) -> str:
    """Family by family the fastest at each temperature, and how many different ones there are."""
    head = ["family", *(f"fastest, temperature {part.temperature:g}" for part in report.parts)]
    families = dict.fromkeys(section.family for part in report.parts for section in part.sections[1:])
    by_part = [{section.family: section for section in part.sections} for part in report.parts]
    body = [[family, *(_winner(sections.get(family)) for sections in by_part)] for family in families]
    counts = [f"{len(_winning(part))} at temperature {part.temperature:g}" for part in report.parts]
    return f"{markdown_table(head, body, words=len(head))}\n\nDifferent drafters among them: {', '.join(counts)}."


def _winning(part: Part) -> set[str]:
    """The drafters that are the fastest of some family; plain decoding is none."""
    return {row.drafter for section in part.sections[1:] for row in section.rows if row.winner} - {BASELINE}


def _winner(section: Section | None) -> str:
    row = next((row for row in section.rows if row.winner), None) if section is not None else None
    if row is None:
        return DASH
    return f"{' '.join(filter(None, (row.drafter, row.memory)))} {row.speedup.median:.2f}×"


def _table(section: Section) -> str:
    if not section.rows:
        return NONE
    return markdown_table(("drafter", "memory", *NUMBERS), [_cells(row) for row in section.rows], words=2)


def _cells(row: DrafterRow) -> list[str]:
    name = row.drafter if row.lossless else f"{row.drafter} (lossy)"
    speedup = spread(row.speedup)
    row_statistics = row.statistics
    return [
        f"**{name}**" if row.winner else name,
        row.memory or DASH,
        f"**{speedup}**" if row.winner else speedup,
        spread(row.whole_call),
        value_of(row_statistics.acceptance_rate),
        value_of(row_statistics.mean_acceptance_length),
        value_of(row_statistics.mbsu),
        value_of(row_statistics.nodes_per_pass, "{:.1f}"),
        or_dash(row_statistics.draft_share, "{:.0%}"),
        f"{row_statistics.same_output}/{row_statistics.runs}",
    ]


def _joined(report: DrafterReport, parts: Sequence[str]) -> str:
    absent = [f"- `{drafter}`: {' '.join(reason.split())}" for drafter, reason in report.absent.items()]
    notes = ["Without a row:\n\n" + "\n".join(absent)] if absent else []
    texts = [f"Temperature {part.temperature:g}: {counted(part.texts)}" for part in report.parts]
    return "\n\n".join([*parts, *texts, *report.unequal, *notes, _provenance(report)]) + "\n"


def _provenance(report: DrafterReport) -> str:
    later = ", ".join(f"{drafter} on {when}" for drafter, when in report.later.items())
    return (
        f"Median [quartiles] over {report.prompts} prompts × {report.repeats} "
        f"repeat{'s' * (report.repeats != 1)}{'' if report.complete else ', stopped early'}, each to the end of its "
        f"text or {report.max_new_tokens} new tokens, repeat r with seed {report.seed} + r; temperature by temperature "
        "all drafters with their default options and plain decoding interleaved in one run; the fastest in bold. Warm: "
        f"after up to {report.warm_up_prompts} other prompts of the family. {report.origin}"
        f"{f' Measured later, with plain decoding beside them on the same machine: {later}.' if later else ''}"
    )


@dataclass(frozen=True, slots=True)
class DrafterRow:
    """One drafter over some prompts. Quartiles are over the prompts, each with the median of its repeats."""

    drafter: str
    memory: str
    """`cold` or `warm`; empty for a drafter that remembers nothing"""
    lossless: bool
    speedup: Quartiles
    """output tokens per second of all rounds (the engine's clock) ÷ the median of plain decoding's on the same
    prompt in the same repeat"""
    whole_call: Quartiles
    """the same from call to return: the prompt, and what the drafter makes of it and of its memory, included"""
    statistics: RowStatistics
    prompts_run: int = 0
    """prompts of the family that it has run, those of the other class of texts included"""
    winner: bool = False
    """the fastest of its section"""


@dataclass(frozen=True, slots=True)
class Section:
    family: str
    """empty: all prompts together"""
    rows: tuple[DrafterRow, ...]
    """none where the family has no text of this class"""


@dataclass(frozen=True, slots=True)
class Part:
    """Everything at one temperature."""

    temperature: float
    sections: tuple[Section, ...]
    """of the texts that do not repeat themselves: all prompts together first, then each family"""
    repeating: Section
    """the others together"""
    texts: tuple[Text, ...]
    """of plain decoding"""


def part(temperature: float, entrants: Sequence[Entrant], outcomes: Sequence[ContestRun]) -> Part:
    """The rows of both classes of texts, families in the order of the outcomes.

    Runs whose plain run is missing (a cancelled bench) are left out. Raises BenchError where none is left.
    """
    paired, plain = beside_plain(outcomes, BASELINE)
    varied, repeating = by_class(paired, plain)
    sections = []
    for family in ("", *dict.fromkeys(contest_run.family for contest_run in paired)):
        here, run = _of(family, varied), _prompts_run(_of(family, paired))
        sections.append(Section(family, _rows(entrants, here, plain, run)))
    apart = Section("", _rows(entrants, repeating, plain, _prompts_run(paired)))
    return Part(temperature, tuple(sections), apart, texts(outcomes, BASELINE))


def _of(family: str, outcomes: Sequence[ContestRun]) -> list[ContestRun]:
    return [contest_run for contest_run in outcomes if family in ("", contest_run.family)]


def _prompts_run(paired: Sequence[ContestRun]) -> Mapping[str, int]:
    """Contestant → how many prompts it has run, whatever came out."""
    prompts: dict[str, set[str]] = {}
    for contest_run in paired:
        prompts.setdefault(contest_run.contestant, set()).add(contest_run.prompt)
    return {name: len(prompt) for name, prompt in prompts.items()}


def _rows(
    entrants: Sequence[Entrant], outcomes: Sequence[ContestRun], plain: Plain, prompts_run: Mapping[str, int]
) -> tuple[DrafterRow, ...]:
    rows = []
    for entrant in entrants:
        name = entrant.contestant.name
        group = [contest_run for contest_run in outcomes if contest_run.contestant == name]
        if group:
            rows.append(replace(_row(entrant, group, plain), prompts_run=prompts_run[name]))
    return marked(rows)


def _row(entrant: Entrant, group: Sequence[ContestRun], plain: Plain) -> DrafterRow:
    return DrafterRow(
        drafter=entrant.drafter,
        memory=entrant.memory,
        lossless=entrant.lossless,
        speedup=over_prompts(group, plain, engine_speed),
        whole_call=over_prompts(group, plain, whole_speed),
        statistics=row_statistics(group, plain),
    )


def marked(rows: Sequence[DrafterRow]) -> tuple[DrafterRow, ...]:
    """Marks the fastest of those that have run all the prompts that any has run: others have an easier set."""
    most = max((row.prompts_run for row in rows), default=0)
    best = max((row for row in rows if row.prompts_run == most), key=lambda row: row.speedup.median, default=None)
    return tuple(replace(row, winner=row is best) for row in rows)


_ADAPTER = TypeAdapter(DrafterReport)
_SETTING = ("prompts", "warm_up_prompts", "repeats", "max_new_tokens", "temperatures", "seed")
"""what rows must have in common to stand in one table"""


def place_of_report(page: Path) -> Path:
    """Where the report of a page lies."""
    return page.with_suffix(".json")


def read_report(path: Path) -> DrafterReport | None:
    """None where there is no file. Raises BenchError where it holds no such report."""
    try:
        return _ADAPTER.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BenchError(f"{path.name}: cannot be read ({error.strerror}); check the path.") from None
    except ValidationError:
        raise BenchError(
            f"{path.name} holds no report of `specviz bench drafters` of this release; run all drafters once with "
            "--write, which writes it anew."
        ) from None


def write_report(report: DrafterReport, path: Path) -> None:
    """As JSON, indented, so that a change is read line by line."""
    path.write_bytes(_ADAPTER.dump_json(report, indent=1) + b"\n")


def merged(kept: DrafterReport, fresh: DrafterReport) -> DrafterReport:
    """The kept rows, with those of the drafters that were measured anew replaced.

    Plain decoding keeps its row: every other one was measured against the plain runs beside it. Raises BenchError
    where the two were measured differently, or on other machines or models.
    """
    check_mergeable(kept, fresh)
    anew = {row.drafter for part in fresh.parts for row in _rows_of(part)} | set(fresh.absent)
    anew -= {BASELINE}
    absent = {name: why for name, why in kept.absent.items() if name not in anew} | fresh.absent
    later = {name: when for name, when in kept.later.items() if name not in anew}
    later |= dict.fromkeys(sorted(anew - set(fresh.absent)), fresh.origin.created)
    drafters = {card.weights_sha256: card for card in (*kept.origin.drafters, *fresh.origin.drafters)}
    return replace(
        kept,
        parts=tuple(_part(*both, anew) for both in zip(kept.parts, fresh.parts, strict=True)),
        absent=absent,
        origin=replace(kept.origin, drafters=tuple(drafters.values())),
        later=later,
        unequal=(*kept.unequal, *fresh.unequal),
        complete=kept.complete and fresh.complete,
    )


def check_mergeable(kept: DrafterReport, fresh: DrafterReport) -> None:
    """Raises BenchError where rows of the two cannot stand in one table."""
    pairs = [(name, getattr(kept, name), getattr(fresh, name)) for name in _SETTING]
    old, new = kept.origin, fresh.origin
    pairs += [("machine", old.machine, new.machine), ("weights of the target", old.target, new.target)]
    pairs += [("families", _families(kept), _families(fresh))]
    other = next((what for what, before, now in pairs if before != now), None)
    if other is not None:
        raise BenchError(
            f"the other rows of the page were measured with other {other}, so they cannot stand beside these; measure "
            "as they were, or all drafters anew by leaving --drafters out."
        )


def _families(report: DrafterReport) -> list[list[str]]:
    return [[section.family for section in part.sections] for part in report.parts]


def _rows_of(part: Part) -> list[DrafterRow]:
    return [row for section in (*part.sections, part.repeating) for row in section.rows]


def _part(before: Part, now: Part, anew: set[str]) -> Part:
    pairs = zip((*before.sections, before.repeating), (*now.sections, now.repeating), strict=True)
    *sections, repeating = (_section(*pair, anew) for pair in pairs)
    return replace(before, sections=tuple(sections), repeating=repeating)


def _section(before: Section, now: Section, anew: set[str]) -> Section:
    rows = [row for row in before.rows if row.drafter not in anew]
    rows += [row for row in now.rows if row.drafter in anew]
    return Section(before.family, marked(sorted(rows, key=_order)))


def _order(row: DrafterRow) -> tuple[bool, str, str]:
    """Plain decoding first, then by name, cold before warm."""
    return row.drafter != BASELINE, row.drafter, row.memory

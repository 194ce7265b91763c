"""The rows of `specviz bench`, ratios against plain decoding of the same prompt and repeat, as a report in Markdown.

Place in the flow: reads what the contest yielded and the replays measured; last step of `specviz bench`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from specviz.bench.core.contest import ContestRun
from specviz.bench.core.report import DASH, Origin, markdown_table, or_dash, spread, value_of
from specviz.bench.core.rows import (
    NONE,
    Plain,
    Text,
    beside_plain,
    by_class,
    counted,
    decode_speed,
    over_prompts,
    row_statistics,
    texts,
    texts_table,
    whole_speed,
)
from specviz.bench.speed.efficiency import BOUND, Efficiency
from specviz.bench.speed.plan import RECORDED
from specviz.protocol.sweeps.points import Quartiles, quartiles
from specviz.theory.rows import MOST, RowStatistics, repeats

if TYPE_CHECKING:
    from specviz.bench.passes import PassTable


EFFICIENCY = (
    "; engine efficiency at the first temperature, over one run more of each prompt, every round followed by its "
    "passes alone"
)
YARDSTICK = (
    "**Yardstick: the same GGUF file in llama.cpp**, plain and greedy. Not a contestant of equal numbers: llama.cpp "
    "multiplies the file's blocks as they are, SpecViz unpacks them at loading and reads several times as many bytes "
    "in a pass; the ratios are against our plain decoding on one thread."
)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a reader needs to judge the numbers."""

    parts: Sequence[Part]
    """one per temperature"""
    origin: Origin
    max_new_tokens: int
    prompts: int
    repeats: int
    seed: int
    unequal: Sequence[str]
    """SpecViz's contestants that wrote another text where the same one is asserted: greedily, in float32"""
    complete: bool
    """False: stopped before everything had run"""
    pass_times: Mapping[str, Mapping[int, float]]
    """`target` and `drafter`: row count → median seconds of a pass alone, between the rounds"""
    tracing_overhead: Quartiles | None
    bare: Sequence[PassTable] = ()
    """the pair's bare passes over one row, beside reading their weights from memory"""
    yardstick: Sequence[BenchRow] = ()
    """plain decoding of one GGUF file by llama.cpp and by us; none where nobody asked"""


def markdown(report: Report) -> str:
    """At each temperature: all contestants, the decode ratio by prompt family, the texts that repeat themselves and
    the aims; then how far bare passes are from memory, the repetition of each text, and where everything comes from."""
    paragraphs = list[str]()
    for part in report.parts:
        paragraphs += [_title(part), *_tables(part.rows), counted(part.texts)]
        if part.repeating:
            paragraphs += [f"Texts that repeat more than {MOST:.0%} of their 4-grams:", _main_table(part.repeating)]
        paragraphs.append(_aims(part, report.tracing_overhead))
    paragraphs.append(_bare(report.bare))
    if report.yardstick:
        paragraphs += [YARDSTICK, _main_table(report.yardstick)]
    paragraphs += [
        "**The texts of plain decoding**",
        texts_table([(of_temperature.temperature, of_temperature.texts) for of_temperature in report.parts]),
    ]
    return "\n\n".join([*filter(None, paragraphs), *report.unequal, _provenance(report, EFFICIENCY)]) + "\n"


def summary(report: Report) -> str:
    """One table for a first look: plain decoding, and of every kind of contestant the setting that is fastest at the
    first temperature; all temperatures beside each other."""
    parts = [part for part in report.parts if part.rows]
    if not parts:
        return NONE
    by_name = [{row.name: row for row in part.rows} for part in parts]
    head = ["contestant"]
    for part in parts:
        head += [f"× plain, temperature {part.temperature:g}", "tokens per target pass", "same output"]
    body = [[name, *(cell for rows in by_name for cell in _short_cells(rows.get(name)))] for name in _fastest(parts[0])]
    return "\n\n".join([markdown_table(head, body), _left_out(report.parts), _provenance(report)]) + "\n"


def _left_out(parts: Sequence[Part]) -> str:
    """How many texts of plain decoding are not in the tables, at every temperature."""
    counts = [
        f"{sum(repeats(text.repetition) for text in part.texts)} of {len(part.texts)} at temperature "
        f"{part.temperature:g}"
        for part in parts
    ]
    return f"Without texts that repeat more than {MOST:.0%} of their 4-grams: {', '.join(counts)}."


def _fastest(part: Part) -> list[str]:
    """Names in the order of the table, one for each kind: contestants that differ in γ alone are of one kind."""
    best = dict[str, BenchRow]()
    for row in part.rows:
        kind = re.sub(r"γ=\d+", "γ", row.name)
        if kind.endswith(RECORDED):
            continue
        if kind not in best or row.decode_ratio.median > best[kind].decode_ratio.median:
            best[kind] = row
    return [row.name for row in best.values()]


def _short_cells(row: BenchRow | None) -> list[str]:
    if row is None:
        return [DASH] * 3
    row_statistics = row.statistics
    return [
        spread(row.decode_ratio),
        value_of(row_statistics.tokens_per_pass),
        f"{row_statistics.same_output}/{row_statistics.runs}",
    ]


def _title(part: Part) -> str:
    return f"**Temperature {part.temperature:g}**"


def _tables(rows: Sequence[BenchRow]) -> list[str]:
    return [_main_table(rows), _family_table(rows)] if rows else [NONE]


def _main_table(rows: Sequence[BenchRow]) -> str:
    head = (
        "contestant", "tokens/s", "× plain, decoding", "× plain, whole call", "tokens per target pass",
        "acceptance rate", "mean acceptance length", "MBSU", "acceptance by position", "same output",
        "engine efficiency",
    )  # fmt: skip
    return markdown_table(head, [_cells(row) for row in rows])


def _cells(row: BenchRow) -> list[str]:
    row_statistics = row.statistics
    return [
        row.name,
        f"{row.tokens_per_s:.1f}",
        spread(row.decode_ratio),
        spread(row.ratio),
        value_of(row_statistics.tokens_per_pass),
        value_of(row_statistics.acceptance_rate),
        value_of(row_statistics.mean_acceptance_length),
        value_of(row_statistics.mbsu),
        " ".join(f"{share:.2f}" for share in row_statistics.acceptance_by_depth) or DASH,
        f"{row_statistics.same_output}/{row_statistics.runs}",
        DASH if row.efficiency is None else str(row.efficiency),
    ]


def _family_table(rows: Sequence[BenchRow]) -> str:
    families = list(rows[0].by_family)
    body = [[row.name, *(or_dash(row.by_family.get(family), "{:.2f}") for family in families)] for row in rows]
    return "Decoding speed × plain, median by prompt family:\n\n" + markdown_table(("contestant", *families), body)


def _aims(part: Part, tracing_overhead: Quartiles | None) -> str:
    """The aims next to what was measured on texts that do not repeat themselves; a missed one stays visible."""
    if not part.rows:
        return ""
    drafting = [row for row in part.rows[1:] if row.name.startswith("specviz") and not row.name.endswith(RECORDED)]
    theirs = {row.name: row for row in part.rows if row.name.startswith("transformers")}
    lines = _efficiency(part.rows)
    if "transformers: generate" in theirs:
        reference = theirs["transformers: generate"].decode_ratio.median
        lines.append(f"- our plain decoding against transformers.generate (aim ≥ 1.8): {1 / reference:.2f}×")
    if drafting:
        helped = [row for name, row in theirs.items() if name != "transformers: generate"]
        lines += _best(drafting, helped, 1.5 if part.temperature else 1.8)
    if tracing_overhead:
        lines.append(f"- tracing overhead (aim ≤ 4 %): {tracing_overhead.median * 100:.1f} %")
    return "\n".join(lines)


def _best(drafting: Sequence[BenchRow], helped: Sequence[BenchRow], aim: float) -> list[str]:
    """Our fastest against our plain decoding and against the fastest of theirs that drafts."""
    best = max(drafting, key=lambda row: row.decode_ratio.median)
    lines = [f"- best drafter against our plain decoding (aim ≥ 2.0): {best.decode_ratio.median:.2f}× ({best.name})"]
    model = [row for row in drafting if row.name.startswith("specviz: model γ")]
    if model:
        longest = max(model, key=lambda row: row.decode_ratio.median)
        speedup = f"{longest.decode_ratio.median:.2f}× ({longest.name})"
        lines.append(f"- drafter model at its best length (aim ≥ {aim}): {speedup}")
    if helped:
        rival = max(helped, key=lambda row: row.decode_ratio.median)
        share = best.decode_ratio.median / rival.decode_ratio.median
        lines.append(f"- best drafter against transformers' best ({rival.name}; aim ≥ 1.5): {share:.2f}×")
    return lines


def _efficiency(rows: Sequence[BenchRow]) -> list[str]:
    """The lowest efficiency that was measured, and which measurements failed."""
    rated = [(row.name, row.efficiency) for row in rows if row.efficiency is not None]
    failed = [name for name, rate in rated if rate.failed]
    lines = list[str]()
    if len(failed) < len(rated):
        name, worst = min(
            ((name, rate) for name, rate in rated if not rate.failed), key=lambda item: item[1].share.median
        )
        lines.append(f"- engine efficiency (aim ≥ 0.90): lowest {worst} ({name})")
    if failed:
        lines.append(
            f"- engine efficiency was not measured for {', '.join(failed)}: passes alone took longer than the rounds "
            f"that hold them (above {BOUND}), which no engine can do; repeat it on a quieter machine"
        )
    return lines


def _bare(tables: Sequence[PassTable]) -> str:
    """What engine efficiency does not say: it holds rounds against bare passes, and these against memory."""
    lines = [
        f"- a bare pass of {table.model} over one row takes {table.bytes_ratio:.2f} × as long as reading its "
        f"{table.weight_bytes / 1e6:.1f} MB from memory ({table.pass_s[1] * 1e3:.2f} ms ÷ {table.reading_s * 1e3:.2f} "
        f"ms, {table.weight_bytes / table.reading_s / 1e9:.1f} GB/s)"
        for table in tables
    ]
    head = "Engine efficiency is rounds against bare passes; bare passes against memory:"
    return "\n".join([head, "", *lines]) if lines else ""


def _provenance(report: Report, also: str = "") -> str:
    """How the tables came about; `also`: what else was measured for those that stand above."""
    return (
        f"Median [quartiles] over {report.prompts} prompts of the median of each one's {report.repeats} "
        f"repeat{'s' * (report.repeats != 1)}{'' if report.complete else ', stopped early'} at each temperature, each "
        f"to the end of its text or {report.max_new_tokens} new tokens, repeat r with seed {report.seed} + r; all "
        f"contestants interleaved in one run{also}. {report.origin}"
    )


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One contestant over all its prompts and repeats."""

    name: str
    tokens_per_s: float
    """median, output tokens over the whole call, prompt included"""
    ratio: Quartiles
    """tokens/s against our plain decoding, whole call, over the prompts"""
    decode_ratio: Quartiles
    """the same with each side's prompt pass left out"""
    by_family: Mapping[str, float]
    """median decode ratio per prompt family"""
    efficiency: Efficiency | None
    """SpecViz's engine alone"""
    statistics: RowStatistics


@dataclass(frozen=True, slots=True)
class Part:
    """Everything at one temperature."""

    temperature: float
    rows: Sequence[BenchRow]
    """over the texts that do not repeat themselves; none where all do"""
    repeating: Sequence[BenchRow]
    """over the others"""
    texts: Sequence[Text]


def part(
    temperature: float,
    outcomes: Sequence[ContestRun],
    baseline: str,
    efficiency: Mapping[str, Efficiency] | None = None,
) -> Part:
    """One row per contestant and class of texts in the order of first appearance, the baseline first. Outcomes whose
    baseline run is missing (a cancelled bench) are left out. Raises BenchError where no pair is left."""
    paired, plain = beside_plain(outcomes, baseline)
    varied, repeating = (_rows(of_class, plain, baseline, efficiency or {}) for of_class in by_class(paired, plain))
    return Part(temperature, varied, repeating, texts(outcomes, baseline))


def plain_rows(outcomes: Sequence[ContestRun], baseline: str) -> list[BenchRow]:
    """One row per contestant over all texts, those that repeat themselves too: where nobody drafts they cost the
    same. Raises BenchError where no pair is left."""
    return _rows(*beside_plain(outcomes, baseline), baseline, {})


def _rows(
    outcomes: Sequence[ContestRun], plain: Plain, baseline: str, efficiency: Mapping[str, Efficiency]
) -> list[BenchRow]:
    groups: dict[str, list[ContestRun]] = {baseline: []}
    for contest_run in outcomes:
        groups.setdefault(contest_run.contestant, []).append(contest_run)
    return [_row(group, plain, efficiency.get(name)) for name, group in groups.items() if group]


def overhead(outcomes: Sequence[ContestRun], recorded: str) -> Quartiles | None:
    """Tracing overhead of the contestant that keeps its trace: seconds spent writing it over all its other seconds,
    both from the same run, so that a busy machine cannot hide or invent it. None where it never ran."""
    runs = [contest_run.measured for contest_run in outcomes if contest_run.contestant == recorded]
    return quartiles([run.record_s / (run.wall_s - run.record_s) for run in runs]) if runs else None


def _row(group: Sequence[ContestRun], plain: Plain, efficiency: Efficiency | None) -> BenchRow:
    # A text that ended with the token of the prompt's pass says nothing of decoding.
    decoded = [contest_run for contest_run in group if decode_speed(contest_run.measured)] or group
    families = dict.fromkeys(contest_run.family for contest_run in decoded)
    return BenchRow(
        name=group[0].contestant,
        tokens_per_s=median(contest_run.measured.tokens_per_s for contest_run in group),
        ratio=over_prompts(group, plain, whole_speed),
        decode_ratio=over_prompts(decoded, plain, decode_speed),
        by_family={
            family: over_prompts(
                [contest_run for contest_run in decoded if contest_run.family == family], plain, decode_speed
            ).median
            for family in families
        },
        efficiency=efficiency,
        statistics=row_statistics(group, plain),
    )

"""The bench's report as Markdown and as plain data for JSON.

Place in the flow: last step of `specviz bench`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specviz.bench.core.provenance import Origin
from specviz.bench.core.report import DASH, markdown_table, or_dash, spread, value_of
from specviz.bench.core.texts import NONE, counted, texts_table
from specviz.bench.speed.efficiency import BOUND
from specviz.bench.speed.rows import BenchRow, Part
from specviz.protocol.sweeps.points import Quartiles
from specviz.theory.repetition import MOST


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


def markdown(report: Report) -> str:
    """At each temperature: all contestants, the decode ratio by prompt family, the texts that repeat themselves and
    the aims; then the repetition of each text, and where everything comes from."""
    found = list[str]()
    for part in report.parts:
        found += [_title(part), *_tables(part.rows), counted(part.texts)]
        if part.repeating:
            found += [f"Texts that repeat more than {MOST:.0%} of their 4-grams:", _main_table(part.repeating)]
        found.append(_aims(part, report.tracing_overhead))
    found += ["**The texts of plain decoding**", texts_table([(one.temperature, one.texts) for one in report.parts])]
    return "\n\n".join([*filter(None, found), *report.unequal, _provenance(report)]) + "\n"


def summary(report: Report) -> str:
    """One table for a first look: plain decoding, and of every kind of contestant the setting that is fastest at the
    first temperature; all temperatures beside each other."""
    parts = [part for part in report.parts if part.rows]
    if not parts:
        return NONE
    found = [{row.name: row for row in part.rows} for part in parts]
    head = ["contestant"]
    for part in parts:
        head += [f"× plain, temperature {part.temperature:g}", "tokens per target pass", "same output"]
    body = [[name, *(cell for rows in found for cell in _short_cells(rows.get(name)))] for name in _fastest(parts[0])]
    texts = [f"Temperature {part.temperature:g}: {counted(part.texts)}" for part in report.parts]
    return "\n\n".join([markdown_table(head, body), *texts, _provenance(report)]) + "\n"


def _fastest(part: Part) -> list[str]:
    """Names in the order of the table, one for each kind: contestants that differ in γ alone are of one kind."""
    best = dict[str, BenchRow]()
    for row in part.rows:
        kind = re.sub(r"γ=\d+", "γ", row.name)
        if kind.endswith(", recorded"):
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
    base = part.rows[0]
    drafting = [row for row in part.rows if row.name.startswith("specviz") and row is not base]
    theirs = {row.name: row for row in part.rows if row.name.startswith("transformers")}
    lines = _efficiency(part.rows)
    if "transformers: generate" in theirs:
        reference = theirs["transformers: generate"].decode_ratio.median
        lines.append(f"- our plain decoding against transformers.generate (aim ≥ 1): {1 / reference:.2f}×")
    if drafting:
        lines += _best(drafting, [row for name, row in theirs.items() if name != "transformers: generate"])
    if tracing_overhead:
        lines.append(f"- tracing overhead (aim ≤ 5 %): {tracing_overhead.median * 100:.1f} %")
    return "\n".join(lines)


def _best(drafting: Sequence[BenchRow], helped: Sequence[BenchRow]) -> list[str]:
    """Our fastest against our plain decoding and against the fastest of theirs that drafts."""
    best = max(drafting, key=lambda row: row.decode_ratio.median)
    lines = [f"- best drafter against our plain decoding (aim ≥ 2.0): {best.decode_ratio.median:.2f}× ({best.name})"]
    model = [row for row in drafting if row.name.startswith("specviz: model γ")]
    if model:
        longest = max(model, key=lambda row: row.decode_ratio.median)
        lines.append(
            f"- drafter model at its best length (aim ≥ 1.6): {longest.decode_ratio.median:.2f}× ({longest.name})"
        )
    if helped:
        rival = max(helped, key=lambda row: row.decode_ratio.median)
        share = best.decode_ratio.median / rival.decode_ratio.median
        lines.append(f"- best drafter against transformers' best ({rival.name}; aim > 1): {share:.2f}×")
    return lines


def _efficiency(rows: Sequence[BenchRow]) -> list[str]:
    """The lowest efficiency that was measured, and which measurements failed."""
    rated = [(row.name, row.efficiency) for row in rows if row.efficiency is not None]
    failed = [name for name, found in rated if found.failed]
    lines = list[str]()
    if len(failed) < len(rated):
        name, worst = min(((name, one) for name, one in rated if not one.failed), key=lambda item: item[1].share.median)
        lines.append(f"- engine efficiency (aim ≥ 0.90): lowest {worst} ({name})")
    if failed:
        lines.append(
            f"- engine efficiency was not measured for {', '.join(failed)}: passes alone took longer than the rounds "
            f"that hold them (above {BOUND}), which no engine can do; repeat it on a quieter machine"
        )
    return lines


def _provenance(report: Report) -> str:
    return (
        f"Median [quartiles] over the pairs of runs of {report.prompts} prompts × {report.repeats} "
        f"repeat{'s' * (report.repeats != 1)}{'' if report.complete else ', stopped early'} at each temperature, each "
        f"to the end of its text or {report.max_new_tokens} new tokens, repeat r with seed {report.seed} + r; all "
        "contestants interleaved in one run; engine efficiency at the first temperature, over one run more of each "
        f"prompt, every round followed by its passes alone. {report.origin}"
    )

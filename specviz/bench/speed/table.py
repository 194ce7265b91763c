"""The bench's report as Markdown and as plain data for JSON.

Place in the flow: last step of `specviz bench`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specviz.bench.core.provenance import Origin
from specviz.bench.core.report import DASH, markdown_table, or_dash, spread, value_of
from specviz.bench.speed.efficiency import BOUND
from specviz.bench.speed.rows import BenchRow
from specviz.protocol.sweeps.points import Quartiles


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a reader needs to judge the numbers."""

    rows: Sequence[BenchRow]
    origin: Origin
    temperature: float
    max_new_tokens: int
    prompts: int
    repeats: int
    complete: bool
    """False: stopped before everything had run"""
    pass_times: Mapping[str, Mapping[int, float]]
    """`target` and `drafter`: row count → median seconds of a pass alone, between the rounds"""
    tracing_overhead: Quartiles | None


def markdown(report: Report) -> str:
    """The tables: all contestants, then the decode ratio by prompt family."""
    parts = [_main_table(report.rows), _family_table(report.rows), _aims(report), _provenance(report)]
    return "\n\n".join(parts) + "\n"


def _main_table(rows: Sequence[BenchRow]) -> str:
    head = (
        "contestant", "tokens/s", "× plain, decoding", "× plain, whole call", "tokens per target pass",
        "acceptance rate", "mean acceptance length", "acceptance by position", "same output", "engine efficiency",
    )  # fmt: skip
    return markdown_table(head, [_cells(row) for row in rows])


def _cells(row: BenchRow) -> list[str]:
    found = row.statistics
    return [
        row.name,
        f"{row.tokens_per_s:.1f}",
        spread(row.decode_ratio),
        spread(row.ratio),
        value_of(found.tokens_per_pass),
        value_of(found.acceptance_rate),
        value_of(found.mean_acceptance_length),
        " ".join(f"{share:.2f}" for share in found.acceptance_by_depth) or DASH,
        f"{found.same_output}/{found.runs}",
        DASH if row.efficiency is None else str(row.efficiency),
    ]


def _family_table(rows: Sequence[BenchRow]) -> str:
    families = list(rows[0].by_family)
    body = [[row.name, *(or_dash(row.by_family.get(family), "{:.2f}") for family in families)] for row in rows]
    return "Decoding speed × plain, median by prompt family:\n\n" + markdown_table(("contestant", *families), body)


def _aims(report: Report) -> str:
    """The aims next to what was measured; a missed one stays visible."""
    base = report.rows[0]
    drafting = [row for row in report.rows if row.name.startswith("specviz") and row is not base]
    theirs = {row.name: row for row in report.rows if row.name.startswith("transformers")}
    lines = _efficiency(report.rows)
    if "transformers: generate" in theirs:
        reference = theirs["transformers: generate"].decode_ratio.median
        lines.append(f"- our plain decoding against transformers.generate (aim ≥ 1): {1 / reference:.2f}×")
    if drafting:
        best = max(drafting, key=lambda row: row.decode_ratio.median)
        lines.append(
            f"- best drafter against our plain decoding (aim ≥ 1.6): {best.decode_ratio.median:.2f}× ({best.name})"
        )
        helped = [row for name, row in theirs.items() if name != "transformers: generate"]
        if helped:
            rival = max(helped, key=lambda row: row.decode_ratio.median)
            share = best.decode_ratio.median / rival.decode_ratio.median
            lines.append(f"- best drafter against transformers' best ({rival.name}; aim > 1): {share:.2f}×")
    if report.tracing_overhead:
        lines.append(f"- tracing overhead (aim ≤ 5 %): {report.tracing_overhead.median * 100:.1f} %")
    return "\n".join(lines)


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
        f"Median [quartiles] over {report.rows[0].statistics.runs} pairs of runs ({report.prompts} prompts × "
        f"{report.repeats} repeats{'' if report.complete else ', stopped early'}), {report.max_new_tokens} new tokens, "
        f"temperature {report.temperature:g}, all contestants interleaved in one run; engine efficiency over one run "
        f"more of each prompt, every round followed by its passes alone. {report.origin}"
    )

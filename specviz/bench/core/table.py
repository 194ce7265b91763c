"""The bench's report as Markdown and as plain data for JSON.

Place in the flow: last step of `specviz bench`. Knows nothing about how anything was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from specviz.bench.core.report import BenchRow
from specviz.protocol.sweeps.points import Quartiles
from specviz.trace.events import Machine, ModelCard


@dataclass(frozen=True, slots=True)
class Setting:
    """What was measured, on what."""

    machine: Machine
    target: ModelCard
    drafter: ModelCard | None
    created: str
    temperature: float
    max_new_tokens: int
    prompts: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a reader needs to judge the numbers."""

    rows: Sequence[BenchRow]
    setting: Setting
    complete: bool
    """False: stopped before everything had run"""
    step_times: Mapping[str, Mapping[int, float]]
    """`target` and `drafter`: row count → seconds of a bare pass"""
    tracing_overhead: Quartiles | None


def to_data(report: Report) -> dict[str, Any]:
    """Plain dicts; ratios and shares are fractions, durations seconds."""
    data = asdict(report)
    for row, source in zip(data["rows"], report.rows, strict=True):
        row["ratio"] = source.ratio._asdict()
        row["decode_ratio"] = source.decode_ratio._asdict()
    data["tracing_overhead"] = report.tracing_overhead._asdict() if report.tracing_overhead else None
    return data


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
    return [
        row.name,
        f"{row.tokens_per_s:.1f}",
        spread(row.decode_ratio),
        spread(row.ratio),
        f"{row.tokens_per_pass:.2f}",
        or_dash(row.acceptance_rate, "{:.2f}"),
        or_dash(row.mean_acceptance_length, "{:.2f}"),
        " ".join(f"{share:.2f}" for share in row.acceptance_by_depth) or "–",
        f"{row.same_output}/{row.runs}",
        or_dash(row.efficiency, "{:.2f}"),
    ]


def _family_table(rows: Sequence[BenchRow]) -> str:
    families = list(rows[0].by_family)
    body = [[row.name, *(or_dash(row.by_family.get(family), "{:.2f}") for family in families)] for row in rows]
    return "Decoding speed × plain, median by prompt family:\n\n" + markdown_table(("contestant", *families), body)


def _aims(report: Report) -> str:
    """The aims next to what was measured; a missed one stays visible."""
    base = report.rows[0]
    ours = [row for row in report.rows if row.name.startswith("ours") and row is not base]
    theirs = {row.name: row for row in report.rows if row.name.startswith("transformers")}
    lines = []
    rated = [row for row in report.rows if row.efficiency is not None]
    if rated:
        worst = min(rated, key=lambda row: row.efficiency or 0.0)
        lines.append(f"- engine efficiency (aim ≥ 0.90): lowest {worst.efficiency:.2f} ({worst.name})")
    if "transformers: generate" in theirs:
        reference = theirs["transformers: generate"].decode_ratio.median
        lines.append(f"- our plain decoding against transformers.generate (aim ≥ 1): {1 / reference:.2f}×")
    if ours:
        best = max(ours, key=lambda row: row.decode_ratio.median)
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


def _provenance(report: Report) -> str:
    setting = report.setting
    machine, target = setting.machine, setting.target
    models = f"target {target.name} ({target.parameters:,} parameters, sha256 {target.weights_sha256[:12]})"
    if setting.drafter:
        drafter = setting.drafter
        models += f", drafter {drafter.name} ({drafter.parameters:,} parameters, sha256 {drafter.weights_sha256[:12]})"
    return (
        f"Median [quartiles] over {report.rows[0].runs} pairs of runs ({setting.prompts} prompts × "
        f"{setting.repeats} repeats"
        f"{'' if report.complete else ', stopped early'}), {setting.max_new_tokens} new tokens, temperature "
        f"{setting.temperature:g}, all contestants interleaved in one run. {machine.processor}, {machine.cores} cores, "
        f"{machine.threads} thread{'s' * (machine.threads != 1)}, {machine.device}, {target.dtype}; "
        f"Python {machine.python}, "
        f"torch {machine.torch}, transformers {machine.transformers}, {machine.system}. {setting.created}. {models}."
    )


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]], words: int = 1) -> str:
    """A table whose first `words` columns are words and whose others are numbers."""
    lines = [head, [*["---"] * words, *["---:"] * (len(head) - words)], *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def spread(value: Quartiles) -> str:
    """The median with its quartiles."""
    return f"{value.median:.2f} [{value.low:.2f}–{value.high:.2f}]"


def or_dash(value: float | None, form: str) -> str:
    """The number in that form, or a dash where there is none."""
    return "–" if value is None else form.format(value)


def plain_data(value: Any) -> Any:
    """Dicts and lists all the way down, named tuples as dicts, for JSON."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, dict):
        return {name: plain_data(one) for name, one in value.items()}
    return [plain_data(one) for one in value] if isinstance(value, list | tuple) else value

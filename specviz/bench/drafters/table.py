"""The report of `specviz bench drafters` as Markdown and as plain data for JSON.

Place in the flow: last step of the command. Knows nothing about how anything was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from specviz.bench.core.table import markdown_table, or_dash, plain_data, spread
from specviz.bench.drafters.rows import DrafterRow, Section
from specviz.trace.events import Machine, ModelCard

DASH = "–"
NUMBERS = (
    "× plain, decoding", "× plain, whole call", "acceptance rate", "mean acceptance length",
    "nodes per target pass", "drafting, share of the round", "same output",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DrafterReport:
    """Everything a reader needs to judge the numbers."""

    sections: Sequence[Section]
    absent: Mapping[str, str]
    """drafter → why it has no row"""
    target: ModelCard
    drafters: Sequence[ModelCard]
    """the models that drafted"""
    machine: Machine
    created: str
    prompts: int
    lessons: int
    """prompts behind a warm start"""
    repeats: int
    max_new_tokens: int
    temperature: float
    seed: int
    complete: bool
    """False: stopped before everything had run"""


def to_data(report: DrafterReport) -> dict[str, Any]:
    """Plain dicts; quartiles as `low`, `median`, `high`, shares as fractions."""
    return dict(plain_data(asdict(report)))


def markdown(report: DrafterReport) -> str:
    """A table over all prompts and one per family, the fastest in bold; who did not run; where it comes from."""
    parts = list[str]()
    for section in report.sections:
        parts += [f"**{section.family or 'All prompts'}**", _table(section)]
    return _joined(report, parts)


def summary(report: DrafterReport) -> str:
    """The table over all prompts alone, with the families in which each drafter was the fastest."""
    best: dict[tuple[str, str], list[str]] = {}
    for section in report.sections[1:]:
        for row in section.rows:
            if row.winner:
                best.setdefault((row.drafter, row.memory), []).append(section.family)
    body = []
    for row in report.sections[0].rows:
        name, memory, *numbers = _cells(row)
        body.append([name, memory, ", ".join(best.get((row.drafter, row.memory), [])) or DASH, *numbers])
    table = markdown_table(("drafter", "memory", "fastest in", *NUMBERS), body, words=3)
    return _joined(report, [table])


def _table(section: Section) -> str:
    return markdown_table(("drafter", "memory", *NUMBERS), [_cells(row) for row in section.rows], words=2)


def _cells(row: DrafterRow) -> list[str]:
    name = row.drafter if row.lossless else f"{row.drafter} (lossy)"
    speedup = spread(row.speedup)
    return [
        f"**{name}**" if row.winner else name,
        row.memory or DASH,
        f"**{speedup}**" if row.winner else speedup,
        spread(row.whole_call),
        or_dash(row.acceptance_rate, "{:.2f}"),
        or_dash(row.mean_acceptance_length, "{:.2f}"),
        f"{row.nodes_per_pass:.1f}",
        or_dash(row.draft_share, "{:.0%}"),
        f"{row.same_output}/{row.runs}",
    ]


def _joined(report: DrafterReport, parts: Sequence[str]) -> str:
    absent = [f"- `{drafter}`: {' '.join(reason.split())}" for drafter, reason in report.absent.items()]
    notes = ["Without a row:\n\n" + "\n".join(absent)] if absent else []
    return "\n\n".join([*parts, *notes, _provenance(report)]) + "\n"


def _provenance(report: DrafterReport) -> str:
    machine, target = report.machine, report.target
    models = "".join(
        f", drafter {one.name} ({one.parameters:,} parameters, sha256 {one.weights_sha256[:12]})"
        for one in report.drafters
    )
    return (
        f"Median [quartiles] over {report.prompts} prompts × {report.repeats} "
        f"repeat{'s' * (report.repeats != 1)}{'' if report.complete else ', stopped early'}, "
        f"{report.max_new_tokens} new tokens, temperature {report.temperature:g}, seed {report.seed}, all drafters "
        "with their default options and plain decoding interleaved in one run; the fastest in bold. Warm: after up to "
        f"{report.lessons} other prompts of the family. "
        f"{machine.processor}, {machine.cores} cores, {machine.threads} thread{'s' * (machine.threads != 1)}, "
        f"{machine.device}, {target.dtype}; Python {machine.python}, torch {machine.torch}. {report.created}. "
        f"target {target.name} ({target.parameters:,} parameters, sha256 {target.weights_sha256[:12]}){models}."
    )

"""The report of `specviz bench drafters` as Markdown.

Place in the flow: last step of the command; `drafters/stored.py` keeps the report beside its page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.bench.core.provenance import Origin
from specviz.bench.core.report import DASH, markdown_table, or_dash, spread, value_of
from specviz.bench.drafters.rows import DrafterRow, Section

NUMBERS = (
    "× plain, decoding", "× plain, whole call", "acceptance rate", "mean acceptance length",
    "nodes per target pass", "drafting, share of the round", "same output",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DrafterReport:
    """Everything a reader needs to judge the numbers."""

    sections: tuple[Section, ...]
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
    temperature: float
    seed: int
    complete: bool
    """False: stopped before everything had run"""


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
    found = row.statistics
    return [
        f"**{name}**" if row.winner else name,
        row.memory or DASH,
        f"**{speedup}**" if row.winner else speedup,
        spread(row.whole_call),
        value_of(found.acceptance_rate),
        value_of(found.mean_acceptance_length),
        value_of(found.nodes_per_pass, "{:.1f}"),
        or_dash(found.draft_share, "{:.0%}"),
        f"{found.same_output}/{found.runs}",
    ]


def _joined(report: DrafterReport, parts: Sequence[str]) -> str:
    absent = [f"- `{drafter}`: {' '.join(reason.split())}" for drafter, reason in report.absent.items()]
    notes = ["Without a row:\n\n" + "\n".join(absent)] if absent else []
    return "\n\n".join([*parts, *notes, _provenance(report)]) + "\n"


def _provenance(report: DrafterReport) -> str:
    later = ", ".join(f"{drafter} on {when}" for drafter, when in report.later.items())
    return (
        f"Median [quartiles] over {report.prompts} prompts × {report.repeats} "
        f"repeat{'s' * (report.repeats != 1)}{'' if report.complete else ', stopped early'}, "
        f"{report.max_new_tokens} new tokens, temperature {report.temperature:g}, seed {report.seed}, all drafters "
        "with their default options and plain decoding interleaved in one run; the fastest in bold. Warm: after up to "
        f"{report.warm_up_prompts} other prompts of the family. {report.origin}"
        f"{f' Measured later, with plain decoding beside them on the same machine: {later}.' if later else ''}"
    )

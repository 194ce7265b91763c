"""The report of `specviz bench drafters` as Markdown.

Place in the flow: last step of the command; `drafters/stored.py` keeps the report beside its page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.bench.core.provenance import Origin
from specviz.bench.core.report import DASH, markdown_table, or_dash, spread, value_of
from specviz.bench.core.texts import NONE, counted, texts_table
from specviz.bench.drafters.rows import DrafterRow, Part, Section
from specviz.protocol.sweeps.points import BASELINE
from specviz.theory.repetition import MOST

NUMBERS = (
    "× plain, decoding", "× plain, whole call", "acceptance rate", "mean acceptance length", "MBSU",
    "nodes per target pass", "drafting, share of the round", "same output",
)  # fmt: skip


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
    parts += ["**The texts of plain decoding**", texts_table([(one.temperature, one.texts) for one in report.parts])]
    return _joined(report, parts)


def _winners(report: DrafterReport) -> str:
    """Family by family the fastest at each temperature, and how many different ones there are."""
    head = ["family", *(f"fastest, temperature {part.temperature:g}" for part in report.parts)]
    families = dict.fromkeys(section.family for part in report.parts for section in part.sections[1:])
    found = [{section.family: section for section in part.sections} for part in report.parts]
    body = [[family, *(_winner(one.get(family)) for one in found)] for family in families]
    counts = [f"{len(_winning(part))} at temperature {part.temperature:g}" for part in report.parts]
    return f"{markdown_table(head, body, words=len(head))}\n\nDifferent drafters among them: {', '.join(counts)}."


def _winning(part: Part) -> set[str]:
    """The drafters that are the fastest of some family; plain decoding is none."""
    return {row.drafter for section in part.sections[1:] for row in section.rows if row.winner} - {BASELINE}


def _winner(section: Section | None) -> str:
    row = next((one for one in section.rows if one.winner), None) if section is not None else None
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

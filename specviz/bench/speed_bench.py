"""A report in the form of SPEED-Bench: acceptance length by category, conditional acceptance by position, per drafter.

    runs of a contest ─► lengths of their steps ─► Report ─► report.json, report.md

The names in the file and what they mean are those of SPEED-Bench (2604.09557) as its measuring program writes them
(`specdec_bench` of NVIDIA's Model Optimizer, its metrics `acceptance_rate` and `specbench`): a step's length
is the tokens it gives, its own last one included, so that the rate at length 1 is always 1; steps without a draft
count; averages are over requests.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from specviz.bench.core.contest import ContestRun
from specviz.bench.core.report import markdown_table
from specviz.errors import BenchError
from specviz.theory.rows import RunCounts
from specviz.trace.header import Started

SOURCE = "SPEED-Bench, arXiv 2604.09557; keys as in specdec_bench of NVIDIA's Model Optimizer"
MOST_POSITIONS = 8
"""columns of the tables; the data has all"""

Histogram = Mapping[int, int]
"""length → steps that gave so many tokens; every length from 1 to the longest has an entry"""


@dataclass(frozen=True, slots=True)
class Category:
    """One family of prompts with one drafter."""

    drafter: str
    family: str
    prompts: int
    acceptance_length: float
    """mean over the prompts of a prompt's mean length"""
    conditional: tuple[float, ...]
    """[d-1]: of the steps that gave at least d tokens the share that gave more"""
    histogram: Histogram


@dataclass(frozen=True, slots=True)
class Report:
    """All drafters on one target."""

    about: Mapping[str, Any]
    """target, formats, sampling, machine and software"""
    by_prompt: Mapping[str, Mapping[str, float]]
    """drafter → prompt → its mean length"""
    rows: tuple[Category, ...]
    """by drafter, then by family in the order of the prompts"""


def lengths_of(counts: RunCounts) -> Counter[int]:
    """How many steps of a run gave how many tokens of its text."""
    return Counter({length: steps for length, steps in enumerate(counts.given, start=1) if steps})


def filled(lengths: Mapping[int, int]) -> Histogram:
    """With a 0 for every length below the longest that did not occur, which SPEED-Bench leaves out."""
    return {length: lengths.get(length, 0) for length in range(1, max(lengths, default=0) + 1)}


def conditional(histogram: Histogram) -> tuple[float, ...]:
    """[d-1]: steps of more than d tokens ÷ steps of at least d, up to the longest."""
    left, rates = sum(histogram.values()), list[float]()
    for length in range(1, max(histogram, default=0)):
        longer = left - histogram[length]
        rates.append(longer / left)
        left = longer
    return tuple(rates)


def report_of(runs: Sequence[ContestRun], header: Started) -> Report:
    """Of runs that drafted; the drafters in the order of their names. Raises BenchError where no run took a step."""
    groups: dict[tuple[str, str], list[ContestRun]] = {}
    for run in runs:
        if run.measured.counts.target_passes:
            groups.setdefault((run.contestant, run.family), []).append(run)
    if not groups:
        raise BenchError("there is no run to report on; give more time with --minutes.")
    rows = [
        _row(drafter, family, groups[drafter, family]) for drafter, family in sorted(groups, key=lambda key: key[0])
    ]
    by_prompt: dict[str, dict[str, float]] = {}
    for (drafter, _), group in groups.items():
        by_prompt.setdefault(drafter, {}).update(_by_prompt(group))
    settings = {
        "source": SOURCE,
        "target": header.target.name,
        "dtype": header.target.dtype,
        "temperature": header.sampling.temperature,
        "max_new_tokens": header.max_new_tokens,
        "machine": f"{header.machine.processor}, {header.machine.device}",
        "producer": header.producer,
    }
    return Report(settings, by_prompt, tuple(rows))


def _row(drafter: str, family: str, group: Sequence[ContestRun]) -> Category:
    lengths = Counter[int]()
    for run in group:
        lengths += lengths_of(run.measured.counts)
    by_prompt, histogram = _by_prompt(group), filled(lengths)
    return Category(drafter, family, len(by_prompt), mean(by_prompt.values()), conditional(histogram), histogram)


def _by_prompt(group: Sequence[ContestRun]) -> dict[str, float]:
    """Prompt → the mean length of its steps, over all its runs."""
    lengths: dict[str, Counter[int]] = {}
    for run in group:
        lengths.setdefault(run.prompt, Counter()).update(lengths_of(run.measured.counts))
    return {
        prompt: sum(length * steps for length, steps in counted.items()) / counted.total()
        for prompt, counted in lengths.items()
    }


# --- files -----------------------------------------------------------------------------------------------------------


def as_data(report: Report) -> dict[str, Any]:
    """What the JSON file holds: per drafter what SPEED-Bench writes per run, and the same of each category."""
    return {**report.about, "drafters": {drafter: _drafter(report, drafter) for drafter in report.by_prompt}}


def _drafter(report: Report, drafter: str) -> dict[str, Any]:
    rows, by_prompt = [row for row in report.rows if row.drafter == drafter], report.by_prompt[drafter]
    lengths = Counter[int]()
    for row in rows:
        lengths += Counter(row.histogram)
    return {
        "Request_AL": dict(by_prompt),
        "Category_AL": {row.family: row.acceptance_length for row in rows},
        "Average_AL": mean(by_prompt.values()),
        **_rates(filled(lengths)),
        "categories": {row.family: {"prompts": row.prompts, **_rates(row.histogram)} for row in rows},
    }


def _rates(histogram: Histogram) -> dict[str, Any]:
    rates = (1.0, *conditional(histogram))
    joint = list[float]()
    for rate in rates:
        joint.append(rate * (joint[-1] if joint else 1.0))
    return {
        "Acceptance_Length_Histogram": {str(length): steps for length, steps in histogram.items()},
        "Conditional_Acceptance_Rate": {str(length): rate for length, rate in enumerate(rates, start=1)},
        "Joint_Acceptance_Rate": {str(length): rate for length, rate in enumerate(joint, start=1)},
    }


def table(report: Report) -> str:
    """Categories as rows, positions as columns, in Markdown; a drafter's mean over its requests last."""
    deepest = min(MOST_POSITIONS, max((len(row.conditional) for row in report.rows), default=0))
    columns = ["drafter", "category", "prompts", "acceptance length", *(f"position {d + 1}" for d in range(deepest))]
    data, body = as_data(report)["drafters"], list[list[str]]()
    for drafter, by_prompt in report.by_prompt.items():
        rows = [row for row in report.rows if row.drafter == drafter]
        body += [_cells(row.family, row.prompts, row.acceptance_length, row.conditional, deepest) for row in rows]
        whole = tuple(data[drafter]["Conditional_Acceptance_Rate"].values())[1:]
        body.append(_cells("all", len(by_prompt), data[drafter]["Average_AL"], whole, deepest))
        for cells in body[-len(rows) - 1 :]:
            cells.insert(0, drafter)
    return markdown_table(columns, body, words=2)


def _cells(family: str, prompts: int, length: float, rates: Sequence[float], deepest: int) -> list[str]:
    shown = [f"{rates[d]:.2f}" if d < len(rates) else "–" for d in range(deepest)]
    return [family, str(prompts), f"{length:.2f}", *shown]


def markdown(report: Report) -> str:
    """The report to read."""
    about = report.about
    settings = (
        f"{about['target']} in {about['dtype']}, temperature {about['temperature']:g}, at most "
        f"{about['max_new_tokens']} tokens, on {about['machine']} ({about['producer']})."
    )
    note = (
        f"After {about['source']}. Acceptance length: tokens that a step gives, its own last one included, as the mean "
        "over prompts. Position d: of the steps that gave at least d tokens the share that gave more."
    )
    return f"# Acceptance by category and position\n\n{settings}\n\n{table(report)}\n\n{note}\n"


def write(report: Report, path: Path) -> tuple[Path, Path]:
    """`path` with `.json` and with `.md` in place of its ending. Raises BenchError where they cannot be written."""
    data, text = path.with_suffix(".json"), path.with_suffix(".md")
    try:
        data.write_text(json.dumps(as_data(report), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        text.write_text(markdown(report), encoding="utf-8")
    except OSError as error:
        raise BenchError(f"{path.name}: cannot be written ({error.strerror}); choose another --report.") from None
    return data, text

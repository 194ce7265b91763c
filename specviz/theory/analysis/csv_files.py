"""The analysis as CSV tables: flat columns, one file per table, for spreadsheets and data frames.

Place in the flow: what `specviz analyse --csv` writes. Text that a spreadsheet would run as a formula gets a leading
apostrophe; `specviz.read(…).tables()` gives the text as it is.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields

from specviz.protocol.sweeps.store import cell
from specviz.theory.analysis.analyse import Analysis
from specviz.theory.analysis.facts import Candidate, RoundFacts, RunFacts
from specviz.theory.analysis.rates import Rate, Row
from specviz.trace.events import Agreement

NUMBERS = [field.name for field in fields(Agreement)]
PLAIN = [field.name for field in fields(Candidate) if field.name not in ("belief", "judged")]
TABLES = (
    "by_depth", "by_draft_rank", "agreement", "by_target_rank", "by_target_entropy", "by_token_class", "by_copied",
    "by_position", "patterns",
)  # fmt: skip
"""fields of an `Analysis` that are rows of rates"""


def csv_files(runs: Sequence[RunFacts], analyses: Sequence[Analysis]) -> Mapping[str, str]:
    """File name → content."""
    return {
        "candidates.csv": _table(
            ["drafter", *PLAIN, *(f"belief_{name}" for name in NUMBERS), *(f"judged_{name}" for name in NUMBERS)],
            _candidates(runs),
        ),
        "rounds.csv": _table(
            ["drafter", *(field.name for field in fields(RoundFacts))],
            ([run.drafter, *_values(this)] for run in runs for this in run.rounds),
        ),
        "rates.csv": _table(["drafter", "table", "case", "hits", "of", "value", "low", "high"], _rates(analyses)),
        "pairs.csv": _table(
            ["drafter", "drafted", "wanted", "drafted_token", "wanted_token", "count", "example_run", "example_round"],
            _pairs(analyses),
        ),
        "failures.csv": _table(
            ["drafter", "kind", "words", "hits", "of", "value", "low", "high", "run", "round", "drafted", "wanted"],
            _failures(analyses),
        ),
        "calibration.csv": _table(
            ["drafter", "draft_probability", "count", "mean_draft", "mean_target", "accepted", "tested"],
            _calibration(analyses),
        ),
    }


def _table(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(list(map(cell, line)) for line in lines)
    return text.getvalue()


def _values(record: object) -> list[object]:
    return [getattr(record, field.name) for field in fields(record)]  # type: ignore[arg-type]


def _candidates(runs: Sequence[RunFacts]) -> Iterator[list[object]]:
    for run in runs:
        for candidate in run.candidates:
            numbers = [getattr(side, name, None) for side in (candidate.belief, candidate.judged) for name in NUMBERS]
            yield [run.drafter, *(getattr(candidate, name) for name in PLAIN), *numbers]


def _rates(analyses: Sequence[Analysis]) -> Iterator[list[object]]:
    for analysis in analyses:
        yield [analysis.drafter, "acceptance", "all", *_numbers(analysis.acceptance)]
        for name in TABLES:
            rows: tuple[Row, ...] = getattr(analysis, name)
            for row in rows:
                yield [analysis.drafter, name, row.label, *_numbers(row.rate)]


def _numbers(rate: Rate) -> list[object]:
    return [rate.hits, rate.of, rate.value, rate.low, rate.high]


def _pairs(analyses: Sequence[Analysis]) -> Iterator[list[object]]:
    for analysis in analyses:
        for pair in analysis.pairs:
            first = pair.examples[0]
            yield [
                analysis.drafter, pair.drafted, pair.wanted, pair.drafted_token, pair.wanted_token, pair.count,
                first.run,
                first.round,
            ]  # fmt: skip


def _failures(analyses: Sequence[Analysis]) -> Iterator[list[object]]:
    for analysis in analyses:
        for failure in analysis.failures:
            first = failure.examples[0]
            where = [first.run, first.round, first.drafted, first.wanted]
            yield [analysis.drafter, failure.kind, failure.words, *_numbers(failure.share), *where]


def _calibration(analyses: Sequence[Analysis]) -> Iterator[list[object]]:
    for analysis in analyses:
        for some in analysis.calibration.bins if analysis.calibration else ():
            yield [
                analysis.drafter, some.label, some.count, some.mean_draft, some.mean_target, some.accepted.hits,
                some.accepted.of,
            ]  # fmt: skip

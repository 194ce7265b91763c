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

NUMBERS = [one.name for one in fields(Agreement)]
PLAIN = [one.name for one in fields(Candidate) if one.name not in ("belief", "judged")]
TABLES = (
    "by_depth", "by_draft_rank", "agreement", "by_target_rank", "by_target_entropy", "by_token_class", "by_copied",
    "by_position", "patterns",
)  # fmt: skip
"""fields of an `Analysis` that are rows of rates"""


def csv_files(runs: Sequence[RunFacts], found: Sequence[Analysis]) -> Mapping[str, str]:
    """File name → content."""
    return {
        "candidates.csv": _table(
            ["drafter", *PLAIN, *(f"belief_{name}" for name in NUMBERS), *(f"judged_{name}" for name in NUMBERS)],
            _candidates(runs),
        ),
        "rounds.csv": _table(
            ["drafter", *(one.name for one in fields(RoundFacts))],
            ([run.drafter, *_values(this)] for run in runs for this in run.rounds),
        ),
        "rates.csv": _table(["drafter", "table", "case", "hits", "of", "value", "low", "high"], _rates(found)),
        "pairs.csv": _table(
            ["drafter", "drafted", "wanted", "drafted_token", "wanted_token", "count", "example_run", "example_round"],
            _pairs(found),
        ),
        "failures.csv": _table(
            ["drafter", "kind", "words", "hits", "of", "value", "low", "high", "run", "round", "drafted", "wanted"],
            _failures(found),
        ),
        "calibration.csv": _table(
            ["drafter", "draft_probability", "count", "mean_draft", "mean_target", "accepted", "tested"],
            _calibration(found),
        ),
    }


def _table(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(list(map(cell, line)) for line in lines)
    return text.getvalue()


def _values(record: object) -> list[object]:
    return [getattr(record, one.name) for one in fields(record)]  # type: ignore[arg-type]


def _candidates(runs: Sequence[RunFacts]) -> Iterator[list[object]]:
    for run in runs:
        for one in run.candidates:
            numbers = [getattr(side, name, None) for side in (one.belief, one.judged) for name in NUMBERS]
            yield [run.drafter, *(getattr(one, name) for name in PLAIN), *numbers]


def _rates(found: Sequence[Analysis]) -> Iterator[list[object]]:
    for one in found:
        yield [one.drafter, "acceptance", "all", *_numbers(one.acceptance)]
        for name in TABLES:
            rows: tuple[Row, ...] = getattr(one, name)
            for row in rows:
                yield [one.drafter, name, row.label, *_numbers(row.rate)]


def _numbers(rate: Rate) -> list[object]:
    return [rate.hits, rate.of, rate.value, rate.low, rate.high]


def _pairs(found: Sequence[Analysis]) -> Iterator[list[object]]:
    for one in found:
        for pair in one.pairs:
            first = pair.examples[0]
            yield [
                one.drafter, pair.drafted, pair.wanted, pair.drafted_token, pair.wanted_token, pair.count, first.run,
                first.round,
            ]  # fmt: skip


def _failures(found: Sequence[Analysis]) -> Iterator[list[object]]:
    for one in found:
        for failure in one.failures:
            first = failure.examples[0]
            where = [first.run, first.round, first.drafted, first.wanted]
            yield [one.drafter, failure.kind, failure.words, *_numbers(failure.share), *where]


def _calibration(found: Sequence[Analysis]) -> Iterator[list[object]]:
    for one in found:
        for some in one.calibration.bins if one.calibration else ():
            yield [
                one.drafter, some.label, some.count, some.mean_draft, some.mean_target, some.accepted.hits,
                some.accepted.of,
            ]  # fmt: skip

"""The report in the form of SPEED-Bench: lengths of steps, averages over requests, conditional and joint rates."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from specviz.bench.core.contest import ContestRun, Measured
from specviz.bench.speed_bench import as_data, conditional, filled, lengths_of, markdown, report_of, table, write
from specviz.errors import BenchError
from specviz.theory.rows import RunCounts, counts_of
from tests.trace.changing import sample

HEADER = sample().started


def run(prompt: str, family: str, passes: int, *accepted: int, drafter: str = "ngram") -> ContestRun:
    """`accepted`: of the passes how many accepted depth 1, 2, …"""
    given = tuple(before - after for before, after in pairwise([passes, *accepted, 0]))
    counts = RunCounts(passes + sum(accepted), passes, steps=passes, given=given)
    return ContestRun(drafter, prompt, family, 0, Measured([], 1.0, 0.0, counts))


RUNS = [run("a", "code", 10, 6, 2), run("b", "code", 20, 0, 0), run("c", "chat", 4, 4, 4)]


def test_a_steps_length_is_what_it_accepted_and_its_own_token() -> None:
    assert lengths_of(RUNS[0].measured.counts) == {1: 4, 2: 4, 3: 2}
    assert lengths_of(RUNS[1].measured.counts) == {1: 20}
    assert filled(lengths_of(RUNS[2].measured.counts)) == {1: 0, 2: 0, 3: 4}


def test_the_mean_length_of_a_runs_steps_is_its_tokens_per_pass() -> None:
    """The last of the sample's eight rounds accepted three, of which two are text, and its bonus is none; with one
    that rode along in the second, tokens are the same."""
    rounds = [*sample().rounds]
    rounds[1] = replace(rounds[1], drafted=replace(rounds[1].drafted, riding=rounds[1].judged.path[-1:]))
    counts = counts_of(rounds, 20)
    assert lengths_of(counts) == {1: 2, 2: 3, 3: 1, 4: 1, 5: 1}
    report = report_of([ContestRun("ngram", "a", "code", 0, Measured([], 1.0, 0.0, counts))], HEADER)
    assert report.rows[0].acceptance_length == 20 / 8


@pytest.mark.parametrize(
    ("histogram", "rates"),
    [({1: 4, 2: 4, 3: 2}, (0.6, 2 / 6)), ({1: 0, 2: 0, 3: 4}, (1.0, 1.0)), ({1: 5}, ()), ({}, ())],
)
def test_conditional_acceptance_is_of_the_steps_that_came_so_far(
    histogram: dict[int, int], rates: tuple[float, ...]
) -> None:
    assert conditional(histogram) == pytest.approx(rates)


def test_averages_are_over_requests_and_not_over_steps() -> None:
    data = as_data(report_of(RUNS, HEADER))["drafters"]["ngram"]
    assert data["Request_AL"] == {"a": 1.8, "b": 1.0, "c": 3.0}
    assert data["Category_AL"] == {"code": 1.4, "chat": 3.0}
    assert data["Average_AL"] == pytest.approx(5.8 / 3)
    assert data["Acceptance_Length_Histogram"] == {"1": 24, "2": 4, "3": 6}
    assert data["Conditional_Acceptance_Rate"] == pytest.approx({"1": 1.0, "2": 10 / 34, "3": 0.6})
    assert data["Joint_Acceptance_Rate"] == pytest.approx({"1": 1.0, "2": 10 / 34, "3": 6 / 34})
    assert data["categories"]["code"]["prompts"] == 2
    assert data["categories"]["code"]["Conditional_Acceptance_Rate"] == pytest.approx({"1": 1.0, "2": 0.2, "3": 2 / 6})


def test_the_table_has_a_row_per_category_and_one_for_all_of_a_drafters() -> None:
    lines = table(report_of([*RUNS, run("a", "code", 2, 1, drafter="model")], HEADER)).splitlines()
    assert lines[0] == "| drafter | category | prompts | acceptance length | position 1 | position 2 |"
    assert lines[2:] == [
        "| ngram | code | 2 | 1.40 | 0.20 | 0.33 |",
        "| ngram | chat | 1 | 3.00 | 1.00 | 1.00 |",
        "| ngram | all | 3 | 1.93 | 0.29 | 0.60 |",
        "| model | code | 1 | 1.50 | 0.50 | – |",
        "| model | all | 1 | 1.50 | 0.50 | – |",
    ]


def test_both_files_are_written_and_say_on_what_they_were_measured(tmp_path: Path) -> None:
    report = report_of(RUNS, HEADER)
    data, text = write(report, tmp_path / "mine.md")
    assert [data.name, text.name] == ["mine.json", "mine.md"]
    stored = json.loads(data.read_text())
    assert stored == json.loads(json.dumps(as_data(report)))
    assert stored["target"] == HEADER.target.name
    assert text.read_text() == markdown(report)
    assert f"{HEADER.target.name} in {HEADER.target.dtype}, temperature" in markdown(report)


def test_a_place_that_cannot_be_written_and_nothing_to_report_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"no/mine|mine: cannot be written"):
        write(report_of(RUNS, HEADER), tmp_path / "no" / "mine")
    with pytest.raises(BenchError, match="no run to report on"):
        report_of([run("a", "code", 0)], HEADER)

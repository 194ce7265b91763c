"""Predicted speedups beside recorded and measured ones."""

from dataclasses import replace

import pytest

from specviz.bench.prediction import CaseSpeedups, compare, small_sweep, table, verdict
from specviz.errors import BenchError
from tests.app.doubles import catalog
from tests.app.lab.sweeps import drafted, plain, sweep_result

RECORDED = [plain(), drafted(ratio=2.0), plain(prompt="b"), drafted(prompt="b", ratio=4.0)]
PREDICTED = [plain(), drafted(ratio=1.5), plain(prompt="b"), drafted(prompt="b", ratio=3.5)]


def test_every_case_has_its_median_over_the_prompts_recorded_and_predicted() -> None:
    assert compare(RECORDED, PREDICTED) == [CaseSpeedups(("model", 2, 0.0), 3.0, 2.5)]


def test_what_was_measured_is_compared_on_the_same_prompts_alone() -> None:
    (row,) = compare(RECORDED, PREDICTED, [plain(), drafted(ratio=1.2)])
    assert row == CaseSpeedups(("model", 2, 0.0), 2.0, 1.5, 1.2)
    assert row.error == pytest.approx(0.25)
    assert table([row]).splitlines()[2] == "| model | 2 | 0 | 2.00 | 1.50 | 1.20 | +25.0% |"


def test_texts_that_repeat_themselves_are_in_no_row() -> None:
    looped = [plain(prompt="c"), drafted(prompt="c", ratio=9.0, repetition=0.6)]
    assert compare([*RECORDED, *looped], [*PREDICTED, *looped]) == compare(RECORDED, PREDICTED)


def test_a_prediction_that_was_not_checked_has_no_column_for_it() -> None:
    assert table([CaseSpeedups(("ngram", None, 0.8), 1.0, 1.1)]).splitlines()[2] == "| ngram | – | 0.8 | 1.00 | 1.10 |"
    assert verdict([CaseSpeedups(("ngram", None, 0.8), 1.0, 1.1)]) == ""


def test_the_verdict_names_the_case_that_is_furthest_off_whatever_its_side() -> None:
    rows = [
        CaseSpeedups(("model", gamma, 0.0), 1.0, predicted, 1.0) for gamma, predicted in ((1, 1.1), (2, 0.7), (4, 1.2))
    ]
    assert verdict(rows) == (
        "Predicted against measured, 3 cases: off by 20.0% in the median, at most by 30.0% (model at γ = 2)."
    )


def test_the_small_sweep_has_the_named_drafters_on_prompts_that_do_not_loop() -> None:
    looped = [replace(plain(), repetition=0.6), drafted()]
    result = sweep_result(*looped, *(point(prompt=name) for name in "bc" for point in (plain, drafted)))
    known = catalog()
    offered = replace(known, prompts=tuple(replace(known.prompts[0], id=name) for name in "abc"))
    spec = small_sweep(result, offered, ["model"], 1)
    assert ([drafter.name for drafter in spec.drafters], spec.prompt_ids) == (["model"], ("b",))
    with pytest.raises(BenchError, match="no drafter called eagle to check; it has model"):
        small_sweep(result, offered, ["eagle"], 1)

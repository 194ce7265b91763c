"""The alignment study's own numbers: changes are against the same drafter before, rows on the same texts together."""

from argparse import Namespace
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from specviz.errors import OptionError
from specviz.studies.alignment.measure import TOKENS, measure
from specviz.studies.alignment.result import (
    NUMBERS,
    STUDY,
    AlignmentCell,
    AlignmentFigures,
    AlignmentStart,
    AlignmentStudy,
    Measured,
    markdown,
    rows,
    view,
)
from specviz.theory.formulas import memory_bound_speedup
from specviz.training.alignment.texts import TOKENS_PER_STEP

ALPHA, TAU, MBSU, _, LAST = NUMBERS


def measured(english: float, python: float) -> Measured:
    """Two temperatures; everything follows from alpha."""
    by = {
        domain: AlignmentFigures(
            alpha, 1 + alpha, memory_bound_speedup(1 + alpha, 4, 4.0), alpha / 2, (alpha, alpha / 4)
        )
        for domain, alpha in (("english", english), ("python", python))
    }
    return {"0": by, "1": by}


RESULT = AlignmentStudy(
    gamma=4,
    tokens=1000,
    prompts={"english": 2, "python": 2},
    starts={"weak": AlignmentStart(4.0, 0.01, measured(0.5, 0.24))},
    cells=(
        AlignmentCell("grid", "weak", "fkl", "target", "both", (0.0, 1.0), 9.0, measured(0.76, 0.5)),
        AlignmentCell("grid", "weak", "tvd", "corpus+drafter", "english", (0.0,), 9.0, measured(0.5, 0.12)),
    ),
    planned=2,
    models={"target": "0" * 64},
    command="the command",
    origin="a machine, a day",
)


def test_changes_are_against_the_drafter_before() -> None:
    found = rows(RESULT, ALPHA, "0", "both")
    seen = [(row.value, row.change) for row in found]
    assert seen == [(0.37, None), (0.63, pytest.approx(0.26)), (0.31, pytest.approx(-0.06))]
    assert [row.texts for row in found] == ["", "target-written", "corpus + drafter-written"]
    assert view(RESULT, "alpha", "0", "both").sentence == (
        "After 1,000 tokens each, 1 of 2 alignments are below where they began. The largest gain: weak with fkl on "
        "target-written text, +0.260 to 0.630."
    )
    assert [row.value for row in rows(RESULT, LAST, "1", "python")] == [0.06, 0.125, 0.03]
    assert rows(RESULT, TAU, "0", "english")[1].value == 1.76
    assert rows(RESULT, MBSU, "0", "english")[1].value == pytest.approx(1.76 * 4 / 8)


def test_a_study_in_which_nothing_helps_says_so() -> None:
    found = view(replace(RESULT, cells=RESULT.cells[1:]), "alpha", "0", "both")
    assert found.sentence.endswith("1 of 1 alignments are below where they began. None is above.")


@pytest.mark.parametrize("choice", [("beta", "0", "both"), ("alpha", "2", "both"), ("alpha", "0", "french")])
def test_what_was_not_measured_is_refused(choice: tuple[str, str, str]) -> None:
    with pytest.raises(OptionError, match="was not measured"):
        view(RESULT, *choice)


def test_the_chart_has_a_line_before_and_a_mark_per_alignment() -> None:
    line, first, second = view(RESULT, "alpha", "0", "both").chart.panels[0].series
    assert (line.y, line.mode) == ([0.37, 0.37], "lines")
    assert (first.x, first.y, second.x) == (["fkl"], [0.63], ["tvd"])
    assert second.name == "weak on corpus + drafter-written text, english alone"


def test_rows_on_the_same_texts_stand_together_in_the_order_of_the_first() -> None:
    texts = (("fkl", "target"), ("fkl", "corpus"), ("rkl", "target"), ("fkl", "drafter"))
    cells = tuple(replace(RESULT.cells[0], loss=loss, data=data) for loss, data in texts)
    lines = markdown(replace(RESULT, cells=cells)).splitlines()
    found = [line.split(" | ")[:2] for line in lines if line.startswith("| ")]
    grid = ["before", "target", "target", "corpus", "drafter"]
    assert [data.removeprefix("| ") for data, _ in found if "---" not in data] == 2 * ["texts", *grid]
    assert [loss for _, loss in found[2:5]] == ["–", "fkl", "rkl"]


def test_the_shipped_study_is_small_and_its_mbsu_follows_from_its_tau() -> None:
    study = STUDY.shipped()
    assert STUDY.path.stat().st_size < 100_000
    for cell in study.cells:
        ratio = study.starts[cell.start].memory_ratio
        for by in cell.after.values():
            for one in by.values():
                assert one.mbsu == pytest.approx(
                    memory_bound_speedup(one.block_efficiency, study.gamma, ratio), abs=2e-4
                )
                assert len(one.by_position) == study.gamma


def test_tokens_that_end_within_a_step_are_refused_before_anything_is_trained() -> None:
    workplace: Any = SimpleNamespace(args=Namespace(tokens=2 * TOKENS_PER_STEP + 1))
    with pytest.raises(OptionError, match=f"choose a multiple of {TOKENS_PER_STEP}, such as {TOKENS}"):
        measure(workplace)
    assert TOKENS % TOKENS_PER_STEP == 0

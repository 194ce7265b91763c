"""The alignment study on the page: the numbers are the file's, changes are against the same drafter before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest

from specviz.app.alignment.figure import alignment_figure
from specviz.app.alignment.study import alignment_table, build, show
from specviz.app.alignment.view import FILE, alignment_view, shipped
from specviz.errors import OptionError
from specviz.studies.alignment.result import (
    AlignmentCell,
    AlignmentFigures,
    AlignmentStart,
    AlignmentStudy,
    Measured,
    write,
)
from specviz.theory.formulas import memory_bound_speedup


def measured(english: float, python: float) -> Measured:
    """Two temperatures; everything follows from alpha."""
    by = {
        domain: AlignmentFigures(
            alpha, 1 + alpha, memory_bound_speedup(1 + alpha, 4, 4.0), alpha / 2, (alpha, alpha / 4)
        )
        for domain, alpha in (("english", english), ("python", python))
    }
    return {"0": by, "1": by}


STUDY = AlignmentStudy(
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
    view = alignment_view(STUDY, "alpha", "0", "both")
    assert [(row.value, row.change) for row in view.rows] == [
        (0.37, None),
        (0.63, pytest.approx(0.26)),
        (0.31, pytest.approx(-0.06)),
    ]
    assert [row.texts for row in view.rows] == ["", "target-written", "corpus + drafter-written"]
    assert view.sentence == (
        "After 1,000 tokens each, 1 of 2 alignments are below where they began. The largest gain: weak with fkl on "
        "target-written text, +0.260 to 0.630."
    )
    python = alignment_view(STUDY, "last", "1", "python")
    assert [row.value for row in python.rows] == [0.06, 0.125, 0.03]
    assert alignment_view(STUDY, "tau", "0", "english").rows[1].value == 1.76
    assert alignment_view(STUDY, "mbsu", "0", "english").rows[1].value == pytest.approx(1.76 * 4 / 8)


def test_a_study_in_which_nothing_helps_says_so() -> None:
    view = alignment_view(replace(STUDY, cells=STUDY.cells[1:]), "alpha", "0", "both")
    assert view.sentence.endswith("1 of 1 alignments are below where they began. None is above.")


@pytest.mark.parametrize("choice", [("beta", "0", "both"), ("alpha", "2", "both"), ("alpha", "0", "french")])
def test_what_was_not_measured_is_refused(choice: tuple[str, str, str]) -> None:
    with pytest.raises(OptionError, match="was not measured"):
        alignment_view(STUDY, *choice)


def test_the_chart_has_a_line_before_and_a_mark_per_alignment() -> None:
    figure = alignment_figure(alignment_view(STUDY, "alpha", "0", "both"))
    line, first, second = figure.data
    assert (tuple(line.y), line.mode) == ((0.37, 0.37), "lines")
    assert (first.x, first.y, second.x) == (("fkl",), (0.63,), ("tvd",))
    assert second.name == "weak on corpus + drafter-written text, english alone"


def test_no_name_becomes_markup() -> None:
    bad = "<img src=x>"
    study = replace(STUDY, cells=(replace(STUDY.cells[0], loss=bad, data=bad, start="weak"),))
    view = alignment_view(study, "alpha", "0", "both")
    assert "<img" not in alignment_table(view)
    figure = alignment_figure(view)
    assert "<img" not in figure.data[1].name
    assert "<img" not in json.dumps(list(figure.layout.xaxis.categoryarray), default=str)


def test_the_study_draws_what_is_chosen() -> None:
    with gr.Blocks() as page:
        build(STUDY)
    names = {getattr(block, "elem_id", None) for block in page.blocks.values()}
    assert {"sv-alignment-plot", "sv-alignment-table"} <= names
    sentence, _, table = show(STUDY, "alpha", "1", "python")
    assert "1 of 2" in str(sentence)
    assert '<td data-column="after">0.500</td>' in str(table)
    assert "was not measured" in str(show(STUDY, None, "0", "both")[0])


def test_a_damaged_result_is_logged_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert shipped(tmp_path / "none.json") is None
    assert not caplog.records
    path = tmp_path / "alignment.json"
    write(STUDY, path)
    read = shipped(path)
    assert read is not None
    assert read.starts == STUDY.starts
    assert read.cells[0] == STUDY.cells[0]
    path.write_text(path.read_text(encoding="utf-8")[:200], encoding="utf-8")
    assert shipped(path) is None
    assert "is missing or damaged, and left out" in caplog.text


def test_the_shipped_study_is_small_and_its_mbsu_follows_from_its_tau() -> None:
    study = shipped()
    assert study is not None
    assert FILE.stat().st_size < 100_000
    for cell in study.cells:
        ratio = study.starts[cell.start].memory_ratio
        for by in cell.after.values():
            for one in by.values():
                assert one.mbsu == pytest.approx(
                    memory_bound_speedup(one.block_efficiency, study.gamma, ratio), abs=2e-4
                )
                assert len(one.by_position) == study.gamma

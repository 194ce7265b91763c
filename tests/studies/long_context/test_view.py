"""The study of long contexts on the page: the numbers are the file's, a flat line is said to be flat."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest

from specviz.app.long_context.figure import long_context_figure
from specviz.app.long_context.study import build, long_context_table, show
from specviz.errors import OptionError
from specviz.protocol.sweeps.intervals import Estimate
from specviz.studies.long_context.result import (
    Beyond,
    BeyondContext,
    ContextAcceptance,
    ContextCost,
    LongContexts,
    RaisedLoss,
    long_context_view,
    numbers,
    read,
    shipped,
    write,
)

STUDY = LongContexts(
    costs=(
        ContextCost("longspec", 256, 2.0, 1.5, 3.0, 2**20),
        ContextCost("model", 256, 1.0, 0.9, 1.2, 2**20),
        ContextCost("longspec", 1024, 3.0, 2.5, 4.0, 2**20),
        ContextCost("model", 1024, 4.0, 3.9, 4.2, 2**22),
    ),
    repeats=3,
    acceptance=(
        ContextAcceptance(False, 2, 96, (0.5, 0.4)),
        ContextAcceptance(False, 97, 192, (0.25, 0.2)),
        ContextAcceptance(True, 2, 96, (0.5, 0.4)),
        ContextAcceptance(True, 97, 192, (0.75, 0.7)),
    ),
    trained_tokens=1000,
    window=192,
    trained_context=1024,
    raised_context=8448,
    models={"target": "0" * 64},
    command="the command",
    origin="a <machine>, a day",
)

BEYOND = Beyond(
    places=((1, 1024), (1025, 2048)),
    losses=(RaisedLoss(10_000.0, 1.0, (2.0, 5.0)), RaisedLoss(40_000.0, 1.0, (2.25, 2.75))),
    base=40_000.0,
    texts=16,
    drafts=192,
    contexts=(
        BeyondContext(1024, False, 2.0, (0.5, 0.4), (0.6, 0.5), Estimate(0.1, 0.05, 0.15)),
        BeyondContext(1024, True, 2.25, (0.4, 0.3), (0.5, 0.4), Estimate(0.1, 0.05, 0.15)),
        BeyondContext(4096, True, 3.5, (0.25, 0.2), (0.375, 0.3), Estimate(0.125, -0.02, 0.25)),
    ),
)


def test_beyond_the_targets_context_acceptance_stands_beside_the_targets_own_loss() -> None:
    view = long_context_view(replace(STUDY, beyond=BEYOND, acceptance_origin="another day"), "beyond")
    assert [(one.name, one.contexts, one.values) for one in view.lines] == [
        ("without anchors", (1024.0, 4096.0), (0.4, 0.25)),
        ("with anchors", (1024.0, 4096.0), (0.5, 0.375)),
    ]
    assert "from 0.500 to 0.375 with anchors, from 0.400 to 0.250 without" in view.sentence
    assert "at 4,096 anchors bring +0.125 (95 % by texts: -0.020 to +0.250; one network of each)" in view.sentence
    assert "base is raised to 40,000, untrained, and its own loss goes from 2.25 to 3.50 nats" in view.measured_on
    assert view.origin == "another day"
    table = long_context_table(view)
    cells = '<td data-column="1,024">{}</td><td data-column="4,096">{}</td>'.format
    assert "nats per token</td>" + cells("2.25", "3.50") in table
    assert "with anchors</td>" + cells("0.600", "–") in table
    assert "gain by anchors</td>" + cells("+0.100", "+0.125") in table
    assert "by texts</td>" + cells("+0.050 to +0.150", "-0.020 to +0.250") in table
    figure = long_context_figure(view)
    assert figure.layout.yaxis.rangemode == "tozero"
    assert (figure.layout.shapes[0].x0, figure.layout.yaxis.type) == (1024, None)
    assert figure.layout.annotations[0].x == pytest.approx(3.0103), "a logarithm: annotations on such an axis are"


def test_a_study_without_it_has_no_such_choice() -> None:
    assert [one.name for one in numbers(STUDY)] == ["bytes", "time", "acceptance"]
    assert [one.name for one in numbers(replace(STUDY, beyond=BEYOND))] == ["bytes", "time", "acceptance", "beyond"]
    with pytest.raises(OptionError, match="'beyond' was not measured; choose bytes, time, acceptance"):
        long_context_view(STUDY, "beyond")


def test_a_file_from_before_opens_and_one_of_now_comes_back_whole(tmp_path: Path) -> None:
    file, now = tmp_path / "study.json", replace(STUDY, beyond=BEYOND, acceptance_origin="another day")
    write(now, file)
    assert read(file) == now
    old = json.loads(file.read_text())
    del old["beyond"], old["acceptance_origin"]
    file.write_text(json.dumps(old))
    assert read(file) == STUDY


def test_bytes_time_and_acceptance_are_the_files() -> None:
    sizes = long_context_view(STUDY, "bytes")
    assert [(one.name, one.values) for one in sizes.lines] == [("longspec", (1.0, 1.0)), ("model", (1.0, 4.0))]
    assert sizes.sentence.endswith("longspec ×1.0, model ×4.0.")
    assert "raised to 8,448 tokens" in sizes.measured_on
    times = long_context_view(STUDY, "time")
    assert times.lines[0].values == (2.0, 3.0)
    assert (times.lines[0].low, times.lines[0].high) == ((1.5, 2.5), (3.0, 4.0))
    accepted = long_context_view(STUDY, "acceptance")
    assert [one.values for one in accepted.lines] == [(0.5, 0.25), (0.5, 0.75)]
    assert "of 97 to 192 tokens" in accepted.sentence
    assert "0.750 by the network trained with anchors, 0.250 by the one without" in accepted.sentence
    assert "raised" not in accepted.measured_on


def test_the_chart_has_a_line_for_each_and_quartiles_of_times_alone() -> None:
    figure = long_context_figure(long_context_view(STUDY, "time"))
    assert [trace.name for trace in figure.data] == ["longspec", "model"]
    assert list(figure.data[0].error_y.array) == [1.0, 1.0]
    assert figure.layout.yaxis.type == "log"
    assert long_context_figure(long_context_view(STUDY, "bytes")).data[0].error_y.array is None
    assert long_context_figure(long_context_view(STUDY, "acceptance")).layout.yaxis.type != "log"


def test_what_was_not_measured_is_refused() -> None:
    with pytest.raises(OptionError, match="'joules' was not measured; choose bytes, time, acceptance"):
        long_context_view(STUDY, "joules")


def test_a_missing_or_damaged_file_costs_the_page_its_fold_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "study.json"
    assert shipped(file) is None
    write(STUDY, file)
    assert shipped(file) == STUDY
    file.write_text(json.dumps({"costs": 3}))
    assert shipped(file) is None
    assert "is missing or damaged, and left out" in caplog.text


def test_the_study_draws_what_is_chosen() -> None:
    with gr.Blocks() as page:
        build(STUDY)
    names = {getattr(block, "elem_id", None) for block in page.blocks.values()}
    assert {"sv-long-context-number", "sv-long-context-plot"} <= names
    _, figure, table, origin = show(STUDY, "acceptance")
    assert "a &lt;machine&gt;, a day" in str(origin)
    assert figure.data[1].name == "with anchors"
    assert "0.75" in str(table)

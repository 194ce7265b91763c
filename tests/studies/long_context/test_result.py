"""The study of long contexts: the numbers are the file's, a flat line is said to be flat, tables say what was found."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.app.studies.chart import draw
from specviz.app.studies.tab import tables_html
from specviz.protocol.sweeps.intervals import Estimate
from specviz.studies.long_context.result import STUDY as DECLARED
from specviz.studies.long_context.result import (
    Beyond,
    BeyondContext,
    ContextAcceptance,
    ContextCost,
    LongContexts,
    RaisedLoss,
    choices,
    markdown,
    view,
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


def lines(study: LongContexts, number: str) -> list[tuple[str, list[float]]]:
    (panel,) = view(study, number).chart.panels
    return [(line.name, list(line.y)) for line in panel.series]


def test_beyond_the_targets_context_acceptance_stands_beside_the_targets_own_loss() -> None:
    shown = view(replace(STUDY, beyond=BEYOND, acceptance_origin="another day"), "beyond")
    seen = [(line.name, line.x, line.y) for line in shown.chart.panels[0].series]
    assert seen == [("without anchors", [1024, 4096], [0.4, 0.25]), ("with anchors", [1024, 4096], [0.5, 0.375])]
    assert "from 0.500 to 0.375 with anchors, from 0.400 to 0.250 without" in shown.sentence
    assert "at 4,096 anchors bring +0.125 (95 % by texts: -0.020 to +0.250; one network of each)" in shown.sentence
    assert "base is raised to 40,000, untrained, and its own loss goes from 2.25 to 3.50 nats" in shown.sentence
    assert shown.origin == "another day"
    table = tables_html(shown)
    cells = '<td data-column="1,024">{}</td><td data-column="4,096">{}</td>'.format
    assert "nats per token</td>" + cells("2.25", "3.50") in table
    assert "with anchors</td>" + cells("0.600", "–") in table
    assert "gain by anchors</td>" + cells("+0.100", "+0.125") in table
    assert "by texts</td>" + cells("+0.050 to +0.150", "-0.020 to +0.250") in table
    figure = draw(shown.chart)
    assert figure.layout.yaxis.rangemode == "tozero"
    assert (figure.layout.shapes[0].x0, figure.layout.yaxis.type) == (1024, None)
    assert figure.layout.annotations[0].x == pytest.approx(3.0103), "a logarithm: annotations on such an axis are"


def test_a_study_without_it_has_no_such_choice() -> None:
    (without,), (with_it,) = choices(STUDY), choices(replace(STUDY, beyond=BEYOND))
    assert [value for _, value in without.options] == ["bytes", "time", "acceptance"]
    assert [value for _, value in with_it.options] == ["bytes", "time", "acceptance", "beyond"]


def test_a_file_from_before_opens_and_one_of_now_comes_back_whole(tmp_path: Path) -> None:
    file, now = tmp_path / "study.json", replace(STUDY, beyond=BEYOND, acceptance_origin="another day")
    DECLARED.codec.write(now, file)
    assert DECLARED.codec.read(file) == now
    old = json.loads(file.read_text())
    del old["beyond"], old["acceptance_origin"]
    file.write_text(json.dumps(old))
    assert DECLARED.codec.read(file) == STUDY


def test_bytes_time_and_acceptance_are_the_files() -> None:
    assert lines(STUDY, "bytes") == [("longspec", [1.0, 1.0]), ("model", [1.0, 4.0])]
    assert "longspec ×1.0, model ×4.0. Target and drafter" in view(STUDY, "bytes").sentence
    assert "raised to 8,448 tokens" in view(STUDY, "bytes").sentence
    assert lines(STUDY, "time")[0] == ("longspec", [2.0, 3.0])
    assert [values for _, values in lines(STUDY, "acceptance")] == [[0.5, 0.25], [0.5, 0.75]]
    said = view(STUDY, "acceptance").sentence
    assert "of 97 to 192 tokens" in said
    assert "0.750 by the network trained with anchors, 0.250 by the one without" in said
    assert "raised" not in said


def test_the_chart_has_a_line_for_each_and_whiskers_to_both_quartiles_of_times_alone() -> None:
    figure = draw(view(STUDY, "time").chart)
    first, second = figure.data
    assert (first.name, second.name, list(first.y)) == ("longspec", "model", [2.0, 3.0])
    assert (list(first.error_y.array), list(first.error_y.arrayminus)) == ([1.0, 1.0], [0.5, 0.5])
    assert figure.layout.yaxis.type == "log"
    assert draw(view(STUDY, "bytes").chart).data[0].error_y.array is None
    assert draw(view(STUDY, "acceptance").chart).layout.yaxis.type != "log"


def test_the_tables_say_what_was_measured() -> None:
    study = LongContexts(
        (ContextCost("longspec", 256, 2.0, 1.5, 3.0, 2**20), ContextCost("longspec", 8192, 4.0, 3.5, 5.0, 2**20)),
        7,
        tuple(ContextAcceptance(anchors, 2, 96, (0.5 + anchors / 4, 0.25)) for anchors in (False, True)),
        1000,
        192,
        1024,
        8448,
        {},
        "the command",
        "A machine, a day.",
    )
    lines = markdown(study).splitlines()
    assert "| `longspec` | 2.00 [1.50–3.00] | 4.00 [3.50–5.00] |" in lines
    assert "| `longspec` | 1.00 | 1.00 |" in lines
    assert "| without anchors, depth 1 | 0.500 |" in lines
    assert "| with anchors, depth 1 | 0.750 |" in lines
    assert lines[-1] == "A machine, a day. Made by `the command`."
    assert "raised to 8448 tokens" in lines[0]
    loss = RaisedLoss(10_000.0, 1.0, (2.0, 5.0)), RaisedLoss(10_000.0, 8.25, (3.0, 4.0))
    at = BeyondContext(4096, True, 3.5, (0.25, 0.2), (0.375, 0.3), Estimate(0.125, -0.02, 0.25))
    further = Beyond(((1, 1024), (1025, 4096)), loss, 10_000.0, 16, 192, (at,))
    lines = markdown(replace(study, beyond=further, acceptance_origin="Another day.")).splitlines()
    assert "| 10 000 | as they are | 2.00 | 5.00 |" in lines
    assert "| 10 000 | ÷ 8.25 | 3.00 | 4.00 |" in lines
    assert "| 4 096 | raised | 3.50 | 0.250 | 0.375 | 0.200 | 0.300 | +0.125 [-0.020 to +0.250] |" in lines
    assert lines[-3:] == [
        "Time and bytes: A machine, a day. Made by `the command`.",
        "",
        "Acceptance: Another day. Made by `the command --keep-costs`.",
    ]

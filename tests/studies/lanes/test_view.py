"""The study of lanes: what the chart, the table and the sentence say of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go

from specviz.app.lanes.figure import lanes_figure
from specviz.app.lanes.study import lanes_table, show
from specviz.protocol.lanes import DRAFT, TARGET, Span
from specviz.studies.lanes.result import LanesCase, LanesFile, LanesRun, case_names, lanes_view, shipped
from tests.studies.lanes.test_file import IN_TURN, PLAIN, sample

BESIDE = LanesRun(
    "amusd", "measured", 2, 1.0,
    (Span(DRAFT, "draft", 0, 0.75, 3), Span(DRAFT, "roll back", 0.75, 0.75, 2),
     Span(TARGET, "verify", 0.5, 1, 1, 2, 1)),
)  # fmt: skip
MANY = LanesRun(
    "dsi", "simulated", 2, 0.5,
    (Span(DRAFT, "draft", 0, 0.25, 2), Span("target 1", "verify", 0.25, 0.5, 2, 1, 1),
     Span("target 2", "verify", 0.25, 0.5, 1, 1, 1)),
)  # fmt: skip


def several() -> LanesFile:
    fast = LanesCase(0.0, (PLAIN, IN_TURN, MANY, BESIDE))
    return replace(sample(), cases=(fast, LanesCase(0.006, (PLAIN, replace(IN_TURN, seconds=1.8), BESIDE))))


def test_every_method_has_its_lanes_in_one_order_and_one_that_drafts_nothing_has_no_drafter() -> None:
    view = lanes_view(several(), "")
    assert [(lane.method, lane.lane) for lane in view.lanes] == [
        ("plain", "target"), ("sd", "drafter"), ("sd", "target"), ("amusd", "drafter"), ("amusd", "target"),
        ("dsi", "drafter"), ("dsi", "target 1"), ("dsi", "target 2"),
    ]  # fmt: skip
    assert view.seconds == 2.0


def test_the_table_compares_with_plain_decoding_and_says_what_is_simulated() -> None:
    rows = {row.name: row for row in lanes_view(several(), "").rows}
    assert (rows["draft, then verify"].ratio, rows["AMUSD"].ratio, rows["DSI"].ratio) == (2.0 / 1.75, 2.0, 4.0)
    assert (rows["AMUSD"].drafted, rows["AMUSD"].thrown, rows["AMUSD"].drafter_busy) == (3, 2, 0.75)
    assert (rows["DSI"].source, rows["DSI"].target_busy) == ("simulated", 0.5)
    table = lanes_table(lanes_view(several(), ""))
    assert table.count("simulated") == 1
    assert table.count("measured") == 3


def test_the_sentence_says_whether_it_pays_by_what_was_measured_alone() -> None:
    assert lanes_view(several(), "").sentence.startswith(
        "Drafting beside verifying pays here: AMUSD is 1.75× as fast as drafting in turn. It hides 29% of the time at"
    )
    slower = replace(BESIDE, seconds=3.5)
    lost = replace(several(), cases=(LanesCase(0.0, (PLAIN, IN_TURN, slower, MANY)),))
    assert "does not pay here: AMUSD, the better of the two, is 0.50× as fast" in lanes_view(lost, "").sentence


def test_the_chart_shows_what_was_rejected_thrown_away_and_simulated() -> None:
    view = lanes_view(several(), "")
    found = {trace.name: trace for trace in lanes_figure(view).data}
    assert list(found) == ["drafting", "verifying, all accepted", "verifying, some rejected", "drafts thrown away"]
    assert list(found["drafts thrown away"].x) == [750.0]
    assert list(found["verifying, some rejected"].y) == ["draft, then verify · target", "DSI (simulated) · target 1"]
    assert list(found["drafting"].base) == [0.0, 0.0, 0.0]
    assert "verifies 3, accepts 1, gives 2" in found["verifying, some rejected"].hovertext[0]


def test_hostile_names_stay_text() -> None:
    bad = replace(several(), cases=(LanesCase(0.0, (PLAIN, replace(IN_TURN, spans=(
        Span("<b>", "draft", 0, 0.5, 3), Span(TARGET, "verify", 0.5, 1, 3, 2, 1)))),),))  # fmt: skip
    assert "<b>" not in str(lanes_figure(lanes_view(bad, "")).data[0].y)


def test_the_shipped_lanes_are_drawn_for_each_drafter(tmp_path: Path) -> None:
    file = shipped()
    assert file is not None
    names = case_names(file)
    assert names[0] == "the drafter as it is"
    assert len(names) == 2
    for name in names:
        sentence, figure, table = show(file, name)
        assert "Drafting beside verifying" in str(sentence)
        assert isinstance(figure, go.Figure)
        assert "PEARL" in str(table)
    assert {run.method for run in file.cases[0].runs} == {"plain", "sd", "pearl", "amusd", "dsi"}


def test_a_damaged_file_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "lanes.json").write_text("{}")
    assert shipped(tmp_path / "lanes.json") is None
    assert shipped(tmp_path / "missing.json") is None

"""The lab's charts as pictures: what is marked where, what a hover says, and that no name becomes markup."""

from __future__ import annotations

import json

import pytest

from specviz.app.lab.chart import NOTHING, LabChart
from specviz.app.lab.charts import CHARTS, chart
from specviz.app.parts.style import HOVER
from tests.app.lab.sweeps import drafted, hasty, plain

POINTS = [plain(), drafted(), hasty()]
HOSTILE = '<img src=x onerror="run()">'

every_chart = pytest.mark.parametrize("one", CHARTS, ids=lambda one: one.name)


@every_chart
def test_every_chart_is_transparent_of_one_height_and_made_of_classic_traces(one: LabChart) -> None:
    figure = one.build(POINTS)
    layout = figure.layout
    assert (layout.paper_bgcolor, layout.plot_bgcolor, layout.height) == ("rgba(0,0,0,0)", "rgba(0,0,0,0)", 460)
    assert {trace.type for trace in figure.data} <= {"scatter", "bar", "heatmap"}


@every_chart
def test_every_chart_says_what_is_missing(one: LabChart) -> None:
    assert said(one.build([])) == NOTHING
    if one.name != "phases":  # plain decoding alone has rounds
        assert said(one.build([plain()])) == one.missing


def said(figure: object) -> str:
    return figure.layout.annotations[0].text.replace("<br>", " ")  # type: ignore[attr-defined]


@every_chart
def test_every_mark_tells_its_number_with_formula_and_division(one: LabChart) -> None:
    texts = hovers(one.build(POINTS))
    assert len(texts) > 0
    assert all(" = " in text or "by definition" in text or "×" in text for text in texts)
    assert any("÷" in text for text in texts)


def hovers(figure: object) -> list[str]:
    found = []
    for trace in figure.data:  # type: ignore[attr-defined]
        for text in trace.hovertext if trace.hovertext is not None else []:
            found += [text] if isinstance(text, str) else [cell for cell in text if cell]
    return found


@every_chart
def test_no_name_becomes_markup(one: LabChart) -> None:
    bad = drafted(drafter="x", label=HOSTILE, family=HOSTILE)
    text = json.dumps(one.build([plain(family=HOSTILE), bad]).to_plotly_json(), default=str)
    assert "<img" not in text
    assert "&lt;img src=x" in text


def test_the_waterfall_s_bars_hang_between_their_levels() -> None:
    bars = chart("waterfall").build([plain(), drafted()]).data
    assert [bar.base[0] for bar in bars] == pytest.approx([0, 2, 4 / 3, 16 / 13, 0])
    assert [bar.base[0] + bar.y[0] for bar in bars] == pytest.approx([2, 4 / 3, 16 / 13, 4 / 3, 4 / 3])


def test_the_plane_has_a_power_axis_a_break_even_line_and_every_drafter() -> None:
    figure = chart("plane").build([plain(), drafted(), drafted(drafter="ngram", label="ngram")])
    assert figure.layout.xaxis.type == "log"
    assert [trace.line.dash for trace in figure.data].count("dash") == 1
    assert [trace.name for trace in figure.data if trace.name] == ["model", "ngram"]
    assert "median measured cost of the wider target pass" in hovers(figure)[0].replace("<br>  ", " ")


def test_winners_have_a_star() -> None:
    (table,) = chart("families").build(POINTS).data
    assert [list(row) for row in table.text] == [["1.00×"], ["★ 1.33×"], ["1.20×"]]


def test_predictions_stand_beside_the_line_of_identity() -> None:
    line, marks, _ = chart("predicted").build(POINTS).data
    assert list(line.x) == list(line.y)
    assert (marks.x[0], marks.y[0]) == pytest.approx((8 / 7, 4 / 3))


@every_chart
def test_a_hover_fits_a_phone_and_has_a_ground_that_white_text_stands_on(one: LabChart) -> None:
    figure = one.build(POINTS)
    assert figure.layout.hoverlabel.bgcolor == HOVER
    assert max(len(line) for text in hovers(figure) for line in text.split("<br>")) <= 60


def test_what_has_no_place_in_a_chart_is_named() -> None:
    unknown = drafted(drafter="early", label="early", draft_step_s=None)
    assert said(chart("predicted").build([*POINTS, unknown])).startswith("not drawn: early γ=2")
    assert len(chart("predicted").build(POINTS).layout.annotations) == 0


def test_an_unknown_chart_of_an_old_link_is_the_first() -> None:
    assert chart("nonsense") is CHARTS[0]


def test_texts_that_repeat_themselves_are_in_one_chart_only() -> None:
    loops = drafted(prompt="b", repetition=0.8, ratio=9.0)
    points = [plain(), drafted(), plain(prompt="b"), loops]
    (marks,) = chart("why").build(points).data
    assert (marks.name, list(marks.x), list(marks.y)) == ("model γ=2", [0.1, 0.8], [2.0, 2.0])
    assert [row["repeats_itself"] for row in chart("why").rows(points)] == [False, True]
    for one in CHARTS:
        if not one.every_text:
            assert loops not in one.of(points), one.name
            assert drafted() in one.of(points)


def test_results_that_did_not_count_repetition_are_shown_whole_and_the_chart_says_so() -> None:
    old = [plain(), drafted(repetition=None, plain_repetition=None)]
    assert said(chart("why").build(old)) == chart("why").missing
    assert chart("families").of(old) == old

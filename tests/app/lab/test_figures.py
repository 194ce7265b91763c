"""The lab's charts as pictures: what is marked where, what a hover says, and that no name becomes markup."""

import json

import pytest

from specviz.app.lab.cases import leading
from specviz.app.lab.chart import NOTHING, LabChart, chart, charts
from specviz.app.look.style import HOVER
from specviz.protocol.choice import Choice
from specviz.protocol.sweeps.points import Policies
from tests.app.lab.sweeps import drafted, hasty, plain

POINTS = [plain(), drafted(), hasty()]
HOSTILE = '<img src=x onerror="run()">'

every_chart = pytest.mark.parametrize("one", charts(), ids=lambda one: one.name)


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
    return figure.layout.annotations[0].text.replace("<br>", " ")


@every_chart
def test_every_mark_tells_its_number_with_formula_and_division(one: LabChart) -> None:
    texts = hovers(one.build(POINTS))
    assert len(texts) > 0
    assert all(" = " in text or "by definition" in text or "×" in text for text in texts)
    assert any("÷" in text for text in texts)


def hovers(figure: object) -> list[str]:
    found = []
    for trace in figure.data:
        for text in trace.hovertext if trace.hovertext is not None else []:
            found += [text] if isinstance(text, str) else [cell for cell in text if cell]
    return found


@every_chart
def test_no_name_becomes_markup(one: LabChart) -> None:
    bad = drafted(drafter="x", label=HOSTILE, family=HOSTILE)
    text = json.dumps(one.build([plain(family=HOSTILE), bad]).to_plotly_json(), default=str)
    assert "<img" not in text
    assert "&lt;img src=x" in text


def test_the_plane_has_a_power_axis_a_break_even_line_and_every_drafter() -> None:
    figure = chart("plane").build([plain(), drafted(), drafted(drafter="ngram", label="ngram")])
    assert figure.layout.xaxis.type == "log"
    assert [trace.line.dash for trace in figure.data].count("dash") == 1
    assert [trace.name for trace in figure.data if trace.name] == ["model", "ngram"]
    assert "median measured cost of the wider target pass" in hovers(figure)[0].replace("<br>  ", " ")


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
    assert chart("nonsense") is charts()[0]


def test_texts_that_repeat_themselves_are_in_one_chart_only() -> None:
    loops = drafted(prompt="b", repetition=0.8, ratio=9.0)
    points = [plain(), drafted(), plain(prompt="b"), loops]
    (marks,) = chart("why").build(points).data
    assert (marks.name, list(marks.x), list(marks.y)) == ("model γ=2", [0.1, 0.8], [2.0, 2.0])
    assert [row["repeats_itself"] for row in chart("why").rows(points)] == [False, True]
    for one in charts():
        if not one.every_text:
            assert loops not in one.of(points), one.name
            assert drafted() in one.of(points)


def test_results_that_did_not_count_repetition_are_shown_whole_and_the_chart_says_so() -> None:
    old = [plain(), drafted(repetition=None, plain_repetition=None)]
    assert said(chart("why").build(old)) == chart("why").missing
    assert chart("families").of(old) == old


MANY = [plain(), *(drafted(drafter=name, label=name, ratio=1.0 + place / 10) for place, name in enumerate("abcdefgh"))]
"""h is the fastest"""


@pytest.mark.parametrize("name", ["plane", "position", "lengths", "predicted", "mbsu"])
def test_of_many_drafters_the_fastest_are_drawn_in_own_colours_and_a_name_brings_the_others(name: str) -> None:
    figure = chart(name).build(MANY)
    of_series = [trace for trace in figure.data if trace.legendgroup and trace.showlegend is not False]
    drawn = [trace for trace in of_series if trace.visible != "legendonly"]
    assert [trace.legendgroup for trace in drawn] == ["h", "g", "f", "e", "d"]
    assert len({trace.marker.color for trace in drawn}) == 5
    assert {trace.legendgroup for trace in of_series if trace.visible == "legendonly"} == {"a", "b", "c"}
    assert "press a name to draw or hide it" in figure.layout.legend.title.text
    assert all(trace.visible is None for trace in chart(name).build(MANY[:6]).data), "five are few"


@pytest.mark.parametrize("name", ["plane", "position", "predicted", "mbsu"])
def test_few_drafters_stand_in_the_order_of_the_sweep_as_in_the_speedup_chart(name: str) -> None:
    """e, the last, is the fastest."""
    groups = [trace.legendgroup for trace in chart(name).build(MANY[:6]).data if trace.legendgroup]
    assert list(dict.fromkeys(groups)) == ["a", "b", "c", "d", "e"]


def test_of_a_drafter_the_series_with_the_most_lengths_is_drawn_and_the_fastest_setting_beside_it() -> None:
    longer = drafted(drafter="h", label="h", gamma=4, ratio=1.0)
    early = drafted(drafter="h", label="h", policies=Policies(stop_policy=Choice("hasty")), ratio=9.0)
    assert leading([*MANY, longer, early]) == ["h", "g", "f", "e", "d", "h · hasty"]


@pytest.mark.parametrize("name", ["ranking", "phases", "families"])
def test_a_chart_of_rows_leaves_out_no_name_and_grows_with_them(name: str) -> None:
    points = [plain(), *(drafted(drafter=f"d{number}", label=f"d{number}") for number in range(30))]
    layout = chart(name).build(points).layout
    assert layout.yaxis.dtick == 1
    assert layout.height >= 30 * 20
    assert chart(name).build(POINTS).layout.height == 460


def test_of_many_settings_without_a_place_the_number_is_told_and_a_pointer_brings_the_names() -> None:
    unknown = [drafted(drafter=name, label=name, draft_step_s=None) for name in ("k", "l", "m", "n")]
    figure = chart("predicted").build([*POINTS, *unknown])
    assert said(figure) == "not drawn: 4 settings (the time of a drafter's step is not known)"
    assert "k γ=2, l γ=2, m γ=2, n γ=2" in figure.layout.annotations[0].hovertext


def test_names_along_the_front_do_not_lie_over_one_another() -> None:
    """a wastes nothing in 12 passes, b one candidate in 11.7, c two in 6: b's name would lie over a's."""
    settings = (("a", 4, 4, 12), ("b", 5, 4, 11.7), ("c", 6, 4, 6))
    points = [
        drafted(drafter=name, label=name, drafted=offered, accepted=kept, rounds=rounds)
        for name, offered, kept, rounds in settings
    ]
    (_, marks) = chart("economy").build([plain(), *points]).data
    assert [text.strip() for text in marks.text] == ["a γ=2", "", "c γ=2"]

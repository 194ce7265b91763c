"""A smaller draft head on the page: counted coverage, measured alpha, and nothing made up between measurements."""

from dataclasses import replace
from typing import Any

import gradio as gr
import pytest

from specviz.app.studies.chart import draw
from specviz.app.studies.tab import show
from specviz.errors import OptionError
from specviz.studies.heads import result as heads
from specviz.studies.heads.result import STUDY, HeadsStudy, view
from specviz.theory import token_frequencies as frequencies
from tests.theory.test_token_frequencies import TABLE

MEASURED = HeadsStudy(
    vocab_size=4, sizes=(2,), texts={}, coverage={"raw": {2: 0.2}, "drafter": {2: 0.5}, "target": {2: 0.8}},
    alpha={1.0: {"raw": {2: 0.25}, "drafter": {2: 0.5}, "target": {2: 0.75}}}, whole={1.0: 0.875}, step_ratio={},
    prompts=1, tokens=8, repetition={1.0: (0.25,)}, models={}, origin="a machine.", created="2026-01-31T12:00:00Z",
)  # fmt: skip


def shipped() -> HeadsStudy:
    study = STUDY.shipped()
    assert isinstance(study, HeadsStudy)
    return study


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequencies, "read", lambda path: TABLE)
    monkeypatch.setattr(heads, "_coverage", heads._coverage.__wrapped__)


def test_the_kept_tokens_are_counted_in_the_held_out_text(letters: None) -> None:
    """The special token 0 and token 3, which the drafter writes most: 1 + 4 of 10."""
    shown = view(MEASURED, 2, "drafter")
    assert shown.sentence == (
        "2 of 4 tokens, the most frequent of drafter's text, cover 5 of 10 tokens (50.0%) of text that the target "
        "wrote after other prompts. α measured with 2 tokens: 0.500 at temperature 1 (whole head 0.875)."
    )
    assert "cover 2 of 10 tokens" in view(MEASURED, 2, "raw").sentence  # 0 and 1
    assert shown.origin == (
        "α over 8 tokens that the target wrote after each of 1 prompts of the set, anew at each temperature, the same "
        "places for all heads. Repeated 4-grams of each text at temperature 1: 25%. Measured 2026-01-31."
    )


def test_alpha_is_that_of_the_nearest_measured_size_and_names_it(letters: None) -> None:
    sentence = view(MEASURED, 4, "raw").sentence
    assert sentence.endswith("α measured with 4 tokens: 0.875 at temperature 1 (whole head 0.875).")
    assert "α measured with 2 tokens: 0.250" in view(MEASURED, 1, "raw").sentence


def test_without_measured_alpha_none_is_said_or_drawn(letters: None) -> None:
    shown = view(replace(MEASURED, alpha={}, whole={}), 2, "raw")
    assert shown.sentence.endswith("wrote after other prompts.")
    assert shown.origin == ""
    assert [line.mode for line in shown.chart.panels[0].series] == ["lines"] * 4


@pytest.mark.parametrize(("size", "source"), [(0, "raw"), (5, "raw"), (2, "<b>")])
def test_a_head_that_there_is_not_is_refused(letters: None, size: int, source: str) -> None:
    with pytest.raises(OptionError, match="choose 1 to 4 tokens by target, drafter, raw"):
        view(MEASURED, size, source)
    message, plot, *_ = show(STUDY, MEASURED, size, source)
    assert "There is no head of" in str(message)
    assert plot == gr.skip()
    assert "<b>" not in str(message)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ({"sizes": (2, 3)}, "a head size has no share or no α"),
        ({"whole": {}}, "a text or a temperature is missing"),
        ({"coverage": {"raw": {2: 0.2}}}, "a text or a temperature is missing"),
    ],
)
def test_a_result_that_lacks_a_number_is_refused(damage: dict[str, Any], problem: str) -> None:
    assert list(heads.problems(MEASURED)) == []
    assert problem in heads.problems(replace(MEASURED, **damage))


def test_the_chart_has_three_counted_lines_measured_marks_and_the_choice() -> None:
    shown = view(shipped(), 1024, "raw").chart.panels[0].series
    counted = [f"covered by {source} text, counted" for source in ("target's", "drafter's", "raw")]
    measured = [f"α at temperature {temperature}, measured" for temperature in (1, 0)]
    assert [line.name for line in shown] == [*counted, *measured, "chosen: 1024 tokens"]
    assert [line.width for line in shown[:3]] == [1.2, 1.2, 3]
    assert list(shown[3].x) == [128, 256, 512, 1024, 2048, 4096]
    assert all(line.mode == "markers" for line in shown[3:5]), "nothing is drawn between measurements"
    for line in shown[:3]:
        assert list(line.y) == sorted(line.y)
        assert (line.x[-1], line.y[-1]) == (4096, 1.0)


def test_the_slider_draws_the_shipped_table_anew() -> None:
    message, figure, *_ = show(STUDY, shipped(), 2048.0, "target")
    assert "2048 of 4096 tokens, the most frequent of target" in str(message)
    assert figure.data[-1].name == "chosen: 2048 tokens"


def test_a_pattern_that_stands_alone_has_no_name_and_no_markup() -> None:
    shown = view(shipped(), 1024, "raw").chart
    lines = [replace(line, hover="<b>%{x}") for line in shown.panels[0].series]
    figure = draw(replace(shown, panels=(replace(shown.panels[0], series=lines),)))
    assert {line.hovertemplate for line in figure.data} == {"&lt;b&gt;%{x}<extra></extra>"}

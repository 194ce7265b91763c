"""A smaller draft head on the page: counted coverage, measured alpha, and nothing made up between measurements."""

from __future__ import annotations

import gradio as gr
import pytest

from specviz.app.machine.tab import heads_figure, show_heads
from specviz.errors import OptionError
from specviz.studies.heads import result as heads
from specviz.studies.heads.result import heads_view
from specviz.theory import token_frequencies as frequencies
from specviz.theory.token_frequencies import FrequencyTable, MeasuredAcceptance, TokenCounts

TABLE = FrequencyTable(
    "1e77e25",
    "letters",
    (0,),
    {
        "raw": TokenCounts("files", (0, 9, 1, 0)),
        "drafter": TokenCounts("its text", (0, 1, 2, 3), "ab"),
        "target": TokenCounts("its text", (0, 0, 5, 5), "cd"),
        "held_out": TokenCounts("its text", (1, 1, 4, 4), "cd"),
    },
)
MEASURED = MeasuredAcceptance(
    {1.0: {"raw": {2: 0.25}, "drafter": {2: 0.5}, "target": {2: 0.75}}}, {1.0: 0.875}, "α over 8 tokens.", {}
)


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequencies, "read", lambda path: TABLE)
    monkeypatch.setattr(frequencies, "measured_acceptance", lambda: MEASURED)
    monkeypatch.setattr(heads, "_coverage", heads._coverage.__wrapped__)


def test_the_kept_tokens_are_counted_in_the_held_out_text(letters: None) -> None:
    view = heads_view(2, "drafter")  # the special token 0 and token 3: 1 + 4 of 10
    assert view.covered == 0.5
    assert view.sentence == (
        "2 of 4 tokens, the most frequent of drafter's text, cover 5 of 10 tokens (50.0%) of text that the target "
        "wrote after other prompts. α measured with 2 tokens: 0.500 at temperature 1 (whole head 0.875)."
    )
    assert heads_view(2, "raw").covered == 0.2  # 0 and 1


def test_alpha_is_that_of_the_nearest_measured_size_and_names_it(letters: None) -> None:
    assert heads_view(4, "raw").sentence.endswith(
        "α measured with 4 tokens: 0.875 at temperature 1 (whole head 0.875)."
    )
    assert "α measured with 2 tokens: 0.250" in heads_view(1, "raw").sentence


@pytest.mark.parametrize(("size", "source"), [(0, "raw"), (5, "raw"), (2, "<b>")])
def test_a_head_that_is_not_to_be_had_is_refused(letters: None, size: int, source: str) -> None:
    with pytest.raises(OptionError, match="choose 1 to 4 tokens by target, drafter, raw"):
        heads_view(size, source)
    message, plot = show_heads(size, source)
    assert "not to be had" in str(message)
    assert plot == gr.skip()
    assert "<b>" not in str(message)


def test_the_chart_has_three_counted_lines_measured_marks_and_the_choice() -> None:
    view = heads_view(1024, "raw")
    figure = heads_figure(view)
    assert [one.name for one in figure.data] == [
        "covered by target's text, counted",
        "covered by drafter's text, counted",
        "covered by raw text, counted",
        "α at temperature 1, measured",
        "α at temperature 0, measured",
        "chosen: 1024 tokens",
    ]
    assert [one.line.width for one in figure.data[:3]] == [1.2, 1.2, 3]
    assert list(figure.data[3].x) == [128, 256, 512, 1024, 2048, 4096]
    assert all(one.mode == "markers" for one in figure.data[3:5]), "nothing is drawn between measurements"


def test_the_slider_draws_the_shipped_table_anew() -> None:
    message, figure = show_heads(2048.0, "target")
    assert "2048 of 4096 tokens, the most frequent of target" in str(message)
    assert figure.data[-1].name == "chosen: 2048 tokens"  # type: ignore[attr-defined]
    for name, curve in heads_view(2048, "target").coverage.items():
        shares = [share for _, share in curve]
        assert shares == sorted(shares), name
        assert curve[-1] == (4096, 1.0)

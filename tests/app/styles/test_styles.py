"""Prompt styles on the page: the numbers are the file's, what the target wrote is escaped, a missing file leaves it."""

from __future__ import annotations

from pathlib import Path

import gradio as gr
import pytest

from specviz.app.styles.figure import styles_figure
from specviz.app.styles.study import build, show
from specviz.app.styles.view import shipped, styles_view
from specviz.errors import OptionError
from tests.protocol.test_styles import sample

NAME = "sums, asked in words"


def test_the_chart_has_a_mark_for_each_drafter_and_says_where_none_was_right() -> None:
    figure = styles_figure(styles_view(sample(), NAME))
    costs, alphas = figure.data[0], figure.data[3]
    assert [trace.name for trace in figure.data[::2]] == ["plain decoding", "model"]
    assert list(costs.y) == pytest.approx([0.2, 0.3]), "no mark where no answer was right"
    assert list(costs.error_y.array) == pytest.approx([0, 0]), "no upper end is drawn where none is known"
    assert list(costs.error_y.arrayminus) == pytest.approx([0.1, 0])
    assert [one.text for one in figure.layout.annotations] == ["none correct"]
    assert [one.x for one in figure.layout.annotations] == [2]
    assert list(alphas.y) == [0.5, 0.75, 0.25]
    assert [one.strip() for one in figure.layout.xaxis.ticktext] == ["no style<br>", "CoT<br>2/2", "CoD<br>0/2"]


def test_what_the_target_wrote_is_shown_and_not_obeyed() -> None:
    said, _, rest = show(sample(), NAME)
    assert "The target follows CoT" in str(said)
    assert "&lt;b&gt;chain&lt;/b&gt; 0" in str(rest)
    assert "<b>" not in str(rest)
    assert '<td data-column="style">CoD</td><td data-column="in its form">0/2</td>' in str(rest)
    assert "0.10 [0.05–] s; α 0.50, τ 1.80; 200 tokens/s" in str(rest)
    assert "none correct; α 0.25" in str(rest)
    assert "Hypothesis:" in str(rest)


def test_questions_that_were_not_measured_are_refused_in_a_sentence() -> None:
    with pytest.raises(OptionError, match="'poems' was not measured; choose sums, asked in words"):
        styles_view(sample(), "poems")
    assert "was not measured" in str(show(sample(), "poems")[0])


def test_the_page_does_without_a_missing_or_damaged_file(tmp_path: Path) -> None:
    assert shipped(tmp_path / "none.json") is None
    (tmp_path / "styles.json").write_text("{}")
    assert shipped(tmp_path / "styles.json") is None


def test_the_shipped_measurement_is_shown() -> None:
    file = shipped()
    assert file is not None
    with gr.Blocks() as page:
        build(file)
    names = {getattr(block, "elem_id", None) for block in page.blocks.values()}
    assert {"sv-styles-group", "sv-styles-sentence", "sv-styles-plot", "sv-styles-table"} <= names

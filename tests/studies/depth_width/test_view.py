"""Depth against width on the page: the numbers are the file's and the formula's, measured and modelled told apart."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest

from specviz.app.depth_width.figure import depth_width_figure
from specviz.app.depth_width.study import build, show
from specviz.errors import BenchError, OptionError
from specviz.studies.depth_width.picture import depth_width_view, opening_gamma, sets_of, shipped
from specviz.studies.depth_width.result import read, write
from tests.studies.depth_width.sample import STUDY, TWO_SETS


def test_throughput_is_modelled_for_all_and_measured_where_it_ran() -> None:
    view = depth_width_view(STUDY, "throughput", 2)
    assert [(one.name, one.measured) for one in view.lines] == [
        ("blocks, modelled", False),
        ("whole, modelled", False),
        ("blocks, measured", True),
    ]
    assert [point.across for point in view.lines[0].points] == [1.0, 16.0]
    assert view.lines[0].points[1].value == 100.0
    assert (view.lines[2].points[0].name, view.lines[2].points[0].value) == ("16x5", 80.0)
    assert "100 for 16x5" in view.sentence
    assert len(depth_width_view(STUDY, "throughput", 1).lines) == 2  # nothing ran at γ = 1
    assert opening_gamma(STUDY) == 2


def test_matched_share_and_quality_are_the_files() -> None:
    matched = depth_width_view(STUDY, "matched", 2)
    assert [(one.value, one.low, one.high) for one in matched.lines[0].points] == [(1.0, 0.5, 1.5)] * 2
    assert "to be as fast as 1x20, which matches 1.00, it would have to match 2.33, more than are drafted." in (
        matched.sentence
    )
    assert [one.value for one in depth_width_view(STUDY, "share", 2).lines[0].points] == [2 / 12, 0.5]
    quality = depth_width_view(STUDY, "quality", 2)
    assert [one.across for one in quality.lines[0].points] == [30.0, 40.0]
    assert "-1.00 with perplexity, -1.00 with the time of a drafting step" in quality.sentence


def test_measured_marks_are_hollow_and_without_a_line() -> None:
    figure = depth_width_figure(depth_width_view(STUDY, "throughput", 2))
    modelled, _, measured = figure.data
    assert (modelled.mode, modelled.marker.symbol) == ("lines+markers", "circle")
    assert (measured.mode, measured.marker.symbol) == ("markers", "circle-open")
    assert measured.line.color == modelled.line.color
    assert list(measured.error_y.array) == [10.0]
    assert figure.layout.shapes[0].y0 == 100.0  # plain decoding
    assert not depth_width_figure(depth_width_view(STUDY, "share", 2)).layout.shapes
    assert depth_width_figure(depth_width_view(STUDY, "quality", 2)).data[0].mode == "markers+text"


def test_what_was_not_measured_is_refused() -> None:
    with pytest.raises(OptionError, match="'joules' was not measured; choose throughput, matched, share, quality"):
        depth_width_view(STUDY, "joules", 2)
    with pytest.raises(OptionError, match="γ = 9 was not measured"):
        depth_width_view(STUDY, "matched", 9)


def test_a_missing_or_damaged_file_costs_the_page_its_fold_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "study.json"
    assert shipped(file) is None
    write(STUDY, file)
    assert shipped(file) == STUDY
    file.write_text(json.dumps({"networks": 3}))
    assert shipped(file) is None
    assert "is missing or damaged, and left out" in caplog.text
    write(replace(STUDY, passes={1: STUDY.passes[1]}), file)
    with pytest.raises(BenchError, match="the target's passes over their drafts, are missing"):
        read(file)


def test_the_study_draws_what_is_chosen_and_escapes_what_the_file_says() -> None:
    hostile = replace(STUDY, networks=(replace(STUDY.networks[0], name="<b>"), *STUDY.networks[1:]))
    with gr.Blocks() as page:
        build(hostile)
    names = {getattr(block, "elem_id", None) for block in page.blocks.values()}
    assert {"sv-depth-width-gamma", "sv-depth-width-plot"} <= names
    message, figure, table = show(hostile, "matched", 2)
    assert figure.data[0].name == "blocks"
    assert "&lt;b&gt;" in str(table)
    assert "<b>" not in f"{message}{table}{figure.to_json()}"
    assert '<td data-column="needed">2.33</td>' in str(table)


def test_the_other_set_is_modelled_from_the_same_times_and_nothing_of_it_was_measured() -> None:
    view = depth_width_view(TWO_SETS, "throughput", 1, "plain cross entropy")
    assert [(one.name, one.measured) for one in view.lines] == [("blocks, modelled", False), ("whole, modelled", False)]
    assert [point.value for point in view.lines[0].points] == pytest.approx([100.0, 89.286], abs=1e-3)
    assert all(row.measured is None for row in depth_width_view(TWO_SETS, "matched", 2, "plain cross entropy").rows)
    assert view.sentence.endswith("nothing was timed or run: its times are those of the same shapes.")
    quality = depth_width_view(TWO_SETS, "quality", 1, "plain cross entropy")
    assert [one.across for one in quality.lines[0].points] == [20.0, 50.0]
    assert "Another day." in view.origin
    assert depth_width_view(TWO_SETS, "throughput", 2).lines == depth_width_view(STUDY, "throughput", 2).lines


def test_both_sets_are_drawn_side_by_side_a_colour_for_a_family_and_a_mark_for_a_set() -> None:
    view = depth_width_view(TWO_SETS, "throughput", 2, "both")
    assert [one.name for one in view.lines] == [
        "blocks distilled, modelled",
        "whole distilled, modelled",
        "blocks plain cross entropy, modelled",
        "whole plain cross entropy, modelled",
    ]
    assert len(view.rows) == 6
    assert view.verdict.startswith("Both sets together, 6 networks:")
    assert "1.00 to 1.00 tokens a round when distilled and 0.00 to 1.00 by plain cross entropy" in view.sentence
    assert "the distilled one matches more in 2 of 3." in view.sentence
    first, _, second, _ = depth_width_figure(view).data
    assert (first.line.color, first.marker.symbol, first.line.dash) == (second.line.color, "circle", "solid")
    assert (second.marker.symbol, second.line.dash) == ("diamond", "dot")
    assert (
        "over both sets, throughput's rank correlation is" in depth_width_view(TWO_SETS, "quality", 1, "both").sentence
    )
    assert "follows from times alone" in depth_width_view(TWO_SETS, "share", 1, "both").sentence


def test_a_file_of_one_set_still_opens_and_offers_no_other(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    write(TWO_SETS, file)
    assert read(file) == TWO_SETS
    kept = json.loads(file.read_text(encoding="utf-8"))
    del kept["text_set"]
    file.write_text(json.dumps(kept), encoding="utf-8")
    assert read(file) == STUDY
    assert sets_of(STUDY) == ("distilled",)
    assert sets_of(TWO_SETS) == ("distilled", "plain cross entropy", "both")
    with pytest.raises(OptionError, match="there is no set 'both' in this study; choose distilled"):
        depth_width_view(STUDY, "matched", 1, "both")
    write(replace(TWO_SETS, text_set=replace(TWO_SETS.text_set, networks=TWO_SETS.text_set.networks[1:])), file)
    with pytest.raises(BenchError, match="its second set lacks a network of the first"):
        read(file)
    for kept, offered in ((STUDY, False), (TWO_SETS, True)):
        with gr.Blocks() as page:
            build(kept)
        (radio,) = (one for one in page.blocks.values() if getattr(one, "elem_id", None) == "sv-depth-width-set")
        assert radio.visible is offered
        words = " ".join(str(one.value) for one in page.blocks.values() if isinstance(one, gr.Markdown))
        assert ("60% of which hold what the target wrote" in words) is offered
    _, figure, table = show(TWO_SETS, "matched", 2, "both")
    assert figure.data[2].name == "blocks plain cross entropy"
    deep = str(table).partition("blocks 16x5</td>")[2].partition("</tr>")[0]
    assert re.findall(">([^<]+)</td>", deep) == ["5.00", "40.0", "50.0", "1.00", "0.25", "100", "62"]

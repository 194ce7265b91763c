"""Depth against width on the page: the numbers are the file's and the formula's, measured and modelled told apart."""

import json
import re
from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest

from specviz.app.studies.chart import draw
from specviz.app.studies.tab import build, show
from specviz.errors import OptionError, TraceError
from specviz.studies.chart import Series
from specviz.studies.depth_width.result import STUDY as DECLARED
from specviz.studies.depth_width.result import opening_gamma, rows_of, sets_of, view
from specviz.studies.study import View
from tests.app.doubles import unserved
from tests.studies.depth_width.sample import STUDY, TWO_SETS

CODEC = DECLARED.codec


def lines(shown: View) -> list[Series]:
    (panel,) = shown.chart.panels
    return list(panel.series)


def test_throughput_is_modelled_for_all_and_measured_where_it_ran() -> None:
    shown = view(STUDY, "throughput", 2)
    modelled, _, measured = lines(shown)
    seen = [(line.name, line.hollow) for line in lines(shown)]
    assert seen == [("blocks, modelled", False), ("whole, modelled", False), ("blocks, measured", True)]
    assert (list(modelled.x), modelled.y[1]) == ([1.0, 16.0], 100.0)
    assert (measured.extra, measured.y) == ([["16x5"]], [80.0])
    assert measured.x[0] == pytest.approx(16 * 1.05), "a little aside"
    assert "100 for 16x5" in shown.sentence
    assert len(lines(view(STUDY, "throughput", 1))) == 2  # nothing ran at γ = 1
    assert opening_gamma(STUDY) == 2


def test_matched_share_and_quality_are_the_files() -> None:
    matched = view(STUDY, "matched", 2)
    first = lines(matched)[0]
    assert (first.y, first.low, first.high) == ([1.0] * 2, [0.5] * 2, [1.5] * 2)
    assert "to be as fast as 1x20, which matches 1.00, it would have to match 2.33, more than are drafted." in (
        matched.sentence
    )
    assert lines(view(STUDY, "share", 2))[0].y == [2 / 12, 0.5]
    quality = view(STUDY, "quality", 2)
    assert list(lines(quality)[0].x) == [30.0, 40.0]
    assert "-1.00 with perplexity, -1.00 with the time of a drafting step" in quality.sentence


def test_measured_marks_are_hollow_and_without_a_line() -> None:
    figure = draw(view(STUDY, "throughput", 2).chart)
    modelled, _, measured = figure.data
    assert (modelled.mode, modelled.marker.symbol) == ("lines+markers", "circle")
    assert (measured.mode, measured.marker.symbol) == ("markers", "circle-open")
    assert measured.marker.color == modelled.line.color
    assert (list(measured.error_y.array), list(measured.error_y.arrayminus)) == ([10.0], [10.0])
    assert figure.layout.shapes[0].y0 == 100.0  # plain decoding
    assert not draw(view(STUDY, "share", 2).chart).layout.shapes
    assert draw(view(STUDY, "quality", 2).chart).data[0].mode == "markers+text"


def test_what_was_not_measured_is_refused() -> None:
    with pytest.raises(OptionError, match="'joules' was not measured; choose throughput, matched, share, quality"):
        view(STUDY, "joules", 2)
    with pytest.raises(OptionError, match="γ = 9 was not measured"):
        view(STUDY, "matched", 9)


def test_a_file_without_what_its_numbers_rest_on_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    with pytest.raises(TraceError, match="the target's passes over their drafts, are missing"):
        CODEC.write(replace(STUDY, passes={1: STUDY.passes[1]}), file)
    without = replace(TWO_SETS.text_set, networks=TWO_SETS.text_set.networks[1:])
    with pytest.raises(TraceError, match="its second set lacks a network of the first"):
        CODEC.write(replace(TWO_SETS, text_set=without), file)


def test_what_the_file_says_is_escaped() -> None:
    hostile = replace(STUDY, networks=(replace(STUDY.networks[0], name="<b>"), *STUDY.networks[1:]))
    message, figure, table, _ = show(DECLARED, hostile, "matched", 2, "distilled")
    assert figure.data[0].name == "blocks"
    assert "&lt;b&gt;" in str(table)
    assert "<b>" not in f"{message}{table}{figure.to_json()}"
    assert '<td data-column="needed">2.33</td>' in str(table)


def test_the_other_set_is_modelled_from_the_same_times_and_nothing_of_it_was_measured() -> None:
    shown = view(TWO_SETS, "throughput", 1, "plain cross entropy")
    first, second = lines(shown)
    seen = [(line.name, line.hollow) for line in (first, second)]
    assert seen == [("blocks, modelled", False), ("whole, modelled", False)]
    assert list(first.y) == pytest.approx([100.0, 89.286], abs=1e-3)
    second_set = TWO_SETS.sets()["plain cross entropy"]
    assert all(row.measured is None for row in rows_of(second_set, 2, "plain cross entropy"))
    assert shown.sentence.endswith("nothing was timed or run: its times are those of the same shapes.")
    assert list(lines(view(TWO_SETS, "quality", 1, "plain cross entropy"))[0].x) == [20.0, 50.0]
    assert "Another day." in shown.origin
    assert lines(view(TWO_SETS, "throughput", 2)) == lines(view(STUDY, "throughput", 2))


def test_both_sets_are_drawn_side_by_side_a_colour_for_a_family_and_a_mark_for_a_set() -> None:
    shown = view(TWO_SETS, "throughput", 2, "both")
    assert [line.name for line in lines(shown)] == [
        "blocks distilled, modelled",
        "whole distilled, modelled",
        "blocks plain cross entropy, modelled",
        "whole plain cross entropy, modelled",
    ]
    assert shown.sentence.startswith("Both sets together, 6 networks:")
    assert "1.00 to 1.00 tokens a round when distilled and 0.00 to 1.00 by plain cross entropy" in shown.sentence
    assert "the distilled one matches more in 2 of 3." in shown.sentence
    first, _, second, _ = draw(shown.chart).data
    assert (first.line.color, first.marker.symbol, first.line.dash) == (second.line.color, "circle", None)
    assert (second.marker.symbol, second.line.dash) == ("diamond", "dot")
    assert "over both sets, throughput's rank correlation is" in view(TWO_SETS, "quality", 1, "both").sentence
    assert "follows from times alone" in view(TWO_SETS, "share", 1, "both").sentence
    _, figure, table, _ = show(DECLARED, TWO_SETS, "matched", 2, "both")
    assert figure.data[2].name == "blocks plain cross entropy"
    deep = str(table).partition("blocks 16x5</td>")[2].partition("</tr>")[0]
    assert re.findall(">([^<]+)</td>", deep) == ["5.00", "40.0", "50.0", "1.00", "0.25", "100", "62"]


def test_a_file_of_one_set_still_opens_and_offers_no_other(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    CODEC.write(TWO_SETS, file)
    assert CODEC.read(file) == TWO_SETS
    kept = json.loads(file.read_text(encoding="utf-8"))
    del kept["text_set"]
    file.write_text(json.dumps(kept), encoding="utf-8")
    assert CODEC.read(file) == STUDY
    assert sets_of(STUDY) == ("distilled",)
    assert sets_of(TWO_SETS) == ("distilled", "plain cross entropy", "both")
    with pytest.raises(OptionError, match="there is no set 'both' in this study; choose distilled"):
        view(STUDY, "matched", 1, "both")
    for kept, offered in ((STUDY, False), (TWO_SETS, True)):
        with unserved() as page:
            build(DECLARED, kept)
        (radio,) = (one for one in page.blocks.values() if getattr(one, "elem_id", None) == "sv-depth-width-set")
        assert bool(radio.visible) is offered
        words = " ".join(str(one.value) for one in page.blocks.values() if isinstance(one, gr.Markdown))
        assert ("60% of which hold what the target wrote" in words) is offered

"""The Doctor tab's answers: findings of what was pasted or opened, strangers' text escaped."""

from __future__ import annotations

import json
from pathlib import Path

from specviz.app.doctor.tab import example_text, from_files, from_text

TIMINGS = {"timings": {"predicted_n": 200, "predicted_ms": 4000.0, "draft_n": 300, "draft_n_accepted": 100}}


def test_the_example_leads_to_a_place_where_drafts_fail_and_to_a_length() -> None:
    html = from_text(example_text(), None, None)
    assert "Drafts fail at position 2" in html
    assert "It should pay" in html
    assert "#tab=learn&amp;lesson=4" in html


def test_costs_beside_the_record_are_taken_over() -> None:
    assert "50.0 ÷ 25.0 tokens per second" in from_text(json.dumps(TIMINGS), None, 25.0)
    assert "with a cost ratio of 0.25 (given)" in from_text(json.dumps(TIMINGS), 0.25, None)


def test_a_cost_of_0_is_one_that_is_not_known() -> None:
    assert "What drafting may cost" in from_text(json.dumps(TIMINGS), 0, 0)


def test_nothing_pasted_is_one_sentence() -> None:
    assert "Paste a record first" in from_text("  ", None, None)


def test_what_is_no_record_is_told_and_escaped() -> None:
    html = from_text('{"timings": {"predicted_n": "<img src=x>"}}', None, None)
    assert "must be a whole number" in html
    assert "<img" not in html


def test_files_are_answered_each_and_large_ones_named(tmp_path: Path) -> None:
    (tmp_path / "<b>.json").write_text(json.dumps(TIMINGS))
    (tmp_path / "large.json").write_text(json.dumps(TIMINGS) + " " * 1000)
    html = from_files([str(tmp_path / "<b>.json"), str(tmp_path / "large.json")], 500, None, None)
    assert "&lt;b&gt;.json: timings of responses of llama.cpp" in html
    assert "large.json: the file is larger than the 0.0005 MB" in html
    assert "<b>" not in html

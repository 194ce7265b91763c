"""A trace in a notebook is the player, offline and of a bounded size; printed it is one line."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

import specviz
from specviz.app.components import standalone

GOLDEN = Path(__file__).parents[1] / "golden" / "trace-1.0-sample.json"


def test_printed_it_is_one_line() -> None:
    line = repr(specviz.read(GOLDEN))
    assert "\n" not in line
    assert len(line) < 250
    assert line.endswith("20 tokens in 8 target passes>")


def test_in_a_notebook_it_is_the_player_and_asks_nobody() -> None:
    shown = specviz.read(GOLDEN)._repr_html_()
    assert shown is not None
    assert shown.startswith("<iframe srcdoc=")
    page = unescape(shown[len('<iframe srcdoc="') :])
    assert "default-src 'none'" in page
    assert "SpecViz.standAlone(document)" in page
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert shown.count("<") == 2, "nothing of the page or the trace may end the attribute"


def test_a_trace_that_is_too_large_is_printed_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standalone, "MOST_CHARACTERS", 1000)
    assert specviz.read(GOLDEN)._repr_html_() is None

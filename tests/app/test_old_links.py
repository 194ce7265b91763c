"""Addresses that the page of earlier releases handed out still open: its tab, its chart, and the rest left alone."""

from types import SimpleNamespace

import gradio as gr
import pytest

from specviz.app.lab.chart import restore

CHARTS = ("waterfall", "plane", "position", "lengths", "phases", "families", "economy", "predicted")
"""of the first release that gave links; a chart may be added, but none of these may be renamed"""


def opened(query: dict[str, str]) -> tuple[object, ...]:
    """What is selected in both rows of tabs, and the chart; None where nothing changes."""
    *rows, chart = restore(SimpleNamespace(query_params=query))
    return *(getattr(row, "selected", None) for row in rows), None if chart == gr.skip() else chart


@pytest.mark.parametrize("chart", CHARTS)
def test_a_link_to_a_chart_opens_the_page_on_it(chart: str) -> None:
    assert opened({"tab": "speedup", "chart": chart}) == ("when-it-pays", None, chart)


@pytest.mark.parametrize(
    "more",
    [
        {"growth": "levels", "growth.levels.branching": "3,2,1"},
        {"stopping": "heuristic", "stopping.heuristic.start": "5"},
        {"drafter": "token_recycling", "shrink": "false"},
        {"branching": "3,2,1", "gamma": "9", "__theme": "dark"},
    ],
    ids=["a tree policy", "a stop policy", "an option of a drafter", "a shape and a theme"],
)
def test_words_of_another_release_in_an_address_change_nothing(more: dict[str, str]) -> None:
    assert opened({"tab": "speedup", "chart": "plane", **more}) == ("when-it-pays", None, "plane")
    assert opened(more) == (None, None, None)


def test_a_chart_that_is_none_opens_its_tab_as_it_is() -> None:
    assert opened({"tab": "speedup", "chart": "efficiency"}) == ("when-it-pays", None, None)


@pytest.mark.parametrize(
    "tab", ["analysis", "studies", "train", "machine", "what-if", "proof", "scenes", "map", "about"]
)
def test_a_link_to_a_tab_that_moved_into_the_lab_opens_it_there(tab: str) -> None:
    assert opened({"tab": tab}) == ("lab", tab, None)


def test_a_link_to_step_opens_the_tab_that_it_became() -> None:
    assert opened({"tab": "step"}) == ("watch", None, None)

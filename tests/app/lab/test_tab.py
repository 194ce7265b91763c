"""The lab's place on the page: what a choice draws, what its file holds, what a link may ask for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import gradio as gr

from specviz.app.lab.chart import Shown, draw_chosen, restore
from tests.app.lab.sweeps import drafted, plain


def test_a_choice_draws_one_chart_and_offers_its_numbers() -> None:
    text, figure, button = draw_chosen(Shown((plain(), drafted())), "economy")
    assert "Which way of ending a draft" in str(text)
    assert figure.layout.xaxis.title.text == "wasted candidates per output token"
    lines = Path(str(button.value["path"])).read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith("model γ=2,fixed,12,6,6,12,0.5,0.5,True")


def test_without_points_there_is_no_file() -> None:
    assert draw_chosen(Shown(), "plane")[2].interactive is False


def test_while_results_are_on_their_way_only_the_explanation_changes() -> None:
    text, *others = draw_chosen(Shown(awaited=True), "economy")
    assert "Which way of ending a draft" in str(text)
    assert others == [gr.skip(), gr.skip()]


def asked(**query: str) -> tuple[object, object, object]:
    return restore(SimpleNamespace(query_params=query))  # type: ignore[arg-type]


def test_a_link_opens_its_tab_on_its_chart_and_an_unknown_one_changes_nothing() -> None:
    tab, lab, chart = asked(tab="speedup", chart="plane")
    assert (tab.selected, lab, chart) == ("when-it-pays", gr.skip(), "plane")  # type: ignore[attr-defined]
    assert asked(tab="<b>", chart="../etc") == (gr.skip(), gr.skip(), gr.skip())
    assert asked() == (gr.skip(), gr.skip(), gr.skip())

"""The map's tab: filters above, a card per system, and the page of a method below."""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from specviz.app.form.kept import Kept
from specviz.app.look.events import LATEST
from specviz.app.map.systems import FACETS, choices, matching, systems
from specviz.app.map.view import cards
from specviz.app.runs.gallery import recorded_names
from specviz.app.tab import Page, Tab, nothing
from specviz.resources import INSTALLED, ROOT

INTRO = (
    "Every published system that SpecViz aims at, by what drafts, what shape its drafts have, what verifies them and "
    "what it needs. A preset's name chooses its methods in *Watch*; a command belongs into a terminal. *For "
    "comparison* stand those that are fast without drafting and verifying."
)
PAGES = ROOT.parent / "docs" / "methods"
MISSING = "The pages of the methods are in the repository's `docs/methods`; this installation came without them."


def map_tab(recorded: frozenset[str]) -> tuple[gr.Markdown, Kept]:
    """Build the tab's content inside the current Blocks. `recorded`: names of the recorded runs that are there.

    Returns where a method's page is read, as links of the map write to it, and what a link holds of the tab.
    """
    gr.Markdown(INTRO, elem_classes="sv-intro")
    with gr.Row():
        filters = {
            facet: gr.Dropdown(choices(facet), value=[], multiselect=True, label=title, min_width=200)
            for facet, title in FACETS.items()
        }
    page = gr.Markdown("", elem_id="sv-map-page", elem_classes="sv-map-page", visible=False)
    grid = gr.HTML(cards(systems(), recorded), elem_id="sv-map")

    def show(*chosen: list[str]) -> str:
        return cards(matching(dict(zip(FACETS, chosen, strict=True))), recorded)

    gr.on([one.change for one in filters.values()], show, list(filters.values()), grid, **LATEST)
    filled = Kept("map", filters, (grid,), lambda values: {grid: show(*(values.get(one, []) for one in FACETS))})
    return page, filled


def method_page(name: str, folder: Path = PAGES) -> str:
    """The text of a method's page; a sentence where there is none. `name` may be anything: only a page of that very
    name is read."""
    if INSTALLED or not folder.is_dir():
        return MISSING
    pages = {path.stem: path for path in folder.glob("*.md")}
    if name not in pages:
        return "There is no page of that name."
    return pages[name].read_text(encoding="utf-8")


def _build(page: Page, place: gr.Tab, actions: None) -> None:
    read, kept = map_tab(frozenset(recorded_names(page.gallery).values()))
    page.document = read, method_page
    page.kept.append(kept)


TAB = Tab("map", "Map", "lab", 8, nothing, _build)

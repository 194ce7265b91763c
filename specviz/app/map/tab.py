"""The Map tab: filters above, a card per system with its facets in the same order on each, and the page of a method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

import gradio as gr

from specviz.app.form.kept import Kept
from specviz.app.look.events import LATEST
from specviz.app.map.systems import (
    COMPARED,
    FACETS,
    PLANNED,
    RUNS,
    Preset,
    System,
    choices,
    matching,
    page_link,
    preset_link,
    recording_link,
    recordings,
    systems,
)
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
    filled = Kept("map", filters, (grid,), lambda values: {grid: show(*(values.get(facet, []) for facet in FACETS))})
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


NOTHING = '<p class="sv-note">No system has all of these; take one of the choices back.</p>'

SAID = {RUNS: "run here", COMPARED: "for comparison", PLANNED: "planned"}
"""each status, of several systems"""


def cards(found: Sequence[System], recorded: frozenset[str]) -> str:
    """`recorded`: names of the recorded runs that are there; a preset without its recording has no link to one."""
    if not found:
        return NOTHING
    count = f"{len(found)} systems" if len(found) != 1 else "1 system"
    by_status = Counter(system.status for system in found)
    counted = ((by_status[status], status, said) for status, said in SAID.items())
    told = ", ".join(f"{number} {status if number == 1 else said}" for number, status, said in counted if number)
    head = f'<p class="sv-note" role="status">{count}: {told}.</p>'
    return f'{head}<div class="sv-map">{"".join(_card(system, recorded) for system in found)}</div>'


def _card(system: System, recorded: frozenset[str]) -> str:
    facets = "".join(
        f"<div><dt>{escape(title)}</dt><dd>{escape(', '.join(system.values(facet)))}</dd></div>"
        for facet, title in FACETS.items()
    )
    if system.comparison:
        facets = f"<div><dt>shares</dt><dd>{escape(system.shares)}</dd></div>"
        facets += f"<div><dt>differs</dt><dd>{escape(system.differs)}</dd></div>"
    papers = " ".join(_paper(number) for number in system.arxiv)
    presets = "".join(f"<li>{_preset(preset, recorded)}</li>" for preset in system.presets)
    presets += "".join(f"<li><code>{escape(command)}</code></li>" for command in system.commands)
    kind = system.status.replace(" ", "-")
    return (
        f'<article class="sv-map-card is-{kind}"><header><h4>{system.number}. {escape(system.name)}</h4>'
        f'<span class="sv-map-status">{system.status}</span></header><dl>{facets}</dl>'
        f'<p class="sv-map-papers">{papers}</p><ul>{presets}</ul></article>'
    )


def _paper(number: str) -> str:
    href = escape(f"https://arxiv.org/abs/{number}", quote=True)
    return f'<a href="{href}" target="_blank" rel="noopener">arXiv {escape(number)}</a>'


def _preset(preset: Preset, recorded: frozenset[str]) -> str:
    links = []
    if recordings():  # else the list of what each preset chooses is damaged, and left out
        links.append(_link(preset_link(preset), f"choose it in Watch: {preset.label}", preset.label))
    if preset.recording in recorded:
        links.append(_link(recording_link(preset), f"recorded run of {preset.label}", "recording"))
    links.append(_link(page_link(preset), f"the page of {preset.label}", "page"))
    return " · ".join(links)


def _link(href: str, title: str, text: str) -> str:
    return f'<a href="{escape(href, quote=True)}" aria-label="{escape(title, quote=True)}">{escape(text)}</a>'


def _build(page: Page, tab: gr.Tab, actions: None) -> None:
    read, kept = map_tab(frozenset(recorded_names(page.gallery).values()))
    page.document = read, method_page
    page.kept.append(kept)


TAB = Tab("map", "Map", "lab", 8, nothing, _build)

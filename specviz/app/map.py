"""The Map tab: every published system by what drafts, what shape, what verifies and what it needs. Filters above, a
card per system with its facets in the same order on each, and the page of a method.

The map as data is `assets/method_map.toml` and the list of recordings; tests hold it against the registry.
"""

from __future__ import annotations

import tomllib
from calendar import month_abbr
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.app.form.kept import Kept
from specviz.app.look.events import latest
from specviz.app.runs.gallery import recorded_names
from specviz.app.step.filling import AUTO_VERIFIERS
from specviz.app.tab import Page, Tab, nothing
from specviz.errors import OptionError
from specviz.protocol.choice import with_choices
from specviz.protocol.links import as_data, pack
from specviz.protocol.runs import RunRequest, setting_names
from specviz.resources import INSTALLED, ROOT, without

FACETS = {
    "drafts": "what drafts",
    "shape": "what shape",
    "verifies": "what verifies",
    "needs": "what it needs",
    "year": "which year",
}
"""facet → its name on the page"""
NEW = "new this year"
"""said of what was published in the year of the map's youngest paper"""
RUNS, COMPARED, PLANNED = "runs here", "for comparison", "planned"
LEFT_OUT = {"name", "prompt", "prompt_name", "options", "top", "max_new_tokens"}
"""of a recording: what belongs to that recording and not to its methods"""


@dataclass(frozen=True, slots=True)
class Preset:
    label: str
    recording: str
    """of assets/traces, without its ending"""
    page: str
    """of docs/methods, without its ending"""


@dataclass(frozen=True, slots=True)
class System:
    """One row of the map."""

    name: str
    arxiv: tuple[str, ...]
    """at least one paper; its number begins with year and month"""
    drafts: str
    shape: str
    verifies: str
    needs: tuple[str, ...]
    presets: tuple[Preset, ...] = ()
    comparison: bool = False
    """it does not speculate, and stands here for what it shares with those that do"""
    commands: tuple[str, ...] = ()
    """what to type for it, where no choice in the Watch tab runs it"""
    shares: str = ""
    """of one that stands for comparison: what it has in common with those that speculate"""
    differs: str = ""
    """and why it is none of them"""

    @property
    def status(self) -> str:
        """`RUNS`, `COMPARED` or `PLANNED`."""
        if self.comparison:
            return COMPARED
        return RUNS if self.presets or self.commands else PLANNED

    @property
    def first(self) -> str:
        """Month of its first paper, `2026-02`."""
        number = min(self.arxiv)
        return f"20{number[:2]}-{number[2:4]}"

    @property
    def year(self) -> str:
        return self.first[:4]

    @property
    def date(self) -> str:
        """Month of its first paper in words, `Feb 2026`."""
        return f"{month_abbr[int(self.first[5:])]} {self.year}"

    def values(self, facet: str) -> tuple[str, ...]:
        found = getattr(self, facet)
        return found if isinstance(found, tuple) else (found,)


@cache
def systems() -> tuple[System, ...]:
    """All rows, in the order of the file; none where it is damaged, or a row lacks a facet."""
    return without(ROOT / "method_map.toml", read, ())


def read(path: Path) -> tuple[System, ...]:
    """Raises OptionError for a row that lacks a facet."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(_system(dict(row)) for row in content["system"])


def _system(row: dict[str, Any]) -> System:
    presets = tuple(Preset(**one) for one in row.pop("preset", []))
    try:
        commands = tuple(row.pop("commands", ()))
        arxiv, needs = tuple(row.pop("arxiv")), tuple(row.pop("needs"))
        return System(arxiv=arxiv, needs=needs, presets=presets, commands=commands, **row)
    except (KeyError, TypeError) as error:
        raise OptionError(f"assets/method_map.toml: system {row.get('name', '?')} is incomplete: {error}.") from None


def is_new(system: System) -> bool:
    """Whether it came up in the year of the youngest system."""
    return system.year == max(one.year for one in systems())


@cache
def recordings() -> Mapping[str, Mapping[str, Any]]:
    """Name of a recording → its settings, as `specviz record` reads them; none where the list is damaged."""
    return without(ROOT / "traces" / "recordings.toml", _recordings, {})


def _recordings(path: Path) -> dict[str, dict[str, Any]]:
    return {str(one["name"]): dict(one) for one in tomllib.loads(path.read_text(encoding="utf-8"))["recording"]}


def methods_of(preset: Preset) -> dict[str, Any]:
    """The settings that a preset chooses, by the names of `RunRequest`. Raises OptionError where its recording is not
    in the list."""
    entry = recordings().get(preset.recording)
    if entry is None:
        raise OptionError(
            f"the map's preset '{preset.label}' names the recording '{preset.recording}', which is not "
            "in assets/traces/recordings.toml."
        )
    standard = RunRequest(prompt="")
    chosen = {role: getattr(standard, role).name for role in ("tree_policy", "stop_policy", "verifier")}
    chosen["temperature"] = standard.temperature
    known = set(setting_names())
    chosen |= {name: value for name, value in entry.items() if name in known - LEFT_OUT}
    if chosen["verifier"] == standard.verifier.name:
        chosen["verifier"] = AUTO_VERIFIERS[chosen["temperature"] == 0]
    return {**chosen, "drafter_options": dict(entry.get("options", {}))}


def preset_link(preset: Preset) -> str:
    """The address that opens Step with the preset's methods chosen, and runs nothing."""
    chosen = {name: as_data(value) for name, value in with_choices(methods_of(preset)).items()}
    return f"#tab=watch&choose={pack({'prompt': '', **chosen})}"


def recording_link(preset: Preset) -> str:
    return f"#tab=watch&run={preset.recording}"


def page_link(preset: Preset) -> str:
    return f"#tab=map&doc={preset.page}"


def choices(facet: str) -> list[str]:
    """The values of a facet, in the order in which the rows bring them."""
    return list(dict.fromkeys(value for system in systems() for value in system.values(facet)))


def matching(chosen: Mapping[str, Sequence[str] | str | None]) -> tuple[System, ...]:
    """The systems that have one of the chosen values of every facet; a facet without a choice asks nothing."""
    asked = {facet: {values} if isinstance(values, str) else set(values or ()) for facet, values in chosen.items()}
    return tuple(
        system
        for system in systems()
        if all(not want or want & set(system.values(facet)) for facet, want in asked.items())
    )


# --- the tab ---------------------------------------------------------------------------------------------------------


INTRO = (
    "Every published system that SpecViz aims at, by what drafts, the shape of its drafts, what verifies them, what "
    "it needs and when its first paper came out. A preset's name chooses its methods in *Watch*; a command is typed in "
    "a terminal. Those marked *for comparison* are fast without drafting and verifying."
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

    gr.on([one.change for one in filters.values()], show, list(filters.values()), grid, **latest())
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


NOTHING = '<p class="sv-note">No system matches all of these; remove a choice.</p>'

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
    date = f'<time datetime="{escape(system.first)}">{escape(system.date)}</time>'
    mark = f' · <strong class="sv-map-new">{NEW}</strong>' if is_new(system) else ""
    return (
        f'<article class="sv-map-card is-{kind}"><header><h3>{escape(system.name)}</h3>'
        f'<span class="sv-map-status">{system.status}</span></header><p class="sv-map-date">{date}{mark}</p>'
        f"<dl>{facets}</dl>"
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
        links.append(_link(recording_link(preset), f"recording of {preset.label}", "recording"))
    links.append(_link(page_link(preset), f"the page of {preset.label}", "page"))
    return " · ".join(links)


def _link(href: str, title: str, text: str) -> str:
    return f'<a href="{escape(href, quote=True)}" aria-label="{escape(title, quote=True)}">{escape(text)}</a>'


def _build(page: Page, tab: gr.Tab, actions: None) -> None:
    read, kept = map_tab(frozenset(recorded_names(page.gallery).values()))
    page.document = read, method_page
    page.kept.append(kept)


TAB = Tab("map", "Map", "lab", 8, nothing, _build)

"""A tab of the page as it declares itself, the page that it is built into, and how tabs are found and opened by name.

    Watch · Learn · Race · When it pays · Lab
                                          └ Analysis · Studies · Train · …

Adding a tab is one module with a `TAB`, NAME.py or NAME/tab.py in specviz/app, and nothing else to edit. A
tab's name is its title in small letters with hyphens; links say it, and so do the browser's scripts.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import gradio as gr

from specviz import app
from specviz.app.form.kept import Kept
from specviz.app.form.request import Limits
from specviz.app.runs.gallery import Gallery, ShownSweep
from specviz.protocol.runs import TraceSource

WATCH, ANALYSIS, PAYS = "watch", "analysis", "when-it-pays"
"""tabs that others open"""
LAB = "lab"
"""the last tab of the first row, which holds the second row"""

A = TypeVar("A")
P = TypeVar("P")


def nothing(page: Page) -> None:
    """The actions of a tab that has none."""


@dataclass(frozen=True, slots=True)
class Tab(Generic[A, P]):
    """What a tab says of itself. `A`: its actions, `P`: the components that others need of it."""

    name: str
    title: str
    row: Literal["front", "lab"]
    order: int
    """in its row, the smallest first"""
    actions: Callable[[Page], A]
    """what its controls do. Called above the tabs, where something of it may stand outside them"""
    build: Callable[[Page, gr.Tab, A], P]
    """draws and wires it, inside its place on the page"""
    connect: Callable[[Page], None] = nothing
    """wires it with other tabs, when all of them stand"""
    former: tuple[str, ...] = ()
    """names that earlier releases gave it: their links still open"""


@dataclass(slots=True)
class Page:
    """What tabs are built over and what they tell each other of."""

    source: TraceSource
    gallery: Gallery
    limits: Limits
    sweeps: Path
    """the folder of the recorded sweeps"""
    measured: ShownSweep | None
    """the recorded sweep, if there is one"""
    table: str
    """of all drafters, as HTML"""
    blocks: gr.Blocks
    kept: list[Kept] = field(default_factory=list)
    """what links hold of the tabs"""
    document: tuple[gr.Markdown, Callable[[str], str]] | None = None
    """where a link's page of documentation is read, and its text by its name"""
    _rows: list[gr.Tabs] = field(default_factory=list)
    _actions: dict[str, Any] = field(default_factory=dict)
    _parts: dict[str, Any] = field(default_factory=dict)

    def draw(self) -> None:
        """All tabs that there are, inside the current Blocks."""
        for tab in found():
            self._actions[tab.name] = tab.actions(self)
        with gr.Tabs(elem_id="sv-tabs") as front:
            self._rows.append(front)
            self._draw("front")
            with gr.Tab("Lab", id=LAB), gr.Tabs(elem_id="sv-lab-tabs") as lab:
                self._rows.append(lab)
                self._draw("lab")
        for tab in found():
            tab.connect(self)

    def _draw(self, row: str) -> None:
        for tab in in_row(row):
            with gr.Tab(tab.title, id=tab.name) as place:
                gr.HTML(f"<h2>{tab.title}</h2>", elem_classes="sv-heading")  # for who walks by headings
                self._parts[tab.name] = tab.build(self, place, self._actions[tab.name])

    @property
    def front(self) -> gr.Tabs:
        return self._rows[0]

    @property
    def rows(self) -> TabRows:
        """Both rows of tabs, once they stand."""
        front, lab = self._rows
        return TabRows(front, lab)

    def actions(self, tab: Tab[A, P]) -> A:
        """A tab's actions."""
        return self._actions[tab.name]  # type: ignore[no-any-return]

    def parts(self, tab: Tab[A, P]) -> P:
        """What a tab that was built before has of components."""
        return self._parts[tab.name]  # type: ignore[no-any-return]

    def all_actions(self) -> list[Any]:
        return list(self._actions.values())


@cache
def found() -> tuple[Tab[Any, Any], ...]:
    """Every tab, row by row in its order."""
    tabs = []
    for module in pkgutil.iter_modules(app.__path__, f"{app.__name__}."):
        name = f"{module.name}.tab" if module.ispkg else module.name
        if not module.ispkg or find_spec(name) is not None:
            tab = getattr(importlib.import_module(name), "TAB", None)
            tabs += [tab] if isinstance(tab, Tab) else []
    return tuple(sorted(tabs, key=lambda tab: (tab.row, tab.order)))


def in_row(row: str) -> list[Tab[Any, Any]]:
    return [tab for tab in found() if tab.row == row]


@dataclass(frozen=True, slots=True)
class TabRows:
    """Both rows, as outputs of an event that opens a tab."""

    front: gr.Tabs
    lab: gr.Tabs

    def outputs(self) -> list[gr.Tabs]:
        return [self.front, self.lab]

    def opening(self, name: str) -> dict[Any, Any]:
        """`opening` by row, for events that answer by component."""
        return dict(zip(self.outputs(), opening(name), strict=True))


def opening(name: str) -> tuple[Any, Any]:
    """Updates of both rows (front, lab) that show the tab of this name; a name of none changes nothing."""
    tab = _called(name)
    if tab is not None and tab.row == "lab":
        return gr.Tabs(selected=LAB), gr.Tabs(selected=tab.name)
    name = LAB if name == LAB else tab.name if tab is not None else ""
    return (gr.Tabs(selected=name) if name else gr.skip()), gr.skip()


def is_tab(name: str) -> bool:
    """Whether a link that says this name opens a tab."""
    return name == LAB or _called(name) is not None


def _called(name: str) -> Tab[Any, Any] | None:
    return next((tab for tab in found() if name in (tab.name, *tab.former)), None)

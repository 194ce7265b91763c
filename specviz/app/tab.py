"""The page's two rows of tabs: four for everybody, and the rest behind *Lab*; and how any of them is opened by name.

    Watch · Learn · Race · When it pays · Lab
                                          └ Analysis · Studies · Train · …

A tab's name is its label in small letters with hyphens; links say it, and so do the browser's scripts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

WATCH, LEARN, RACE, PAYS, LAB = "watch", "learn", "race", "when-it-pays", "lab"
FRONT = (WATCH, LEARN, RACE, PAYS, LAB)
ANALYSIS = "analysis"
IN_LAB = (ANALYSIS, "studies", "train", "machine", "what-if", "proof", "scenes", "map", "about")
FORMER = {"step": WATCH, "speedup": PAYS}
"""names that earlier releases gave tabs: their links still open"""


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
    name = FORMER.get(name, name)
    if name in IN_LAB:
        return gr.Tabs(selected=LAB), gr.Tabs(selected=name)
    return (gr.Tabs(selected=name) if name in FRONT else gr.skip()), gr.skip()


def is_tab(name: str) -> bool:
    """Whether a link that says this name opens a tab."""
    return name in FRONT or name in IN_LAB or name in FORMER

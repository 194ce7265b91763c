"""What one chart of the lab is: its words, its figure and its rows for a file.

Place in the flow: each chart's file ends with a `CHART` of this type; `charts.py` finds them there.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from specviz.app.lab.cases import Rows
from specviz.app.lab.figure_parts import sentence
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.store import cell
from specviz.theory.repetition import varied

NOTHING = "Nothing is measured yet: run a sweep, and this chart draws itself from its points."
NO_DRAFTS = "None of the runs measured here drafted anything: choose a drafter and run the sweep again."
NO_PLAIN = "Some drafter and the plain run of the same prompt are needed, and these results have none with times."


@dataclass(frozen=True, slots=True)
class LabChart:
    """One chart over the points of a sweep."""

    name: str
    """in links and file names"""
    title: str
    question: str
    reading: str
    """how to read it, in a sentence or two"""
    missing: str
    """what the points lack where there is nothing to draw"""
    draw: Callable[[Sequence[SweepPoint]], go.Figure | None]
    rows: Callable[[Sequence[SweepPoint]], Rows]
    """one dictionary per number drawn, all with the same columns; none where there is nothing"""
    place: int
    """among the others: the smallest is offered first"""
    every_text: bool = False
    """it also has the texts that repeat themselves; otherwise they are left out"""

    def build(self, points: Sequence[SweepPoint]) -> go.Figure:
        """The figure; where there is nothing to draw, one that says what is missing."""
        drawn = self.draw(self.of(points)) if points else None
        return drawn if drawn is not None else sentence(self.missing if points else NOTHING)

    def of(self, points: Sequence[SweepPoint]) -> Sequence[SweepPoint]:
        """The points that the chart is about."""
        return points if self.every_text else varied(points)


def rows_csv(rows: Rows) -> str:
    """A header and one line per row; empty for no rows. Spreadsheets run cells that begin like a formula: such text
    gets a leading apostrophe."""
    text = io.StringIO()
    if rows:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([[cell(value) for value in row.values()] for row in rows])
    return text.getvalue()

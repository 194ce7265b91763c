"""What one chart of the lab is (its words, its figure and its rows for a file), and the lab below the When-it-pays
tab's chart: one chart of the visitor's choice over the same points, and its downloads.

The charts are read off the files of this folder: every `LabChart` that stands in one is offered, so adding a chart
edits no list. Only the chosen one is drawn. Pictures and links are made in the browser (`assets/js/page/charts.js`); a
link restores tab and chart.
"""

from __future__ import annotations

import csv
import importlib
import io
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape

import gradio as gr
import plotly.graph_objects as go

from specviz.app import lab
from specviz.app.lab.cases import Rows
from specviz.app.look.events import QUIET, latest
from specviz.app.look.style import sentence
from specviz.app.offered import offered
from specviz.app.tab import opening
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.store import cell
from specviz.theory.rows import varied

NOTHING = "Nothing is measured yet: run a sweep to fill this chart."
NO_DRAFTS = "None of the runs measured here drafted anything: choose a drafter and run the sweep again."
NO_PLAIN = "This chart needs timed runs of a drafter and of plain decoding on one prompt; these results have none."


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


@cache
def charts() -> tuple[LabChart, ...]:
    """By their `place`."""
    names = (info.name for info in pkgutil.iter_modules(lab.__path__))
    modules = (importlib.import_module(f"{lab.__name__}.{name}") for name in names)
    made = [value for module in modules for value in vars(module).values() if isinstance(value, LabChart)]
    return tuple(sorted(made, key=lambda chart: chart.place))


def chart(name: str) -> LabChart:
    """The chart of that name; the first one for a name that is none, such as one from an old link."""
    return next((chart for chart in charts() if chart.name == name), charts()[0])


# --- the choice ------------------------------------------------------------------------------------------------------


PLOT = "sv-lab-plot"
TITLE = "### More charts of these results"


@dataclass(frozen=True, eq=False)
class Shown:
    """The points on the page, for a `gr.State`."""

    points: tuple[SweepPoint, ...] = ()
    awaited: bool = False
    """they are on their way: until then nothing is drawn, so that the page does not claim that there are none"""


def lab_charts(shown: gr.State, main: gr.Plot, opening: str | None = None) -> gr.Radio:
    """Build the lab inside the current Blocks. Returns the choice of the chart. `opening`: what stands where the
    chart will be until results arrive that are on their way.

    It draws anew when the choice changes or `main`, the chart above, which is always set together with the points: a
    state that changes outside the queue tells nobody."""
    first = charts()[0]
    gr.Markdown(TITLE)
    choice = gr.Radio(
        [(known.title, known.name) for known in charts()],
        value=first.name,
        label="chart",
        show_label=False,
        elem_id="sv-lab-choice",
    )
    text = gr.HTML(explanation(first.name), elem_id="sv-lab-text")
    plot = gr.Plot(sentence(opening) if opening else first.build([]), show_label=False, elem_id=PLOT)
    with gr.Row(elem_classes="sv-actions"):
        picture_buttons(PLOT, choice)
        as_csv = gr.DownloadButton("CSV", interactive=False, size="sm", min_width=80, elem_id="sv-lab-csv")
        link = gr.Button("Copy link", size="sm", min_width=80, elem_id="sv-lab-link")
    note = gr.HTML(elem_id="sv-lab-note")
    gr.on([main.change, choice.change], draw_chosen, [shown, choice], [text, plot, as_csv], **latest())
    link.click(None, choice, note, js="(name) => SpecViz.shareChart(name)", **QUIET)
    return choice


def picture_buttons(plot: str, name: gr.Radio | None = None) -> None:
    """Buttons that save the plot with this element id as PNG and SVG, named after the chosen chart."""
    for kind in ("png", "svg"):
        button = gr.Button(kind.upper(), size="sm", min_width=80, elem_id=f"{plot}-{kind}")
        save = f"(name) => SpecViz.saveChart('{plot}', '{kind}', name || 'speedup')"
        button.click(None, name, None, js=save, **QUIET)


def draw_chosen(shown: Shown, name: str) -> tuple[object, ...]:
    """What the chosen chart is about, the chart, and its numbers as a file."""
    if shown.awaited:
        return explanation(name), gr.skip(), gr.skip()
    drawn = chart(name)
    return explanation(name), drawn.build(shown.points), _file(drawn.name, shown.points)


def _file(name: str, points: Sequence[SweepPoint]) -> gr.DownloadButton:
    drawn = chart(name)
    rows = drawn.rows(drawn.of(points))
    if not rows:
        return gr.DownloadButton(value=None, interactive=False)
    return gr.DownloadButton(value=offered(f"specviz-{name}.csv", rows_csv(rows)), interactive=True)


def explanation(name: str) -> str:
    shown = chart(name)
    return f'<p class="sv-lab-question">{escape(shown.question)}</p><p class="sv-note">{escape(shown.reading)}</p>'


def restore(visitor: gr.Request) -> tuple[object, object, object]:
    """Tab, in either row, and chart that the page's address asks for; an address that names none, or none of the
    page's, changes nothing."""
    asked = dict(visitor.query_params) if visitor else {}
    known = {known_chart.name for known_chart in charts()}
    return *opening(str(asked.get("tab", ""))), asked["chart"] if asked.get("chart") in known else gr.skip()

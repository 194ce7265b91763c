"""The lab below the When-it-pays tab's chart: one chart of the visitor's choice over the same points, and its
downloads.

Only the chosen chart is drawn. Pictures and links are made in the browser (`assets/js/page/charts.js`); a link restores
tab and chart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import gradio as gr

from specviz.app.lab.chart import rows_csv
from specviz.app.lab.charts import CHARTS, chart
from specviz.app.lab.figure_parts import sentence
from specviz.app.look.events import LATEST, QUIET
from specviz.app.offered import offered
from specviz.app.tab import opening
from specviz.protocol.sweeps.points import SweepPoint

PLOT = "sv-lab-plot"
TITLE = "### More charts of these results"


@dataclass(frozen=True, eq=False)
class Shown:
    """The points on the page, for a `gr.State`."""

    points: tuple[SweepPoint, ...] = ()
    awaited: bool = False
    """they are on their way: until then nothing is drawn, so that the page says of no results that there are none"""


def lab_charts(shown: gr.State, main: gr.Plot, opening: str | None = None) -> gr.Radio:
    """Build the lab inside the current Blocks. Returns the choice of the chart. `opening`: what stands where the
    chart will be until results arrive that are on their way.

    It draws anew when the choice changes or `main`, the chart above, which is always set together with the points: a
    state that changes outside the queue tells nobody."""
    first = CHARTS[0]
    gr.Markdown(TITLE)
    choice = gr.Radio(
        [(one.title, one.name) for one in CHARTS],
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
    gr.on([main.change, choice.change], draw, [shown, choice], [text, plot, as_csv], **LATEST)
    link.click(None, choice, note, js="(name) => SpecViz.shareChart(name)", **QUIET)
    return choice


def picture_buttons(plot: str, name: gr.Radio | None = None) -> None:
    """Buttons that save the plot with this element id as PNG and SVG, named after the chosen chart."""
    for kind in ("png", "svg"):
        button = gr.Button(kind.upper(), size="sm", min_width=80, elem_id=f"{plot}-{kind}")
        save = f"(name) => SpecViz.saveChart('{plot}', '{kind}', name || 'speedup')"
        button.click(None, name, None, js=save, **QUIET)


def draw(shown: Shown, name: str) -> tuple[object, ...]:
    """What the chosen chart is about, the chart, and its numbers as a file."""
    if shown.awaited:
        return explanation(name), gr.skip(), gr.skip()
    one = chart(name)
    return explanation(name), one.build(shown.points), _file(one.name, shown.points)


def _file(name: str, points: Sequence[SweepPoint]) -> gr.DownloadButton:
    one = chart(name)
    rows = one.rows(one.of(points))
    if not rows:
        return gr.DownloadButton(value=None, interactive=False)
    return gr.DownloadButton(value=offered(f"specviz-{name}.csv", rows_csv(rows)), interactive=True)


def explanation(name: str) -> str:
    one = chart(name)
    return f'<p class="sv-lab-question">{escape(one.question)}</p><p class="sv-note">{escape(one.reading)}</p>'


def restore(visitor: gr.Request) -> tuple[object, object, object]:
    """Tab, in either row, and chart that the page's address asks for; an address that names none, or none of the
    page's, changes nothing."""
    asked = dict(visitor.query_params) if visitor else {}
    known = {one.name for one in CHARTS}
    return *opening(str(asked.get("tab", ""))), asked["chart"] if asked.get("chart") in known else gr.skip()

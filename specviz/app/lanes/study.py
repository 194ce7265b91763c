"""A study: drafting beside verifying, recorded; choosing only draws it anew."""

from __future__ import annotations

from html import escape

import gradio as gr

from specviz.app.lanes.figure import lanes_figure
from specviz.app.lanes.view import LanesView, case_names, lanes_view, shipped
from specviz.app.page.events import LATEST
from specviz.app.parts import notices
from specviz.app.parts.tables import blocks_table
from specviz.errors import SpecVizError

INTRO = (
    "Speculative decoding takes turns: the drafter drafts, the target verifies, the drafter waits. **AMUSD** and "
    "**PEARL** let both work at the same time, in two processes; **DSI** uses several targets. All write the same text."
    " **Recorded**: measured one after the other on one machine. DSI is **simulated** from the pass times measured "
    "there, with three targets. Where a lane is empty, it waits. Method: `docs/asynchronous.md`."
)
COLUMNS = ("method", "", "× plain", "tokens/s", "drafter busy", "target busy", "drafted", "thrown away")


def lanes_study(visible: bool) -> gr.Column | None:
    """Build the study inside the current Blocks and return it; None where no lanes are shipped."""
    file = shipped()
    if file is None:
        return None
    names = case_names(file)
    opening = lanes_view(file, names[0])
    column: gr.Column = gr.Column(visible=visible, elem_id="sv-lanes")
    with column:
        gr.Markdown(INTRO)
        case = gr.Radio(names, value=names[0], label="drafter", elem_id="sv-lanes-case")
        sentence = gr.HTML(notices.message(opening.sentence), elem_id="sv-lanes-sentence")
        plot = gr.Plot(lanes_figure(opening), show_label=False, elem_id="sv-lanes-plot")
        table = gr.HTML(lanes_table(opening), elem_id="sv-lanes-table")
        gr.HTML(notices.note(opening.origin))
    case.change(show, case, [sentence, plot, table], **LATEST)
    return column


def show(case: str | None) -> tuple[object, object, object]:
    """Updates of (sentence, plot, table)."""
    file = shipped()
    if file is None:
        error = SpecVizError("the recorded lanes are missing; restore assets/lanes.")
        return notices.message(str(error), "error"), gr.skip(), gr.skip()
    view = lanes_view(file, str(case or ""))
    return notices.message(view.sentence), lanes_figure(view), lanes_table(view)


def lanes_table(view: LanesView) -> str:
    rows = [
        (
            row.name, row.source, f"{row.ratio:.2f}", f"{row.tokens_per_s:.0f}",
            f"{row.drafter_busy:.0%}" if row.drafted else "–", f"{row.target_busy:.0%}",
            str(row.drafted), str(row.thrown),
        )
        for row in view.rows
    ]  # fmt: skip
    return blocks_table(COLUMNS, [list(map(escape, row)) for row in rows])

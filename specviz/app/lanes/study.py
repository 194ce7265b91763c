"""A study: drafting beside verifying, recorded; choosing only draws it anew."""

from __future__ import annotations

from functools import partial
from html import escape

import gradio as gr

from specviz.app.lanes.figure import lanes_figure
from specviz.app.look import notices
from specviz.app.look.events import LATEST
from specviz.app.look.notices import blocks_table
from specviz.app.parts.study import Study
from specviz.studies.lanes.result import LanesFile, LanesView, case_names, lanes_view, shipped

INTRO = (
    "Speculative decoding takes turns: the drafter drafts, the target verifies, the drafter waits. **AMUSD** and "
    "**PEARL** let both work at the same time, in two processes; **DSI** uses several targets. All write the same text."
    " **Recorded**: measured one after the other on one machine. DSI is **simulated** from the pass times measured "
    "there, with three targets. Where a lane is empty, it waits. Method: `docs/asynchronous.md`."
)
COLUMNS = ("method", "", "× plain", "tokens/s", "drafter busy", "target busy", "drafted", "thrown away")


def build(file: LanesFile) -> None:
    """Build what shows the lanes inside the current Blocks."""
    names = case_names(file)
    opening = lanes_view(file, names[0])
    case = gr.Radio(names, value=names[0], label="drafter", elem_id="sv-lanes-case")
    sentence = gr.HTML(notices.message(opening.sentence), elem_id="sv-lanes-sentence")
    plot = gr.Plot(lanes_figure(opening), show_label=False, elem_id="sv-lanes-plot")
    table = gr.HTML(lanes_table(opening), elem_id="sv-lanes-table")
    gr.HTML(notices.note(opening.origin))
    case.change(partial(show, file), case, [sentence, plot, table], **LATEST)


def show(file: LanesFile, case: str | None) -> tuple[object, object, object]:
    """Updates of (sentence, plot, table)."""
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


STUDY = Study("asynchronous", "Draft beside verifying?", INTRO, shipped, build)

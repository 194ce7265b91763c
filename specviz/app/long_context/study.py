"""A study: what a long text costs a drafter, and what anchor-offset training brings; read-only.

The result is a shipped file (`specviz study long-context`); choosing only draws it anew.
"""

from __future__ import annotations

from functools import partial
from html import escape

import gradio as gr

from specviz.app.long_context.figure import long_context_figure
from specviz.app.look import notices
from specviz.app.look.events import LATEST
from specviz.app.look.tables import blocks_table
from specviz.app.parts.study import Study
from specviz.errors import SpecVizError
from specviz.studies.long_context.result import (
    NUMBERS,
    LongContexts,
    LongContextView,
    long_context_view,
    numbers,
    shipped,
)

INTRO = (
    "A drafter with a model of its own keeps keys and values of the whole text beside the target's. `cross_kv` reads "
    "the target's: as LongSpec it keeps a window of its own and no more. **Recorded**: measured once, on the models "
    "and the machine named below. Method: `docs/methods/cross_kv.md`."
)


def build(study: LongContexts) -> None:
    """Build what shows the result inside the current Blocks."""
    opening = long_context_view(study, NUMBERS[0].name)
    number = gr.Radio(
        [(one.label, one.name) for one in numbers(study)], value=NUMBERS[0].name, label="number",
        elem_id="sv-long-context-number",
    )  # fmt: skip
    sentence = gr.HTML(_said(opening), elem_id="sv-long-context-sentence")
    plot = gr.Plot(long_context_figure(opening), show_label=False, elem_id="sv-long-context-plot")
    table = gr.HTML(long_context_table(opening), elem_id="sv-long-context-table")
    origin = gr.HTML(notices.note(opening.origin), elem_id="sv-long-context-origin")
    number.change(partial(show, study), number, [sentence, plot, table, origin], **LATEST)


def show(study: LongContexts, number: str | None) -> tuple[object, object, object, object]:
    """Updates of (sentence, plot, table, origin)."""
    try:
        view = long_context_view(study, str(number or ""))
    except SpecVizError as error:
        return notices.message(str(error), "error"), gr.skip(), gr.skip(), gr.skip()
    return _said(view), long_context_figure(view), long_context_table(view), notices.note(view.origin)


def _said(view: LongContextView) -> str:
    return notices.message(f"{view.sentence} {view.measured_on}")


def long_context_table(view: LongContextView) -> str:
    """The chosen number by drafter and context."""
    contexts = view.lines[0].contexts if view.lines else ()
    rows = [[escape(one.name), *(f"{value:.3g}" for value in one.values)] for one in view.lines]
    rows += [[escape(name), *(cells.get(context, "–") for context in contexts)] for name, cells in view.beside]
    head = ("tokens of the text", *(f"{context:,.0f}" for context in contexts))
    return blocks_table(head, rows, f"Recorded: {view.number.axis}")


STUDY = Study("long-context", "Long texts?", INTRO, shipped, build)

"""A study: what aligning a drafter with its target brought, by loss and text; read-only.

The result is a shipped file (`specviz study alignment`); choosing only draws it anew.
"""

from __future__ import annotations

from functools import partial
from html import escape

import gradio as gr

from specviz.app.alignment.figure import alignment_figure
from specviz.app.alignment.view import (
    BOTH,
    NUMBERS,
    AlignmentView,
    alignment_view,
    shipped,
    temperatures,
)
from specviz.app.look import notices
from specviz.app.look.events import LATEST
from specviz.app.look.tables import blocks_table
from specviz.app.parts.study import Study
from specviz.errors import SpecVizError
from specviz.studies.alignment.result import DOMAINS, AlignmentStudy

INTRO = (
    "A drafter that was trained on text knows the text; *alignment* goes on training it on its target's distribution. "
    "Each mark is one alignment, all with equally many tokens; the dashed lines are where the drafters began. "
    "**Recorded**: measured exactly on held-out texts that the target wrote, no draw is in it. Losses and method: "
    "`docs/alignment.md`."
)
COLUMNS = ("drafter", "texts", "aligned on", "loss", "after", "change")


def build(study: AlignmentStudy) -> None:
    """Build what shows the result inside the current Blocks."""
    heats = temperatures(study)
    opening = alignment_view(study, NUMBERS[0].name, heats[0], BOTH)
    with gr.Row():
        number = gr.Dropdown(
            [(one.title, one.name) for one in NUMBERS], value=NUMBERS[0].name, label="number", min_width=220,
            elem_id="sv-alignment-number",
        )  # fmt: skip
        heat = gr.Radio(heats, value=heats[0], label="temperature", min_width=160, elem_id="sv-alignment-heat")
        domain = gr.Radio(
            [("both", BOTH), ("plain English", DOMAINS[0]), ("Python", DOMAINS[1])], value=BOTH,
            label="measured on", min_width=220, elem_id="sv-alignment-domain",
        )  # fmt: skip
    sentence = gr.HTML(notices.message(opening.sentence), elem_id="sv-alignment-sentence")
    plot = gr.Plot(alignment_figure(opening), show_label=False, elem_id="sv-alignment-plot")
    table = gr.HTML(alignment_table(opening), elem_id="sv-alignment-table")
    gr.HTML(notices.note(opening.origin))
    gr.on(
        [number.change, heat.change, domain.change], partial(show, study), [number, heat, domain],
        [sentence, plot, table], **LATEST,
    )  # fmt: skip


def show(
    study: AlignmentStudy, number: str | None, heat: str | None, domain: str | None
) -> tuple[object, object, object]:
    """Updates of (sentence, plot, table)."""
    try:
        view = alignment_view(study, str(number or ""), str(heat or ""), str(domain or ""))
    except SpecVizError as error:
        return notices.message(str(error), "error"), gr.skip(), gr.skip()
    return notices.message(view.sentence), alignment_figure(view), alignment_table(view)


def alignment_table(view: AlignmentView) -> str:
    """The chosen number of every alignment, with its change."""
    rows = []
    for row in view.rows:
        change = "–" if row.change is None else f"{row.change:+.3f}"
        cells = (row.start, row.texts or "–", row.aligned_on or "–", row.loss or "before", f"{row.value:.3f}", change)
        rows.append([escape(cell) for cell in cells])
    return blocks_table(COLUMNS, rows, f"Recorded: {view.number.title}, temperature {view.temperature}")


STUDY = Study("alignment", "Train on the target?", INTRO, shipped, build)

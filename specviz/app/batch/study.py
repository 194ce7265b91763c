"""A study: the batch from which speculation stops paying, recorded."""

from __future__ import annotations

from html import escape

import gradio as gr

from specviz.app.batch.figure import batch_figure
from specviz.app.batch.view import BatchView, batch_view, shipped
from specviz.app.look import notices
from specviz.app.look.notices import blocks_table
from specviz.app.parts.study import Study
from specviz.studies.batches.result import BatchFile, name_of
from specviz.theory.batches import BatchRow

INTRO = (
    "Several texts decoded together share every pass: one of the drafter for all their drafts, one of the target for "
    "all their verifications. Each text has its own accepted length, and the batch changes none of them. But the rows "
    "of B texts use up the room in which a draft's rows are nearly free: from some size on a drafted token costs more "
    "than it saves. **Recorded** on one machine; plain decoding is measured in batches of the same size. Method: "
    "`docs/batch.md`."
)


def build(file: BatchFile) -> None:
    """Build what shows the measurement inside the current Blocks."""
    view = batch_view(file)
    gr.HTML(notices.message(view.sentence), elem_id="sv-batch-sentence")
    gr.Plot(batch_figure(view), show_label=False, elem_id="sv-batch-plot")
    gr.HTML(batch_table(view), elem_id="sv-batch-table")
    gr.HTML(notices.note(view.origin))


def batch_table(view: BatchView) -> str:
    """A row per size: plain decoding's tokens per second, then of each shape the speedup with its quartiles."""
    shapes = list(dict.fromkeys(row.shape for row in view.rows))
    found = {(row.shape, row.size): row for row in view.rows}
    sizes = sorted({row.size for row in view.rows})
    body = [[str(size), *(_cell(found[shape, size]) for shape in shapes)] for size in sizes]
    return blocks_table(["B", *map(name_of, shapes)], [list(map(escape, row)) for row in body])


def _cell(row: BatchRow) -> str:
    if row.speedup is None:
        return f"{row.tokens_per_s:.0f} tokens/s"
    return f"{row.speedup.median:.2f}× ({row.speedup.low:.2f} to {row.speedup.high:.2f})"


STUDY = Study("batch", "How large a batch?", INTRO, shipped, build)

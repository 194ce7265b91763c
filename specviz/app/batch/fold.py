"""A fold of the Machine tab: the batch from which speculation stops paying, recorded."""

from __future__ import annotations

from html import escape

import gradio as gr

from specviz.app.batch.figure import batch_figure
from specviz.app.batch.view import BatchView, batch_view, shipped
from specviz.app.parts import notices
from specviz.app.parts.tables import blocks_table
from specviz.protocol.batches import name_of

INTRO = (
    "Several texts decoded together share every pass: one of the drafter for all their drafts, one of the target for "
    "all their verifications. Each text has its own accepted length, and the batch changes none of them. But the rows "
    "of B texts fill the processor, and with it the room in which a draft's rows are nearly free: the larger the "
    "batch, the more each drafted token costs. **Recorded** on one machine; plain decoding is measured in batches of "
    "the same size. Method: `docs/batch.md`."
)
COLUMNS = ("draft", "B", "× plain", "quartiles", "tokens/s", "accepted / drafted", "tokens per round", "same text")


def batch_fold() -> None:
    """Build the fold inside the current Blocks; nothing where no batches are shipped."""
    file = shipped()
    if file is None:
        return
    view = batch_view(file)
    with gr.Accordion("A batch: where speculation stops paying", open=False, elem_id="sv-batch"):
        gr.Markdown(INTRO)
        gr.HTML(notices.message(view.sentence), elem_id="sv-batch-sentence")
        gr.Plot(batch_figure(view), show_label=False, elem_id="sv-batch-plot")
        gr.HTML(batch_table(view), elem_id="sv-batch-table")
        gr.HTML(notices.note(view.origin))


def batch_table(view: BatchView) -> str:
    rows = [
        (
            name_of(row.shape), str(row.size),
            f"{row.speedup.median:.2f}" if row.speedup else "1",
            f"{row.speedup.low:.2f} to {row.speedup.high:.2f}" if row.speedup else "–", f"{row.tokens_per_s:.0f}",
            f"{row.acceptance.value:.0%}" if row.acceptance else "–", f"{row.length.value:.2f}" if row.length else "1",
            f"{row.same} of {row.texts}",
        )
        for row in view.rows
    ]  # fmt: skip
    return blocks_table(COLUMNS, [list(map(escape, row)) for row in rows])

"""A fold of the When-it-pays tab: acceptance records of other engines beside traces; what was opened stays with
its visitor.

Lays out and answers uploads; reading is `protocol.acceptance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gradio as gr

from specviz.app.acceptance.figure import acceptance_figure
from specviz.app.acceptance.view import acceptance_table, sentence
from specviz.app.form.request import Limits
from specviz.app.look import notices
from specviz.app.look.events import QUIET, READING
from specviz.errors import TraceError
from specviz.protocol.acceptance.counts import AcceptanceRun
from specviz.protocol.acceptance.files import read
from specviz.trace.limits import UPLOAD

INTRO = (
    "How much of the draft other engines accepted, beside runs of this page. Files: traces (`.json`, `.json.gz`), "
    "responses of **vLLM** (`metrics.speculative_decoding`; the server needs `--per-request-spec-decode-metrics`) or "
    "**SGLang** (`meta_info`), one, a list, or one per line, and **AIPerf**'s `profile_export.jsonl`. Engines tell "
    "counts per request; there is no tree in them, and times are not compared. Field names and their sources: "
    "`docs/other_engines.md`."
)
EMPTY = "No file is open yet."
MOST_RUNS = 12
"""more lines than that nobody tells apart"""
Runs = tuple[AcceptanceRun, ...]
Updates = tuple[object, object, object, object]


def acceptance_fold(limits: Limits) -> None:
    """Build the fold inside the current Blocks."""
    with gr.Accordion("Acceptance of other engines: vLLM, SGLang, AIPerf", open=False, elem_id="sv-acceptance"):
        gr.Markdown(INTRO)
        with gr.Row():
            upload = gr.UploadButton(
                "Open records or traces", file_types=[".json", ".jsonl", ".gz"], file_count="multiple", size="sm",
                min_width=180, scale=0, elem_id="sv-acceptance-upload",
            )  # fmt: skip
            clear = gr.Button("Clear", size="sm", min_width=80, scale=0)
        message = gr.HTML(notices.message(EMPTY), elem_id="sv-acceptance-message")
        plot = gr.Plot(visible=False, show_label=False, elem_id="sv-acceptance-plot")
        table = gr.HTML("", elem_id="sv-acceptance-table")
        kept: gr.State = gr.State(())
    shown = [kept, message, plot, table]
    upload.upload(lambda paths, runs: opened(paths, runs, limits.import_bytes), [upload, kept], shown, **READING)
    clear.click(lambda: picture((), []), None, shown, **QUIET)


def opened(paths: Sequence[str] | None, runs: Runs, most_bytes: int) -> Updates:
    """The files beside those that are open; what cannot be read is named, and the others stay."""
    found, refused = list(runs), list[str]()
    for path in paths or ():
        name = Path(path).name
        if Path(path).stat().st_size > most_bytes:
            refused.append(f"{name}: the file is larger than the {most_bytes / 1e6:g} MB this machine takes.")
        elif len(found) == MOST_RUNS:
            refused.append(f"{name}: {MOST_RUNS} runs are open, which is the most that is shown; press Clear first.")
        else:
            try:
                found.append(read(path, UPLOAD))
            except TraceError as error:
                refused.append(str(error))
    return picture(tuple(found), refused)


def picture(runs: Runs, refused: Sequence[str]) -> Updates:
    """(state, message, chart, table)."""
    words = " ".join([*refused, *([sentence(runs)] if runs else [] if refused else [EMPTY])])
    line = notices.message(words, "error" if refused else "plain")
    charted = any(run.total.reached for run in runs)
    plot = gr.Plot(acceptance_figure(runs), visible=True) if charted else gr.Plot(visible=False)
    return runs, line, plot, acceptance_table(runs) if runs else ""

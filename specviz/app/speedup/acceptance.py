"""A fold of the When-it-pays tab: acceptance records of other engines beside traces; what was opened stays with its
visitor.

A row and a line per file; what an engine does not tell is left open. Reading is `protocol.acceptance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import gradio as gr
import plotly.graph_objects as go

from specviz.app.form.request import Limits
from specviz.app.look import notices
from specviz.app.look.events import QUIET, READING
from specviz.app.look.notices import blocks_table
from specviz.app.look.style import MARKS, SERIES, style
from specviz.bench.core.report import or_dash
from specviz.errors import TraceError
from specviz.protocol.acceptance import AcceptanceRun, read
from specviz.trace.files import UPLOAD

COLUMNS = ("run", "engine", "what is there", "requests", "steps", "drafted", "accepted", "rate", "mean length")
TRACED, SUMMARY = "a whole trace", "summary only: no tree"


def label(run: AcceptanceRun) -> str:
    return run.name if run.traced else f"{run.name} (summary only)"


def acceptance_table(runs: Sequence[AcceptanceRun]) -> str:
    """One row per file; names come from strangers and are escaped."""
    return blocks_table(COLUMNS, [list(map(escape, _cells(run))) for run in runs])


def _cells(run: AcceptanceRun) -> tuple[str, ...]:
    total = run.total
    without = f" (+{run.silent} without)" if run.silent else ""
    return (
        run.name,
        run.engine,
        TRACED if run.traced else SUMMARY,
        f"{len(run.requests)}{without}",
        str(total.spec_steps),
        str(total.draft_tokens),
        str(total.accepted_tokens),
        or_dash(total.rate, "{:.3f}"),
        or_dash(total.mean_length, "{:.2f}"),
    )


def sentence(runs: Sequence[AcceptanceRun]) -> str:
    """What of the comparison has a tree to step through."""
    counted = [run.name for run in runs if not run.traced]
    if not counted:
        return "All of these are whole traces: open them in Watch to see their trees."
    return (
        f"Summary only: {', '.join(counted)}. The engine tells how many drafts were accepted, not which, so there is "
        "no tree, no p, q or verdict to step through."
    )


HEIGHT = 380
LEGEND_LINE = 22


def acceptance_figure(runs: Sequence[AcceptanceRun]) -> go.Figure:
    """x: depth d; y: share of the steps that accepted at least d candidates."""
    figure = go.Figure()
    for index, run in enumerate(runs):
        reached = run.total.reached
        if not reached:
            continue
        name = escape(label(run))
        figure.add_trace(
            go.Scatter(
                x=list(range(1, len(reached) + 1)),
                y=list(reached),
                mode="lines+markers",
                name=name,
                line={"color": SERIES[index % len(SERIES)], "dash": "solid" if run.traced else "dot"},
                marker={"symbol": MARKS[index % len(MARKS)], "size": 9},
                hovertemplate=f"{name}<br>at least %{{x}} accepted: %{{y:.1%}} of the steps<extra></extra>",
            )
        )
    figure.update_xaxes(title="accepted candidates d", dtick=1)
    figure.update_yaxes(title="steps that accepted ≥ d", range=[0, 1.04], tickformat=".0%")
    style(figure, HEIGHT + LEGEND_LINE * len(figure.data))
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    return figure


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
                "Open records or traces",
                file_types=[".json", ".jsonl", ".gz"],
                file_count="multiple",
                size="sm",
                min_width=180,
                scale=0,
                elem_id="sv-acceptance-upload",
            )
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
            refused.append(f"{name}: {notices.too_large(most_bytes)}")
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

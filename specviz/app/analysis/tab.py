"""The Analysis tab: why a drafter's tokens are rejected; the answer first, then charts, tables, rounds to step through.

Lays out and wires; what the controls do is in `actions`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.app.analysis.actions import FILES, STAGE, AnalysisActions, Counted
from specviz.app.analysis.charts import CHARTS
from specviz.app.analysis.library import Library, shipped
from specviz.app.components.framed import Places
from specviz.app.form.kept import Kept
from specviz.app.lab.chart import picture_buttons
from specviz.app.look import notices
from specviz.app.look.events import QUEUED, QUIET, READING, by_name, latest
from specviz.app.step.opening import OpeningActions
from specviz.app.step.tab import OPEN_AT, StepParts
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.tab import ANALYSIS, WATCH, Page, Tab, TabRows, opening
from specviz.errors import SpecVizError
from specviz.theory.analysis.analyse import PATTERNS, SURPRISING

INTRO = (
    "Why are my drafter's tokens rejected? Counted over the run in *Watch*, over the recorded runs of a pair of "
    "models, over a sweep of every drafter, or over traces of yours. A press on an example opens the player at that "
    "very verdict."
)
EVERYONE = "Every drafter and its three most frequent failures"
TABLES_NOTE = (
    "A zip of the tables that specviz.read(…).tables() gives, over all counted runs: runs, rounds, nodes, trials, "
    "tokens. Text that a spreadsheet would run as a formula begins with an apostrophe there."
)
TAKE_AWAY = "(file) => SpecViz.takeAway(file)"
NO_TRACES = "The traces of these runs are no longer here; run the sweep again with its traces kept."
EMPTY = notices.note("Nothing is counted yet.")


@dataclass(slots=True)
class AnalysisParts:
    """The components that events read and write."""

    counted: gr.State
    again: gr.State
    """grows where files are handed in while earlier ones are being counted"""
    of: gr.Radio
    drafter: gr.Dropdown
    files: gr.File
    message: gr.HTML
    answer: Places
    fold: gr.Accordion
    everyone: Places
    choice: gr.Radio
    reading: gr.HTML
    plot: gr.Plot
    pairs: Places
    pattern: gr.Dropdown
    bits: gr.Number
    rounds: Places
    agreement: gr.HTML
    first: gr.Dropdown
    second: gr.Dropdown
    compared: Places
    as_csv: gr.Button
    packed: gr.DownloadButton
    packed_said: gr.HTML
    missing: gr.HTML

    def named(self, *names: str) -> dict[str, Any]:
        """Some of them by name."""
        return {name: getattr(self, name) for name in names}


def analysis_tab(
    actions: AnalysisActions, page: gr.Tab, tabs: gr.Tabs, step: StepParts, opens: OpeningActions
) -> tuple[Kept, AnalysisParts]:
    """Build the tab's content inside the current Blocks. `step`: where examples open, as `opens` fills it. Returns what
    a link holds of the tab, and its components."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    parts = AnalysisParts(gr.State(Counted()), gr.State(0), **_question(actions), **_charts(), **_tables())
    of_one = parts.named("answer", "reading", "plot", "agreement", "pairs", "rounds", "missing")
    everything = of_one | parts.named("counted", "drafter", "fold", "everyone", "first", "second", "message", "files")
    outputs, chart = list(everything.values()), parts.named("reading", "plot")
    found = [parts.counted, parts.drafter, parts.pattern, parts.bits]
    shown = [parts.counted, parts.drafter, parts.choice, parts.pattern, parts.bits]
    asked = [parts.counted, parts.of, step.player, parts.files, parts.choice, parts.pattern, parts.bits]
    page.select(by_name(actions.enter, everything), asked, outputs, **READING)
    chosen = [parts.of.change, parts.files.upload, parts.again.change]
    gr.on(chosen, by_name(actions.choose, everything), asked, outputs, **READING)
    parts.drafter.input(by_name(actions.show, of_one), shown, list(of_one.values()), **latest())
    drawn = [parts.counted, parts.drafter, parts.choice]
    parts.choice.change(by_name(actions.draw, chart), drawn, list(chart.values()), **latest())
    gr.on([parts.pattern.change, parts.bits.change], actions.find, found, parts.rounds, **latest())
    both = [parts.counted, parts.first, parts.second]
    gr.on([parts.first.input, parts.second.input], actions.compare, both, parts.compared, **latest())
    parts.as_csv.click(actions.pack_tables, parts.counted, [parts.packed_said, parts.packed], **READING).then(
        None, parts.packed, None, js=TAKE_AWAY, **QUIET
    )
    _wire_openings(actions, opens, parts, tabs, step)
    controls = {"of": parts.of, "chart": parts.choice, "pattern": parts.pattern, "bits": parts.bits}
    return Kept("analysis", controls), parts


def opens_traces(
    button: gr.Button,
    traces: Callable[[str], Path | None],
    tabs: TabRows,
    parts: AnalysisParts,
    message: gr.HTML,
) -> None:
    """A press opens the tab over the zip that `traces` has of a visitor (session hash), as files of theirs; `message`
    says that there is none."""

    def open_traces(of: str, again: int, visitor: gr.Request) -> tuple[object, ...]:
        path = traces(visitor.session_hash or "")
        if path is None:
            return (*[gr.skip()] * 5, notices.message(NO_TRACES, "error"))
        files = gr.File(value=[str(path)], visible=True)
        # Another choice of what is counted is news by itself; the same with other files is not.
        chosen = (gr.skip(), again + 1) if of == FILES else (FILES, gr.skip())
        return (*opening(ANALYSIS), files, *chosen, gr.skip())

    outputs = [*tabs.outputs(), parts.files, parts.of, parts.again, message]
    button.click(open_traces, [parts.of, parts.again], outputs, **QUEUED)


def _question(actions: AnalysisActions) -> dict[str, Any]:
    """What is counted, and the answer."""
    with gr.Row():
        of = gr.Radio(
            actions.choices(), value=STAGE, label="what is counted", scale=3, min_width=300, elem_id="sv-analysis-of"
        )
        drafter = gr.Dropdown([], label="drafter", visible=False, scale=1, min_width=200, elem_id="sv-analysis-drafter")
    files = gr.File(
        label="traces: .json, .json.gz or a zip of them",
        file_count="multiple",
        visible=False,
        file_types=[".json", ".gz", ".zip"],
        height=140,
        elem_id="sv-analysis-files",
    )
    message = gr.HTML(notices.message(""), elem_id="sv-analysis-message")
    answer = Places(EMPTY, elem_id="sv-analysis-answer")
    with gr.Accordion(EVERYONE, open=False, visible=False, elem_id="sv-analysis-fold") as fold:
        everyone = Places("", elem_id="sv-analysis-all")
    return {
        "of": of,
        "drafter": drafter,
        "files": files,
        "message": message,
        "answer": answer,
        "fold": fold,
        "everyone": everyone,
    }


def _charts() -> dict[str, Any]:
    choice = gr.Radio(
        [(chart.title, chart.name) for chart in CHARTS],
        value=CHARTS[0].name,
        label="accepted, counted by",
        elem_id="sv-analysis-choice",
    )
    reading = gr.HTML(notices.note(CHARTS[0].reading))
    plot = gr.Plot(show_label=False, elem_id="sv-analysis-plot")
    with gr.Row(elem_classes="sv-actions"):
        picture_buttons("sv-analysis-plot", choice)
    return {"choice": choice, "reading": reading, "plot": plot}


def _tables() -> dict[str, Any]:
    """Pairs, rounds of a pattern, agreement, two runs side by side, and what the traces lack."""
    gr.Markdown("### Rejected pairs")
    pairs = Places("", elem_id="sv-analysis-pairs")
    gr.Markdown("### Rounds to step through")
    with gr.Row():
        pattern = gr.Dropdown(
            [(f"{name}: {words}", name) for name, (words, _) in PATTERNS.items()],
            value=next(iter(PATTERNS)),
            label="rounds that are",
            scale=3,
            min_width=300,
            elem_id="sv-analysis-pattern",
        )
        bits = gr.Number(
            SURPRISING,
            label="surprise above, in bits",
            minimum=0,
            maximum=24,
            scale=1,
            min_width=180,
            elem_id="sv-analysis-bits",
        )
    rounds = Places("", elem_id="sv-analysis-rounds")
    gr.Markdown("### Target and draft")
    agreement = gr.HTML("", elem_id="sv-analysis-agreement")
    gr.Markdown("### Two runs side by side")
    with gr.Row():
        first = gr.Dropdown([], label="a run", min_width=240, elem_id="sv-analysis-first")
        second = gr.Dropdown([], label="and another of the same prompt", min_width=240, elem_id="sv-analysis-second")
    compared = Places("", elem_id="sv-analysis-compared")
    gr.Markdown("### All of it as tables")
    gr.HTML(notices.note(TABLES_NOTE))
    with gr.Row(elem_classes="sv-actions"):
        as_csv = gr.Button("CSV", size="sm", min_width=80, scale=0, elem_id="sv-analysis-csv")
    packed = gr.DownloadButton(visible=False)
    packed_said = gr.HTML(notices.message(""), elem_id="sv-analysis-packed")
    missing = gr.HTML("", elem_id="sv-analysis-missing")
    return {
        "pairs": pairs, "pattern": pattern, "bits": bits, "rounds": rounds, "agreement": agreement, "first": first,
        "second": second, "compared": compared, "as_csv": as_csv, "packed": packed, "packed_said": packed_said,
        "missing": missing,
    }  # fmt: skip


def _wire_openings(
    actions: AnalysisActions, opens: OpeningActions, parts: AnalysisParts, tabs: gr.Tabs, step: StepParts
) -> None:
    """A pressed example shows its run on the stage, and the player goes to its verdict."""
    stage = step.opened()
    found = [parts.counted, parts.drafter, parts.pattern, parts.bits]

    def show(
        counted: Counted, drafter: str | None, pattern: str, bits: float | None, event: gr.EventData
    ) -> dict[Any, object]:
        try:
            asked = actions.asked(counted, drafter, pattern, bits, event)
        except SpecVizError as error:
            return {parts.message: notices.message(str(error), "error")}
        shown = {**opens.open_trace(asked.trace, asked.file), "moment": json.dumps(asked.moment)}
        return {tabs: gr.Tabs(selected=WATCH), **{stage[name]: update for name, update in shown.items()}}

    for place in (parts.answer, parts.everyone, parts.pairs, parts.rounds, parts.compared):
        place.opened(show, found, [tabs, parts.message, *stage.values()], **QUIET).then(
            None, step.moment, None, js=OPEN_AT, **QUIET
        )


def _build(page: Page, tab: gr.Tab, actions: AnalysisActions) -> AnalysisParts:
    watch = page.parts(WATCH_TAB)
    opens = OpeningActions(page.gallery, page.source.catalog(), page.limits, tuple(watch.form))
    kept, parts = analysis_tab(actions, tab, page.front, watch, opens)
    page.kept.append(kept)
    return parts


TAB = Tab(
    ANALYSIS,
    "Analysis",
    "lab",
    0,
    lambda page: AnalysisActions(Library(page.gallery, page.limits, shipped(page.sweeps)), page.source.catalog().pairs),
    _build,
)

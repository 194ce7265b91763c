"""The Analysis tab: why a drafter's tokens are rejected; the answer first, then charts, tables, rounds to step through.

Lays out and wires; what the controls do is in `actions`.
"""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from specviz.app.analysis.actions import OF, OUTPUTS, STAGE, AnalysisActions, Counted
from specviz.app.analysis.charts import CHARTS
from specviz.app.components.places import Places
from specviz.app.lab.tab import picture_buttons
from specviz.app.page.events import LATEST, QUIET, READING
from specviz.app.parts import notices
from specviz.app.parts.kept import Kept
from specviz.app.step.opening_actions import OpeningActions
from specviz.app.step.tab import OPEN_AT, StepParts
from specviz.errors import SpecVizError
from specviz.theory.analysis.patterns import PATTERNS, SURPRISING

INTRO = (
    "Why are my drafter's tokens rejected? Counted over the run in *Step*, over all recorded runs, or over traces of "
    "yours. A press on an example opens the player at that very verdict."
)
EMPTY = notices.note("Nothing is counted yet.")


def analysis_tab(actions: AnalysisActions, page: gr.Tab, tabs: gr.Tabs, step: StepParts, opens: OpeningActions) -> Kept:
    """Build the tab's content inside the current Blocks. `step`: where examples open, as `opens` fills it. Returns what
    a link holds of the tab."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    counted = gr.State(Counted())
    with gr.Row():
        of = gr.Radio(list(OF), value=STAGE, label="what is counted", scale=3, min_width=300, elem_id="sv-analysis-of")
        drafter = gr.Dropdown([], label="drafter", visible=False, scale=1, min_width=200, elem_id="sv-analysis-drafter")
    files = gr.File(
        label="traces: .json, .json.gz or a zip of them", file_count="multiple", visible=False,
        file_types=[".json", ".gz", ".zip"], height=140, elem_id="sv-analysis-files",
    )  # fmt: skip
    message = gr.HTML(notices.message(""), elem_id="sv-analysis-message")
    answer = Places(EMPTY, elem_id="sv-analysis-answer")
    choice = gr.Radio(
        [(one.title, one.name) for one in CHARTS], value=CHARTS[0].name, label="accepted, counted by",
        elem_id="sv-analysis-choice",
    )  # fmt: skip
    reading = gr.HTML(notices.note(CHARTS[0].reading))
    plot = gr.Plot(show_label=False, elem_id="sv-analysis-plot")
    with gr.Row(elem_classes="sv-actions"):
        picture_buttons("sv-analysis-plot", choice)
    gr.Markdown("### Rejected pairs")
    pairs = Places("", elem_id="sv-analysis-pairs")
    gr.Markdown("### Rounds to step through")
    with gr.Row():
        pattern = gr.Dropdown(
            [(f"{name}: {words}", name) for name, (words, _) in PATTERNS.items()], value=next(iter(PATTERNS)),
            label="rounds that are", scale=3, min_width=300, elem_id="sv-analysis-pattern",
        )  # fmt: skip
        bits = gr.Number(
            SURPRISING, label="surprise above, in bits", minimum=0, maximum=24, scale=1, min_width=180,
            elem_id="sv-analysis-bits",
        )  # fmt: skip
    rounds = Places("", elem_id="sv-analysis-rounds")
    gr.Markdown("### Target and draft")
    agreement = gr.HTML("", elem_id="sv-analysis-agreement")
    gr.Markdown("### Two runs side by side")
    with gr.Row():
        first = gr.Dropdown([], label="a run", min_width=240, elem_id="sv-analysis-first")
        second = gr.Dropdown([], label="and another of the same prompt", min_width=240, elem_id="sv-analysis-second")
    compared = Places("", elem_id="sv-analysis-compared")
    missing = gr.HTML("", elem_id="sv-analysis-missing")

    of_one = [answer, reading, plot, agreement, pairs, rounds, missing]
    outputs = [counted, drafter, *of_one, first, second, message, files]
    assert len(outputs) == OUTPUTS  # what `actions.choose` answers
    asked = [counted, of, step.player, files, choice, pattern, bits]
    page.select(actions.enter, asked, outputs, **READING)
    gr.on([of.change, files.upload], actions.choose, asked, outputs, **READING)
    drafter.input(actions.show, [counted, drafter, choice, pattern, bits], of_one, **LATEST)
    choice.change(actions.draw, [counted, drafter, choice], [reading, plot], **LATEST)
    gr.on([pattern.change, bits.change], actions.find, [counted, drafter, pattern, bits], rounds, **LATEST)
    gr.on([first.input, second.input], actions.compare, [counted, first, second], compared, **LATEST)
    _wire_openings(
        actions, opens, [answer, pairs, rounds, compared], [counted, drafter, pattern, bits], tabs, step, message
    )
    return Kept("analysis", {"of": of, "chart": choice, "pattern": pattern, "bits": bits})


def _wire_openings(
    actions: AnalysisActions, opens: OpeningActions, places: list[Places], inputs: list[Any], tabs: gr.Tabs,
    step: StepParts, message: gr.HTML,
) -> None:  # fmt: skip
    """A pressed example shows its run on the stage, and the player goes to its verdict."""
    stage = step.opened()

    def show(
        counted: Counted, drafter: str | None, pattern: str, bits: float | None, event: gr.EventData
    ) -> list[object]:
        try:
            asked = actions.asked(counted, drafter, pattern, bits, event)
        except SpecVizError as error:
            return [gr.skip(), notices.message(str(error), "error"), *[gr.skip()] * len(stage)]
        shown = list(opens.open_trace(asked.trace, asked.file))
        shown[len(step.stage())] = json.dumps(asked.moment)
        return [gr.Tabs(selected="step"), gr.skip(), *shown]

    for place in places:
        place.opened(show, inputs, [tabs, message, *stage], **QUIET).then(None, step.moment, None, js=OPEN_AT, **QUIET)

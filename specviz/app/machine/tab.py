"""The Machine tab: how long a target pass over n rows takes, here or elsewhere, and how many nodes are free.

Lays out and wires; what the controls do is in `actions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from specviz.app.form.kept import Kept
from specviz.app.job import starts
from specviz.app.look import notices
from specviz.app.look.events import QUIET, READING
from specviz.app.machine.actions import IDLE, MachineActions
from specviz.app.machine.heads_tab import heads_fold
from specviz.app.tab import Page, Tab

INTRO = (
    "Speculative decoding pays exactly as far as a wider target pass costs little more. Marks with whiskers are "
    "**measured** times of one pass over n rows (median and quartiles); the dotted line is the **roofline**, modelled "
    "from the model's size and two rates measured in the same run: reading from memory and multiplying matrices. At "
    "the *knee*, wider passes begin to cost; at the *ridge*, multiplying takes as long as reading.\n\n"
    "Why width is free on a large GPU: a pass over few rows waits for the weights to come from memory, which takes the "
    "same time for one row as for sixty. Only where multiplying the added rows takes longer than that reading do they "
    "cost anything, and a laptop's processor, slow at multiplying for what it reads, is there after a few rows."
)


def machine_tab(actions: MachineActions, tab: gr.Tab) -> tuple[Kept, Kept]:
    """Build the tab's content inside `tab`. The chart is drawn when the tab is first opened. Returns what a link holds
    of it."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    own = gr.State({})
    first = next(iter(actions.curves()), None)
    passes = actions.settings(first)
    with gr.Row(elem_classes="sv-gallery"):
        curve = gr.Dropdown(
            actions.curves(), value=first, label="machine and model", scale=3, min_width=260, elem_id="sv-machine-curve"
        )
        setting = gr.Dropdown(
            passes, value=next(iter(passes), None), label="pass", scale=2, min_width=220, elem_id="sv-machine-setting"
        )
        upload = gr.UploadButton(
            "Load a curve", file_types=[".json"], size="sm", min_width=140, elem_id="sv-machine-load"
        )
    with gr.Row(elem_classes="sv-actions"):
        measure = gr.Button(
            "Measure here", variant="primary", min_width=140, interactive=actions.can_measure, elem_id="sv-machine-run"
        )
        cancel = gr.Button("Cancel", variant="stop", min_width=100, interactive=False, elem_id="sv-machine-cancel")
    message = gr.HTML(notices.message(IDLE), elem_id="sv-machine-message")
    sentence = gr.HTML(elem_id="sv-machine-sentence")
    plot = gr.Plot(show_label=False, elem_id="sv-machine-plot")
    table = gr.HTML(elem_id="sv-machine-table")
    facts = gr.HTML(elem_id="sv-machine-facts")
    with gr.Row():
        as_csv = gr.DownloadButton("Times as CSV", interactive=False, size="sm", min_width=140)
        as_json = gr.DownloadButton("Curve as JSON", interactive=False, size="sm", min_width=140)

    heads = heads_fold()

    shown = [curve, setting, sentence, plot, table, facts, as_csv, as_json]
    tab.select(actions.open, [own, curve, setting], shown, **QUIET)
    curve.input(actions.choose, [own, curve], shown, **QUIET)
    setting.input(actions.open, [own, curve, setting], shown, **QUIET)
    upload.upload(actions.load, [upload, own], [message, own, *shown], **READING)
    armed = [message, measure, cancel]
    starts(measure.click, actions, armed, actions.measure, own, [message, own, *shown, measure, cancel])
    cancel.click(actions.stop, None, None, **QUIET)

    def fill(values: Mapping[str, Any]) -> dict[Any, Any]:
        line, *drawn = actions.linked(values.get("curve"), values.get("setting"))
        return dict(zip((message, *shown), (line, *drawn), strict=True))

    kept = {"curve": curve, "setting": setting}
    return Kept("machine", kept, (message, *shown[2:]), fill, frozenset(kept)), heads


def _build(page: Page, tab: gr.Tab, actions: MachineActions) -> None:
    page.kept.extend(machine_tab(actions, tab))


TAB = Tab("machine", "Machine", "lab", 4, lambda page: MachineActions(page.source), _build)

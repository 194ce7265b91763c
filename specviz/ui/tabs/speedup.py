"""The Speedup tab: choose drafters, lengths and prompts, run the sweep, read the measured chart with theory over it.

Lays out and wires; what the buttons do is in `speedup_actions`.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from specviz.figures import notices
from specviz.figures.speedup import speedup_figure
from specviz.trace.source import Catalog
from specviz.ui.events import ENGINE, LATEST, QUIET
from specviz.ui.methods import labelled
from specviz.ui.prompts import chip_label, families
from specviz.ui.tabs.lab import Shown, lab_charts, picture_buttons
from specviz.ui.tabs.speedup_actions import IDLE, SpeedupActions
from specviz.ui.tabs.sweep_form import SweepControls, early_stops, sweepable
from specviz.views.speedup import speedup_view

INTRO = (
    "How much faster is it, on this machine, now? Each prompt runs with plain decoding and with every setting you "
    "choose, interleaved; the chart shows the measured ratio of tokens per second. "
    "Marks with whiskers are **measured** (median and quartiles over the runs); dotted lines are **theory**, "
    "computed from the measured acceptance and pass times. Below 1, drafting costs more than it saves."
)


def speedup_tab(actions: SpeedupActions) -> gr.Radio:
    """Build the tab's content inside the current Blocks. Returns the choice of the lab's chart."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    fields = _sweep_controls(actions)
    with gr.Row(elem_classes="sv-actions"):
        run = gr.Button("Run sweep", variant="primary", min_width=140, elem_id="sv-sweep-run")
        cancel = gr.Button("Cancel", variant="stop", min_width=100, interactive=False, elem_id="sv-sweep-cancel")
    message = gr.HTML(notices.message(IDLE), elem_id="sv-sweep-message")
    plot = gr.Plot(speedup_figure(speedup_view([])), show_label=False, elem_id="sv-sweep-plot")
    table = gr.HTML(elem_id="sv-sweep-table")
    with gr.Row():
        as_json = gr.DownloadButton("Results as JSON", interactive=False, size="sm", min_width=140)
        as_csv = gr.DownloadButton("Results as CSV", interactive=False, size="sm", min_width=140)
        picture_buttons("sv-sweep-plot")
    shown = gr.State(Shown())
    choice = lab_charts(shown)

    controls = SweepControls(fields)
    inputs = set(fields.values())
    run.click(actions.arm, None, [message, run, cancel], **QUIET).then(
        actions.run(controls), inputs, [message, plot, table, shown, as_json, as_csv, run, cancel], **ENGINE
    )
    cancel.click(actions.stop, None, None, **QUIET)
    changes = [control.change for control in fields.values()]
    gr.on(changes, actions.estimate(controls), inputs, message, **LATEST)
    return choice


def _sweep_controls(actions: SpeedupActions) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    most = actions.limits.max_new_tokens
    with gr.Row():
        names = [method.name for method in sweepable(actions.catalog)]
        fields["drafters"] = gr.CheckboxGroup(
            names, value=names, label="drafters", elem_id="sv-sweep-drafters", scale=2, min_width=220
        )
        kinds = families(actions.catalog)
        fields["families"] = gr.CheckboxGroup(
            [(chip_label(family), family) for family in kinds],
            value=kinds,
            label="prompt families",
            elem_id="sv-sweep-families",
            scale=3,
            min_width=220,
        )
    with gr.Row():
        fields["gammas"] = gr.Textbox(
            "1,2,4,8",
            label="speculation lengths γ",
            info="whole numbers with commas",
            max_lines=1,
            min_width=180,
            elem_id="sv-sweep-gammas",
        )
        fields["trees"] = gr.Textbox(
            "", label="also trees", info="children per level, e.g. 3,2,1; several with ;", max_lines=1, min_width=180
        )
        fields["temperature"] = gr.Slider(0.0, 2.0, value=0.0, step=0.05, label="temperature", min_width=150)
    _policies(actions.catalog, fields)
    with gr.Row():
        fields["per_family"] = gr.Slider(
            1, actions.most_prompts(), value=1, step=1, label="prompts per family", min_width=150
        )
        fields["repeats"] = gr.Slider(1, 5, value=1, step=1, label="repeats", min_width=150)
        fields["tokens"] = gr.Slider(min(8, most), most, value=min(32, most), step=1, label="new tokens", min_width=150)
    return fields


def _policies(catalog: Catalog, fields: dict[str, Any]) -> None:
    """Growth and stop policies to measure as well; only drafters that grow their drafts have them."""
    with gr.Row():
        fields["growths"] = gr.CheckboxGroup(
            labelled(catalog.growths), value=[], label="also growth policies", info="each at every node budget",
            scale=3, min_width=220, elem_id="sv-sweep-growths",
        )  # fmt: skip
        fields["budgets"] = gr.Textbox(
            "16", label="node budgets", info="candidates per round, with commas", max_lines=1, scale=1, min_width=150
        )
        fields["stoppings"] = gr.CheckboxGroup(
            labelled(early_stops(catalog)), value=[], label="also stop policies", info="each with every shape above",
            scale=2, min_width=220, elem_id="sv-sweep-stoppings",
        )  # fmt: skip

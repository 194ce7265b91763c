"""The When-it-pays tab: choose drafters, lengths and prompts, run the sweep, read the measured chart with theory over
it.

Lays out and wires; what the buttons do is in `actions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.app.analysis.tab import TAB as ANALYSIS_TAB
from specviz.app.analysis.tab import opens_traces
from specviz.app.components.engine_files import megabytes
from specviz.app.components.framed import SeriesHere
from specviz.app.form.fields import families, family_choices, model_fields
from specviz.app.form.kept import Kept
from specviz.app.form.methods import drafter_fold, labelled
from specviz.app.job import starts
from specviz.app.lab.chart import Shown, lab_charts, picture_buttons, restore
from specviz.app.look import notices
from specviz.app.look.events import QUEUED, QUIET, READING, latest
from specviz.app.machine.tab import TAB as MACHINE_TAB
from specviz.app.runs.elsewhere import wire_series
from specviz.app.speedup.acceptance import acceptance_fold
from specviz.app.speedup.actions import IDLE, OPENING, OUTPUTS, SpeedupActions
from specviz.app.speedup.figure import speedup_figure
from specviz.app.speedup.following import FollowActions, target_of, wire_following
from specviz.app.speedup.here import SWEEP, BrowserSweeps
from specviz.app.speedup.predicting import TITLE as PREDICT
from specviz.app.speedup.running import SweepControls, early_stop_policies, measurable_tree_policies, sweepable
from specviz.app.speedup.view import speedup_view
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.tab import PAYS, Page, Tab
from specviz.protocol.pairs import all_prompts
from specviz.protocol.runs import Catalog
from specviz.protocol.sweeps.store import is_sweep

INTRO = (
    "How much faster is it? Each prompt runs with plain decoding and with every setting you choose, interleaved. Marks "
    "are **measured**: the median over the prompts of the ratio of tokens per second, with the central 95 % of 2000 "
    "resamples of the prompts. Dotted lines are **theory**, from the measured acceptance and what passes take inside "
    "rounds: longer than each alone in a loop, for the drafter's weights drive the target's out of the processor's "
    "caches, and these the drafter's. Below 1, drafting costs more than it saves. The recorded sweep is of one "
    "machine; *Predict for this machine* times passes here for three seconds and draws the same runs on this clock, as "
    "open marks."
)

FILLED = "This link fills in what to measure and which chart to show; Run sweep measures it here."
KEEP_INFO = (
    "every run is recorded with its distributions, outside its measured time; Analyse these runs then says why drafts "
    "fail"
)


@dataclass(slots=True)
class SpeedupParts:
    """What other parts of the page need of the tab."""

    chart: gr.Radio
    kept: Kept
    """what a link holds"""
    shown: list[gr.components.Component]
    """what a sweep is shown in"""
    analyse: gr.Button
    message: gr.HTML
    target: gr.Dropdown


def speedup_tab(actions: SpeedupActions, tab: gr.Tab, table: str, sweeps: Path) -> SpeedupParts:
    """Build the tab's content inside the current Blocks; the recorded result is drawn when `tab` is first opened.
    `table`: of all drafters, as HTML."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    parts: dict[str, Any] = {}
    # Folded, so that results stand in the first screen; a fold that is closed still hands its values to the sweep.
    with gr.Accordion("What to measure: drafters, lengths, prompts", open=False, elem_id="sv-sweep-form"):
        fields = _sweep_controls(actions)
        keep = gr.Checkbox(False, label="keep the runs' traces", info=KEEP_INFO, elem_id="sv-sweep-keep")
    controls, inputs = SweepControls(fields), set(fields.values())
    waits = actions.shown("") is not None
    upload, settings = _action_row(actions, parts, controls)
    parts["message"] = gr.HTML(notices.message(OPENING if waits else IDLE), elem_id="sv-sweep-message")
    parts["origin"] = gr.HTML(elem_id="sv-sweep-origin")
    parts["plot"] = gr.Plot(speedup_figure(speedup_view([])), show_label=False, elem_id="sv-sweep-plot")
    with gr.Accordion("All measurements in a table", open=False):
        parts["table"] = gr.HTML(elem_id="sv-sweep-table")
    _machines_fold(actions.machines())
    drafter_fold(table)
    with gr.Row():
        parts["as_json"] = gr.DownloadButton("Results as JSON", interactive=False, size="sm", min_width=140)
        parts["as_csv"] = gr.DownloadButton("Results as CSV", interactive=False, size="sm", min_width=140)
        picture_buttons("sv-sweep-plot")
    parts["points"] = gr.State(Shown(awaited=waits))
    choice = lab_charts(parts["points"], parts["plot"], OPENING if waits else None)
    acceptance_fold(actions.limits)

    outputs = [parts[name] for name in OUTPUTS]
    tab.select(actions.opened, None, outputs, **QUEUED)
    wire_following(FollowActions(actions, sweeps), tab, fields, outputs)
    for button, work, given in (
        ("run", actions.run(controls, keep), {*inputs, keep}),
        ("resume", actions.resume, None),
        ("predict", actions.predict, None),
    ):
        starts(parts[button].click, actions, outputs, work, given, outputs)
    parts["cancel"].click(actions.stop, None, None, **QUIET)
    browsers, message = BrowserSweeps(actions), parts["message"]
    wire_series(parts["here"], SWEEP, message, browsers.ask(controls), inputs, browsers.show, outputs)
    upload.upload(actions.open_file, upload, outputs, **READING)
    changes = [control.change for control in fields.values()]
    gr.on(changes, actions.estimate(controls), inputs, [parts["message"], settings], **latest())
    kept = Kept("speedup", {**fields, "chart": choice}, message=parts["message"], said=FILLED)
    return SpeedupParts(choice, kept, outputs, parts["analyse"], parts["message"], fields["target"])


def opens_sweeps(
    upload: gr.UploadButton,
    actions: SpeedupActions,
    tabs: gr.Tabs,
    outputs: list[gr.components.Component],
    most_bytes: int,
) -> None:
    """A sweep that is handed to another tab's upload is opened here, where it belongs."""

    def open_sweep(path: str | None, visitor: gr.Request) -> tuple[object, ...]:
        if path is None or not is_sweep(path, most_bytes):
            return (gr.skip(),) * (1 + len(outputs))
        return gr.Tabs(selected=PAYS), *actions.open_file(path, visitor)

    upload.upload(open_sweep, upload, [tabs, *outputs], **READING)


def _machines_fold(table: str) -> None:
    """The recorded sweep on two kinds of machine; nothing where it was kept of one."""
    if table:
        with gr.Accordion("Two kinds of machine", open=False, elem_id="sv-sweep-machines"):
            gr.HTML(table)


def _action_row(
    actions: SpeedupActions, parts: dict[str, Any], controls: SweepControls
) -> tuple[gr.UploadButton, gr.DownloadButton]:
    """The buttons, into `parts`; and what opens a file, and what hands out the settings."""
    with gr.Row(elem_classes="sv-actions"):
        parts["run"] = gr.Button("Run sweep", variant="primary", min_width=140, elem_id="sv-sweep-run")
        parts["here"] = SeriesHere(SWEEP, megabytes(), min_width=96, elem_id="sv-sweep-here")
        parts["resume"] = gr.Button("Resume", min_width=100, interactive=False, elem_id="sv-sweep-resume")
        parts["cancel"] = gr.Button(
            "Cancel", variant="stop", min_width=100, interactive=False, elem_id="sv-sweep-cancel"
        )
        parts["predict"] = gr.Button(
            PREDICT,
            min_width=180,
            interactive=actions.can_predict and actions.shown("") is not None,
            elem_id="sv-sweep-predict",
        )
        upload = gr.UploadButton(
            "Open sweep, result or prompts",
            file_types=[".toml", ".json", ".gz", ".jsonl", ".zip"],
            min_width=150,
            elem_id="sv-sweep-upload",
        )
        parts["analyse"] = gr.Button("Analyse these runs", min_width=150, interactive=False, elem_id="sv-sweep-analyse")
        settings = gr.DownloadButton(
            "Settings as sweep file",
            value=actions.first_settings(controls.standing()),
            min_width=150,
            elem_id="sv-sweep-settings",
        )
    return upload, settings


def _sweep_controls(actions: SpeedupActions) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    most = actions.limits.max_new_tokens
    with gr.Row():
        names = [method.name for method in sweepable(actions.catalog)]
        fields["drafters"] = gr.CheckboxGroup(
            names, value=names, label="drafters", elem_id="sv-sweep-drafters", scale=2, min_width=220
        )
        kinds = families(actions.catalog)
        every = list(dict.fromkeys(card.family for card in all_prompts(actions.catalog)))
        fields["families"] = gr.CheckboxGroup(
            family_choices(every),
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
        fields["temperatures"] = gr.Textbox(
            "0", label="temperatures", info="numbers with commas, e.g. 0,0.7", max_lines=1, min_width=150
        )
    _policies(actions.catalog, fields)
    with gr.Row():
        fields["per_family"] = gr.Slider(
            1, actions.most_prompts(), value=1, step=1, label="prompts per family", min_width=150
        )
        fields["repeats"] = gr.Slider(1, 5, value=1, step=1, label="repeats", min_width=150)
        fields["tokens"] = gr.Slider(min(8, most), most, value=min(32, most), step=1, label="new tokens", min_width=150)
    with gr.Row():
        fields |= model_fields(actions.catalog, actions.limits, tab="sweep-")
    return fields


def _policies(catalog: Catalog, fields: dict[str, Any]) -> None:
    """Tree and stop policies to measure as well; only drafters that grow their drafts have them."""
    with gr.Row():
        fields["tree_policies"] = gr.CheckboxGroup(
            labelled(measurable_tree_policies(catalog)),
            value=[],
            label="also tree policies",
            info="each at every node budget",
            scale=3,
            min_width=220,
            elem_id="sv-sweep-tree_policies",
        )
        fields["budgets"] = gr.Textbox(
            "16", label="node budgets", info="candidates per round, with commas", max_lines=1, scale=1, min_width=150
        )
        fields["stop_policies"] = gr.CheckboxGroup(
            labelled(early_stop_policies(catalog)),
            value=[],
            label="also stop policies",
            info="each with every shape above",
            scale=2,
            min_width=220,
            elem_id="sv-sweep-stop_policies",
        )


def _build(page: Page, tab: gr.Tab, actions: SpeedupActions) -> SpeedupParts:
    parts = speedup_tab(actions, tab, page.table, page.sweeps)
    page.kept.append(parts.kept)
    return parts


def _connect(page: Page) -> None:
    """The pair that a visitor chooses in Watch is the sweep's too."""
    actions, parts, upload = page.actions(TAB), page.parts(TAB), page.parts(WATCH_TAB).drawer.upload
    models = page.parts(WATCH_TAB).bar.models.choice
    models.input(lambda name: target_of(actions.catalog, name), models, parts.target, **QUIET)
    opens_sweeps(upload, actions, page.front, parts.shown, page.limits.import_bytes)
    opens_traces(parts.analyse, actions.traces, page.rows, page.parts(ANALYSIS_TAB), parts.message)
    elsewhere = page.parts(MACHINE_TAB)
    elsewhere.click(lambda: gr.Tabs(selected=PAYS), None, page.front, **QUIET)
    starts(elsewhere.click, actions, parts.shown, actions.predict, None, parts.shown)
    page.blocks.load(restore, None, [*page.rows.outputs(), parts.chart], **QUIET)


TAB = Tab(PAYS, "When it pays", "front", 4, lambda page: SpeedupActions(page.source, page.limits, page.measured),
          _build, _connect, former=("speedup",))  # fmt: skip

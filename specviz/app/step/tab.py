"""The Step tab: the player on top, under it the prompt, the methods and Run live.

Lays out and wires; what the buttons do is in `step_actions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from specviz.app.components.player import Player
from specviz.app.page.events import ENGINE, LATEST, QUIET
from specviz.app.parts import notices
from specviz.app.parts.gallery import labelled_files
from specviz.app.parts.methods import kinds
from specviz.app.parts.prompts import chip_label, families
from specviz.app.step import controls as form
from specviz.app.step.actions import FirstView, StepActions
from specviz.app.step.audit_actions import AuditActions, AuditParts, audit_controls, wire_audit
from specviz.app.step.retraining_actions import RetrainingActions, wire_retraining
from specviz.protocol.runs import RunRequest

CHIPS_NOTE = "Each button fills the prompt with the next one of its family."
TO_STAGE = "() => document.querySelector('#sv-player').scrollIntoView({block: 'nearest'})"
"""a run begins where the visitor can see it"""


WITH_ROUND = """(player, round) => {
  const shown = document.querySelector("#sv-player .sv-player");
  return [player, Number(shown?.dataset.round ?? 0)];
}"""
"""the round that the player shows goes along with its text"""


@dataclass(slots=True)
class StepParts:
    """The components that events write to."""

    badges: gr.HTML
    player: Player
    message: gr.HTML
    panels: gr.HTML
    run: gr.Button
    stop: gr.Button
    branch_row: gr.Row
    branch_text: gr.HTML
    branch_state: gr.State
    branch_run: gr.Button
    branch_drop: gr.Button
    others: gr.Button
    others_round: gr.Number
    others_shown: gr.HTML
    audit: AuditParts
    chips: list[tuple[str, gr.Button]]
    prompt_note: gr.HTML
    recorded: gr.Dropdown
    upload: gr.UploadButton
    lossless: gr.HTML | None = None
    form: dict[str, Any] = field(default_factory=dict)
    """the run's controls by the name of their value"""

    def stage(self) -> list[gr.components.Component]:
        """What shows a run."""
        return [self.player, self.badges, self.panels, self.message]


def step_tab(actions: StepActions) -> StepParts:
    """Build the tab's content inside the current Blocks; what it returns lets other tabs show a run here."""
    opening = actions.opening()
    controls = form.Controls()
    parts = _stage(actions, opening)
    _form(actions, controls, parts)
    parts.form = controls.fields
    _wire_form(actions, controls, parts)
    _wire_runs(actions, controls, parts)
    return parts


def _stage(actions: StepActions, opening: FirstView) -> StepParts:
    with gr.Column(elem_classes="sv-bar-top"), gr.Row(elem_classes="sv-actions"):
        with gr.Column(scale=1, min_width=260, elem_classes="sv-saying"):
            badges = gr.HTML(opening.badges, elem_id="sv-badges")
            message = gr.HTML(notices.message(opening.message), elem_id="sv-message")
        run = gr.Button("Run live", variant="primary", min_width=110, elem_id="sv-run")
        stop = gr.Button("Stop", variant="stop", min_width=80, interactive=False, elem_id="sv-stop")
    player = Player(opening.player, elem_id="sv-player")
    with gr.Row(visible=False, elem_classes="sv-branch") as branch_row:
        branch_text = gr.HTML()
        branch_run = gr.Button("Run from here", variant="primary", size="sm", min_width=120)
        branch_drop = gr.Button("Never mind", size="sm", min_width=100)
    with gr.Row(elem_classes="sv-actions"):
        others = gr.Button(
            "What would the others have drafted here?", size="sm", min_width=260, elem_id="sv-ask-others"
        )
        others_round = gr.Number(0, visible="hidden", elem_id="sv-others-round")
    others_shown = gr.HTML("", elem_id="sv-others")
    audit = audit_controls()
    with gr.Accordion("The run as a whole: how much of the draft was accepted", open=False):
        panels = gr.HTML(opening.panels, elem_id="sv-panels")
    with gr.Row(elem_classes="sv-gallery"):
        recorded = gr.Dropdown(
            labelled_files(actions.gallery.cards), value=actions.gallery.first, label="recorded runs",
            scale=4, min_width=240,
            elem_id="sv-recorded",
        )  # fmt: skip
        upload = gr.UploadButton(
            "Open a trace file", file_types=[".json", ".gz"], size="sm", scale=1, min_width=150, elem_id="sv-upload"
        )
    with gr.Row(elem_classes="sv-actions"):
        chips = [
            (family, gr.Button(chip_label(family), size="sm", min_width=60, elem_classes="sv-chip"))
            for family in families(actions.catalog)
        ]
        prompt_note = gr.HTML(notices.message(CHIPS_NOTE), elem_id="sv-prompt-note", scale=1, min_width=200)
    return StepParts(
        badges=badges, player=player, message=message, panels=panels, run=run, stop=stop, branch_row=branch_row,
        branch_text=branch_text, branch_state=gr.State(None), branch_run=branch_run, branch_drop=branch_drop,
        others=others, others_round=others_round, others_shown=others_shown, audit=audit,
        chips=chips, prompt_note=prompt_note, recorded=recorded, upload=upload,
    )  # fmt: skip


def _form(actions: StepActions, controls: form.Controls, parts: StepParts) -> None:
    defaults, catalog = RunRequest(prompt=""), actions.catalog
    with gr.Row(elem_classes="sv-form"):
        with gr.Column(scale=5, min_width=300):
            controls.fields["prompt"] = gr.Textbox(
                actions.opening_prompt(), label="prompt", lines=5, max_lines=9, elem_id="sv-prompt",
                elem_classes="sv-mono", info=f"at most {actions.limits.prompt_chars:,} characters",
            )  # fmt: skip
            form.sampling_controls(controls, actions.limits, defaults)
        with gr.Column(scale=6, min_width=300):
            form.method_controls(controls, catalog, actions.limits)
            parts.lossless = gr.HTML(notices.lossless_mark(*actions.lossless_now()), elem_id="sv-lossless")
            with gr.Accordion("Models", open=False), gr.Row():
                form.model_controls(controls, catalog, actions.limits, defaults)


def _wire_form(actions: StepActions, controls: form.Controls, parts: StepParts) -> None:
    fields, prompt = controls.fields, controls.fields["prompt"]
    for family, chip in parts.chips:
        chip.click(actions.chip(family), prompt, [prompt, parts.prompt_note], **QUIET)
    learns: list[str] = []
    for kind in kinds(actions.catalog):
        learns += form.learners(kind)
        boxes = list(controls.groups[kind.group].values())
        growing = [controls.growing] if kind.group == "drafter" and controls.growing else []
        extras = [fields[name] for name in ("memory", "datastore") if kind.group == "drafter" and name in fields]
        shown = [controls.notes[kind.group], *boxes, *growing, *extras]
        fields[kind.group].change(actions.choose(controls, kind), fields[kind.group], shown, **QUIET)
    policies = [fields[kind.group] for kind in kinds(actions.catalog) if kind.for_growing]
    if policies and controls.growing:
        gr.on([field.change for field in policies], actions.name_growing, policies, controls.growing, **LATEST)
    if controls.retraining is not None:
        wire_retraining(
            RetrainingActions(actions.source, actions.retraining), controls.retraining, fields["stopping"], learns
        )
    chosen = [fields[kind.group] for kind in kinds(actions.catalog)]
    gr.on([field.change for field in chosen], actions.lossless, chosen, parts.lossless, **LATEST)
    watched = [field.change for name, field in fields.items() if name != "prompt"]
    gr.on([*watched, prompt.blur], actions.explain(controls), controls.inputs(), parts.message, **LATEST)


def _wire_runs(actions: StepActions, controls: form.Controls, parts: StepParts) -> None:
    running = [*parts.stage(), parts.run, parts.stop]
    parts.run.click(actions.arm, None, [parts.message, parts.run, parts.stop], **QUIET).then(
        actions.run_live(controls), controls.inputs(), running, **ENGINE
    )
    for button in (parts.run, parts.branch_run):
        button.click(None, None, None, js=TO_STAGE, **QUIET)
    parts.stop.click(actions.stop, None, None, **QUIET)

    branch = [parts.branch_row, parts.branch_text, parts.branch_state]
    parts.player.branch(actions.offer_branch, parts.player, branch, **LATEST)
    parts.branch_drop.click(actions.drop_branch, None, branch, **QUIET)
    parts.branch_run.click(actions.arm, None, [parts.message, parts.run, parts.stop], **QUIET).then(
        actions.run_branch(controls, parts.player, parts.branch_state),
        {*controls.inputs(), parts.player, parts.branch_state},
        running,
        **ENGINE,
    ).then(actions.drop_branch, None, branch, **QUIET)

    parts.others.click(
        actions.ask_others, [parts.player, parts.others_round], parts.others_shown, js=WITH_ROUND, **ENGINE
    )

    wire_audit(AuditActions(actions.source, actions.limits, actions.audits), parts.audit, parts.player)

    parts.recorded.input(actions.open_recorded, parts.recorded, parts.stage(), **QUIET)
    parts.upload.upload(actions.open_file, parts.upload, parts.stage(), **QUIET)

"""The Watch tab: the bar, the player under it, the drawer of all other controls beside it.

Lays out and wires; what the controls do is in `actions` and `opening`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gradio as gr

from specviz.app.components.framed import CHOOSE, Player
from specviz.app.form.fields import wire_own_prompts
from specviz.app.form.methods import kinds
from specviz.app.job import starts
from specviz.app.look import notices
from specviz.app.look.events import CHOSEN, ENGINE, QUIET, READING, by_name, latest
from specviz.app.runs.gallery import recorded_names
from specviz.app.runs.stage import STAGE
from specviz.app.step import controls as form
from specviz.app.step.actions import FirstView, RetrainingActions, StepActions, wire_retraining
from specviz.app.step.controls import BarParts, DrawerParts, bar, drawer
from specviz.app.step.fetching import wire_fetch, wire_opening
from specviz.app.step.filling import GAMMA
from specviz.app.step.here import OFFER, Offering, ask_here, wire_here
from specviz.app.step.inquiries import AuditParts, audit_controls, wire_audit
from specviz.app.step.links import LinkParts, wire_links
from specviz.app.step.opening import OpeningActions
from specviz.app.step.pairs import fetch_name
from specviz.app.step.questions import (
    OutsideParts,
    QuestionActions,
    QuestionParts,
    looks_outside,
    outside_row,
    question_chips,
)
from specviz.app.tab import WATCH, Page, Tab
from specviz.protocol.pairs import for_pair
from specviz.protocol.runs import Catalog, RunRequest

TO_STAGE = """() => {
  for (const part of ["#sv-player .svp-draft", "#sv-message"])
    document.querySelector(part)?.scrollIntoView({ block: "nearest" });
}"""
"""a run begins where the visitor can see it; what is said of it, as why it did not begin, is never scrolled away"""
OPEN_AT = "(moment) => { SpecViz.uncover(); SpecViz.openAt(moment); }"
OPEN_CHOSEN = "(moment) => { if (SpecViz.hasChosen()) { SpecViz.uncover(); SpecViz.openAt(moment); } }"
"""a list that was left as it was opens nothing"""
PLACE_OFFER = "() => requestAnimationFrame(() => SpecViz.placeOffer())"
WITH_ROUND = """(player, round) => {
  const shown = document.querySelector("#sv-player .sv-player");
  return [player, Number(shown?.dataset.round ?? 0)];
}"""
"""the round that the player shows goes along with its text"""


@dataclass(slots=True)
class StepParts:
    """The components that events write to."""

    bar: BarParts
    drawer: DrawerParts
    player: Player
    badges: gr.HTML
    panels: gr.HTML
    moment: gr.Textbox
    """`run_id round`: where a run is opened"""
    pair: gr.State
    before_row: gr.Row
    before: gr.HTML
    before_again: gr.Button
    branch_row: gr.Row
    branch_text: gr.HTML
    branch_state: gr.State
    branch_run: gr.Button
    branch_drop: gr.Button
    others: gr.Button
    others_round: gr.Number
    others_shown: gr.HTML
    audit: AuditParts
    questions: QuestionParts
    outside: OutsideParts
    form: dict[str, Any] = field(default_factory=dict)
    """the run's controls by the name of their value"""

    def stage(self) -> list[gr.components.Component]:
        """What shows a run."""
        return [self.player, self.badges, self.panels, self.bar.message]

    def opened(self) -> dict[str, Any]:
        """What `OpeningActions` answers, by name: everything that shows a run, and the controls that it fills."""
        stage = dict(zip(STAGE, self.stage(), strict=True))
        return {**stage, "moment": self.moment, **self.beside(), **self.following(), **self.form}

    def following(self) -> dict[str, Any]:
        """What follows the pair of models beside the controls of a run, by name."""
        lists = {"example": self.bar.example, "recorded": self.drawer.recorded}
        boxes = {fetch_name(fetch.model.name): fetch.box for fetch in self.bar.fetches}
        return {**lists, **self.bar.models.named(), **self.questions.named(), **boxes}

    def beside(self) -> dict[str, Any]:
        """What shows the run before it, by name."""
        return {"pair": self.pair, "before_row": self.before_row, "before": self.before}


def step_tab(actions: StepActions, table: str = "") -> StepParts:
    """Build the tab's content inside the current Blocks; what it returns lets other tabs show a run here. `table`: of
    all drafters, as HTML."""
    opening = actions.opening()
    controls = form.Controls(opening=opening.values)
    with gr.Column(elem_classes="sv-step"):
        the_bar = bar(controls, actions.gallery, actions.catalog, actions.limits, opening.message)
        the_drawer = drawer(controls, actions.gallery, actions.catalog, actions.limits, table)
        target = str(controls.begin("target", RunRequest(prompt="").target))
        parts = _stage(opening, the_bar, the_drawer, actions.catalog, target)
    parts.form = controls.fields
    _wire_form(actions, controls, parts)
    _wire_openings(actions, controls, parts)
    _wire_runs(actions, controls, parts)
    _wire_questions(actions, controls, parts)
    return parts


def _stage(opening: FirstView, the_bar: BarParts, the_drawer: DrawerParts, catalog: Catalog, target: str) -> StepParts:
    outside = outside_row(catalog)
    with gr.Row(visible=False, elem_classes="sv-before", elem_id="sv-before") as before_row:
        before = gr.HTML("")
        before_again = gr.Button("Show the run before again", size="sm", min_width=170, scale=0, elem_id="sv-again")
    with gr.Column(elem_classes="sv-stage"):
        player = Player(opening.player, elem_id="sv-player")
        with gr.Row(visible=False, elem_classes="sv-branch") as branch_row:
            branch_text = gr.HTML()
            branch_run = gr.Button("Run from here", variant="primary", size="sm", min_width=120)
            branch_drop = gr.Button("Never mind", size="sm", min_width=100)
    questions = question_chips(catalog, target)
    badges = gr.HTML(opening.badges, elem_id="sv-badges")
    with gr.Row(elem_classes="sv-actions"):
        others = gr.Button(
            "What would the others have drafted here?", size="sm", min_width=260, elem_id="sv-ask-others"
        )
        others_round = gr.Number(0, visible="hidden", elem_id="sv-others-round")
    others_shown = gr.HTML("", elem_id="sv-others")
    audit = audit_controls()
    with gr.Accordion("The run as a whole: how much of the draft was accepted", open=False):
        panels = gr.HTML(opening.panels, elem_id="sv-panels")
    return StepParts(
        bar=the_bar, drawer=the_drawer, player=player, badges=badges, panels=panels,
        moment=gr.Textbox("", visible="hidden", elem_id="sv-moment"), pair=gr.State(opening.pair),
        before_row=before_row, before=before, before_again=before_again, branch_row=branch_row,
        branch_text=branch_text, branch_state=gr.State(None), branch_run=branch_run, branch_drop=branch_drop,
        others=others, others_round=others_round, others_shown=others_shown, audit=audit,
        questions=questions, outside=outside,
    )  # fmt: skip


def _wire_form(actions: StepActions, controls: form.Controls, parts: StepParts) -> None:
    fields, prompt = controls.fields, controls.fields["prompt"]
    for chip in parts.bar.models.chips:
        fills = actions.chip(for_pair(actions.catalog, chip.pair), chip.family.name)
        chip.button.click(fills, prompt, [prompt, parts.bar.models.note], **QUIET)
    parts.bar.settings.click(None, None, None, js="() => SpecViz.toggleDrawer()", **QUIET)
    wire_own_prompts(parts.drawer.own, prompt, actions.limits)
    parts.drawer.close.click(None, None, None, js="() => SpecViz.toggleDrawer(false)", **QUIET)
    learns: list[str] = []
    for kind in kinds(actions.catalog):
        learns += form.learners(kind)
        growing = [controls.growing] if kind.group == "drafter" and controls.growing else []
        extras = [fields[name] for name in ("memory", "datastore") if kind.group == "drafter" and name in fields]
        shown = [controls.notes[kind.group], *growing, *extras]
        chosen, options = fields[kind.group], controls.forms[kind.group]
        chosen.change(actions.choose(controls, kind), chosen, shown, **QUIET)
        chosen.change(None, [chosen, options], options, js=CHOOSE, **QUIET)
    policies = [fields[kind.group] for kind in kinds(actions.catalog) if kind.for_growing]
    if policies and controls.growing:
        gr.on([field.change for field in policies], actions.name_growing, policies, controls.growing, **latest())
    if controls.retraining is not None:
        wire_retraining(
            RetrainingActions(actions.source, actions.retraining), controls.retraining, fields["stop_policy"], learns
        )
    methods = [fields[kind.group] for kind in kinds(actions.catalog)]
    gr.on([field.change for field in methods], actions.lossless, methods, parts.drawer.lossless, **latest())
    fields["drafter"].input(actions.first_gamma, fields["drafter"], fields[GAMMA], **CHOSEN)
    shapes = [fields[name].change for name in ("drafter", "tree_policy") if name in fields]
    gamma = {"fn": actions.gamma(controls), "inputs": controls.inputs(), "outputs": fields[GAMMA], **latest()}
    gr.on(shapes, **gamma)
    controls.forms["drafter"].changed(**gamma)
    message = [prompt, fields["target"], fields["chat"]]
    gr.on(
        [prompt.blur, fields["target"].change, fields["chat"].change],
        actions.rendered,
        message,
        parts.drawer.rendered,
        **latest(),
    )
    forms = list(controls.forms.values())
    watched = [field.input for name, field in fields.items() if name != "prompt" and field not in forms]
    said = parts.bar.message
    explain = {"fn": actions.explain(controls, said), "inputs": {*controls.inputs(), said}, "outputs": said, **latest()}
    gr.on([*watched, prompt.blur], **explain)
    for options in forms:
        options.typed(**explain)
    for fetch in parts.bar.fetches:
        wire_fetch(actions.fetching, fetch, fields)


def _wire_openings(actions: StepActions, controls: form.Controls, parts: StepParts) -> None:
    """Whatever opens a run shows it, fills the controls, and goes to the round it is about."""
    opens = OpeningActions.over(actions.gallery, actions.catalog, actions.limits, controls)
    shown = parts.opened()
    target = controls.fields["target"]
    for listener, action, source, lane in (
        (parts.bar.models.choice.input, opens.choose, parts.bar.models.choice, CHOSEN),
        (parts.bar.example.input, opens.open_example, [parts.bar.example, target], CHOSEN),
        (parts.drawer.recorded.input, opens.open_recorded, parts.drawer.recorded, CHOSEN),
        (parts.drawer.upload.upload, opens.open_file, parts.drawer.upload, READING),
        (parts.before_again.click, opens.open_before, parts.pair, QUIET),
        (parts.bar.here.ran, opens.open_browsers, parts.pair, QUIET),
    ):
        opened = listener(by_name(action, shown), source, list(shown.values()), **lane)
        there = opened.then(None, parts.moment, None, js=OPEN_CHOSEN if lane is CHOSEN else OPEN_AT, **QUIET)
        there.then(lambda: gr.Row(visible=False), None, parts.outside.row, **QUIET)
    followed = {**parts.following(), **parts.form}
    target.input(
        by_name(opens.follow, followed), [target, controls.fields["drafter"]], list(followed.values()), **QUIET
    )
    around = [parts.badges, parts.panels]
    wire_here(parts.bar.here, parts.bar.message, around, ask_here(actions, controls), controls.inputs())


def _wire_runs(actions: StepActions, controls: form.Controls, parts: StepParts) -> None:
    opens = OpeningActions.over(actions.gallery, actions.catalog, actions.limits, controls)
    run, stop = parts.bar.run, parts.bar.stop
    running = [*parts.stage(), run, stop]
    compare = _comparing(opens, parts)
    armed = [parts.bar.message, run, stop]
    asked = {controls.fields[name] for name in ("prompt", "target", "chat", "scene")}
    looks = {"fn": looks_outside(actions.source, controls), "inputs": asked, "outputs": parts.outside.row, **QUIET}
    for text, prompt in parts.outside.prompts:
        prompt.click(
            partial(lambda text: (text, gr.Row(visible=False)), text),
            None,
            [controls.fields["prompt"], parts.outside.row],
            **QUIET,
        )
    offering = Offering(actions)
    live = starts(run.click, offering, armed, actions.run_live(controls), controls.inputs(), running)
    live.failure(None, None, None, js=OFFER, **QUIET)
    live.then(**compare).then(**looks)
    lists = [parts.bar.example, parts.drawer.recorded]
    for button in (run, parts.branch_run):
        button.click(None, None, None, js=TO_STAGE, **QUIET)
        button.click(
            lambda: (notices.NO_CHOICE, None), None, lists, **QUIET
        )  # what they name is no longer what is shown
    stop.click(actions.stop, None, None, **QUIET)

    branch = [parts.branch_row, parts.branch_text, parts.branch_state]
    parts.player.branch(actions.offer_branch, parts.player, branch, **latest()).then(
        None, None, None, js=PLACE_OFFER, **QUIET
    )
    parts.branch_drop.click(actions.drop_branch, None, branch, **QUIET)
    branched = starts(
        parts.branch_run.click,
        actions,
        armed,
        actions.run_branch(controls, parts.player, parts.branch_state),
        {*controls.inputs(), parts.player, parts.branch_state},
        running,
    )
    branched.then(actions.drop_branch, None, branch, **QUIET).then(**compare)

    parts.others.click(
        actions.ask_others, [parts.player, parts.others_round], parts.others_shown, js=WITH_ROUND, **ENGINE
    )
    wire_audit(actions.audits, parts.audit, parts.player)


def _comparing(opens: OpeningActions, parts: StepParts) -> dict[str, Any]:
    """The event after a run, which lays it beside the one before."""
    beside = parts.beside()
    work, given = by_name(opens.compare, beside), [parts.player, parts.pair]
    return {"fn": work, "inputs": given, "outputs": list(beside.values()), **QUIET}


def _wire_questions(actions: StepActions, controls: form.Controls, parts: StepParts) -> None:
    """A chip says its line; then, one after the other, its runs, each beside the one before."""
    opens = OpeningActions.over(actions.gallery, actions.catalog, actions.limits, controls)
    asks = QuestionActions(actions, opens, controls)
    armed = [parts.bar.message, parts.bar.run, parts.bar.stop]
    running = [*parts.stage(), parts.bar.run, parts.bar.stop]
    for question, chip in parts.questions.chips:
        done = chip.click(partial(asks.said, question), None, parts.questions.line, **QUIET)
        if question.steps:
            opened = parts.opened()
            recording = by_name(asks.open_recording(question), opened)
            done = done.then(recording, None, list(opened.values()), **QUIET)
        for changes in question.steps:
            fill = by_name(asks.fill(changes), controls.fields)
            filled = done.then(fill, None, list(controls.fields.values()), **QUIET)
            run = starts(filled.then, asks, armed, asks.run(changes), controls.inputs(), running)
            done = run.then(**_comparing(opens, parts))


def _connect(page: Page) -> None:
    parts = page.parts(TAB)
    for fetch in parts.bar.fetches:
        wire_opening(page.blocks, page.actions(TAB).fetching, fetch, parts.form)
    form = {**parts.following(), **parts.form}
    linked = LinkParts(page.rows, parts.stage(), *parts.bar.buttons(), form, page.kept, page.document)
    wire_links(page.actions(TAB), recorded_names(page.gallery), linked)


TAB = Tab(WATCH, "Watch", "front", 1, lambda page: StepActions(page.source, page.gallery, page.limits),
          lambda page, place, actions: step_tab(actions, page.table), _connect, former=("step",))  # fmt: skip

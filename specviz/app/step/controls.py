"""The Watch tab's controls: the bar above the player (example, prompt, drafter, speculation length γ, temperature, Run;
under it, the pair of models and what to type), and the drawer beside it with every control that the bar has no room
for, the recordings, and files.

Lays out; what the controls do is in `actions` and `opening`. The drawer's are drawn from the catalog: one form of
options per kind of method, made from the option cards, which shows those of the chosen method. It opens and closes in
the browser (`assets/js/page/drawer.js`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.components.engine_files import megabytes
from specviz.app.components.framed import MethodOptions, RunHere, held, read_held
from specviz.app.form.fields import OwnPrompts, model_fields, own_prompts
from specviz.app.form.methods import (
    Kind,
    choices,
    drafter_fold,
    growing_title,
    grows,
    is_lossless,
    kinds,
    lossless_note,
    note,
    remembers,
    retrieves,
)
from specviz.app.form.request import Limits, acts, option_key, options_name
from specviz.app.look import notices
from specviz.app.look.notices import NO_CHOICE
from specviz.app.runs.gallery import Gallery, labelled_files
from specviz.app.step.fetching import FetchParts, fetch_controls, fetchable
from specviz.app.step.filling import GAMMA
from specviz.app.step.pairs import PairParts, drafters_for, listed_examples, pair_choice, pair_families, recorded_for
from specviz.protocol.pairs import for_pair, pair_of
from specviz.protocol.runs import MEMORY_WAYS, Catalog, OptionCard, RunRequest

FEW = 5
"""so many methods stand side by side; more fold into a list"""
MEMORY_INFO = (
    "cold: begin with nothing and keep nothing; warm: begin with what earlier runs of this server left, whoever's they "
    "were, and add to it; reset: begin with nothing and leave what is learnt"
)
COLD_INFO = "every run here begins with nothing, because what is learnt would be shared by all visitors"
OWN_DATASTORE = "the target's own, built on first use"
SHIPPED = "It uses the shipped weights."


@dataclass(slots=True)
class RetrainingControls:
    """Training of the chosen stop policy on the runs of this page."""

    box: gr.Group
    retrain: gr.Button
    reset: gr.Button
    line: gr.HTML


@dataclass(slots=True)
class Controls:
    """The form's components by the name of their value, and what appears and vanishes."""

    fields: dict[str, Any] = field(default_factory=dict)
    forms: dict[str, MethodOptions] = field(default_factory=dict)
    """kind of method → the options of the chosen one; they are among the fields too"""
    notes: dict[str, gr.HTML] = field(default_factory=dict)
    """kind of method → the line about the chosen one"""
    growing: gr.Accordion | None = None
    """what only belongs to drafters that grow their drafts"""
    retraining: RetrainingControls | None = None
    """where some stop policy learns"""
    opening: Mapping[str, Any] = field(default_factory=dict)
    """values to begin with, by name: those of the run that the page opens on"""
    gamma_keys: list[str] = field(default_factory=list)
    """the options that the bar's γ stands for: one per drafter that has it"""

    def inputs(self) -> set[Component]:
        return set(self.fields.values())

    def values(self, given: Mapping[Component, object]) -> dict[str, object]:
        """What an event handler received, by value name. Raises OptionError where that is no form's value."""
        values = {name: given[component] for name, component in self.fields.items()}
        for group in self.forms:
            options = read_held(values.pop(options_name(group)))
            values |= {f"{group}.{name}": value for name, value in options.items()}
        return values | (dict.fromkeys(self.gamma_keys, values[GAMMA]) if GAMMA in values else {})

    def begin(self, name: str, otherwise: Any) -> Any:
        """The value that a control opens with."""
        return self.opening.get(name, otherwise)


def method_controls(controls: Controls, catalog: Catalog, limits: Limits) -> None:
    """Every kind of method: what to choose, a line about the choice, and the chosen method's options."""
    known = kinds(catalog)
    drafter = str(controls.begin("drafter", RunRequest(prompt="").drafter.name))
    growing = [kind for kind in known if kind.for_growing]
    for kind in known:
        if not kind.for_growing:
            _method(controls, kind)
        if kind.group == "drafter" and any(method.remembers for method in kind.methods):
            controls.fields["memory"] = gr.Radio(
                list(limits.memory_ways),
                value=MEMORY_WAYS[0],
                label="memory",
                info=MEMORY_INFO if limits.shared_memory else COLD_INFO,
                visible=remembers(catalog, drafter),
                elem_id="sv-memory",
            )
        if kind.group == "drafter" and any(method.retrieves for method in kind.methods):
            controls.fields["datastore"] = gr.Dropdown(
                **datastore_choice(catalog, limits),
                value="",
                label="datastore",
                allow_custom_value=limits.any_model,
                visible=retrieves(catalog, drafter),
                elem_id="sv-datastore",
            )
        if kind.group == "drafter" and growing:
            shown = grows(catalog, drafter)
            chosen = {policy.group: str(controls.begin(policy.group, policy.default)) for policy in growing}
            title = growing_title(list(chosen.values()))
            with gr.Accordion(title, open=False, visible=shown) as controls.growing:
                for policy in growing:
                    _method(controls, policy)
                    if learners(policy):
                        controls.retraining = _retraining(chosen[policy.group] in learners(policy))


def datastore_choice(catalog: Catalog, limits: Limits) -> dict[str, Any]:
    """`choices` and `info` of the control: the datastores there are now, by the names of their files."""
    offered = [(OWN_DATASTORE, "")]
    for description in catalog.datastores:
        size = f"{description.tokens:,} tokens · {description.size_bytes / 1e6:.1f} MB"
        label = f"{description.name} · {size} · built {description.built}"
        offered.append((label, Path(description.file).name))
    listed = "" if catalog.datastores else "none is built yet; "
    path = ", or the path of a local file" if limits.any_model else ""
    return {"choices": offered, "info": f"{listed}`specviz datastore build` makes one, of one tokenizer{path}"}


def learners(kind: Kind) -> list[str]:
    """Its methods that go by weights which can be learnt."""
    return [method.name for method in kind.methods if method.learns]


def _retraining(shown: bool) -> RetrainingControls:
    with gr.Group(visible=shown, elem_classes="sv-options") as box:
        with gr.Row():
            retrain = gr.Button("Retrain from this page's runs", size="sm", min_width=160, elem_id="sv-retrain")
            reset = gr.Button("Use the shipped weights", size="sm", min_width=140)
        line = gr.HTML(notices.note(SHIPPED), elem_id="sv-retraining")
    return RetrainingControls(box, retrain, reset, line)


def _method(controls: Controls, kind: Kind) -> None:
    chosen = str(controls.begin(kind.group, kind.default))
    with gr.Column(elem_classes="sv-method"):
        if kind.group not in controls.fields:
            controls.fields[kind.group] = _choice(kind, chosen)
        controls.notes[kind.group] = gr.HTML(notices.note(note(kind, chosen), is_lossless(kind, chosen)))
        _options(controls, kind, chosen)


def _choice(kind: Kind, chosen: str) -> Component:
    """A few methods are all in sight; many fold into a list."""
    kwargs: dict[str, Any] = {"value": chosen, "label": kind.label, "elem_id": f"sv-{kind.group}"}
    if len(choices(kind)) <= FEW:
        return gr.Radio(choices(kind), **kwargs)
    return gr.Dropdown(choices(kind), **kwargs)


def _options(controls: Controls, kind: Kind, chosen: str) -> None:
    """The form of the chosen method's options; the drafters' γ stands in the bar."""
    in_bar = GAMMA if kind.group == "drafter" and GAMMA in controls.fields else ""
    for method in kind.methods:
        controls.gamma_keys += [
            option_key(kind.group, method.name, card.name) for card in method.options if card.name == in_bar
        ]
    start = f"{kind.group}."
    opening = {name.removeprefix(start): value for name, value in controls.opening.items() if name.startswith(start)}
    form = MethodOptions(kind.methods, held(chosen, opening), leave_out=in_bar, elem_id=f"sv-{kind.group}-options")
    controls.forms[kind.group] = controls.fields[options_name(kind.group)] = form


def model_controls(controls: Controls, catalog: Catalog, limits: Limits) -> None:
    """Target and drafter weights, and what a prompt is to the target."""
    controls.fields |= model_fields(catalog, limits, controls.begin)
    controls.fields["scene"] = gr.Textbox(
        str(controls.begin("scene", "")),
        label="picture, for a target that captions one",
        max_lines=2,
        placeholder="large red circle at 8,8; small blue square at 24,20",
        elem_id="sv-scene",
        info="compose one in the Scenes tab; the prompt is then the beginning of the caption, or empty",
    )


def sampling_controls(controls: Controls, limits: Limits, defaults: RunRequest) -> None:
    """Length; seed, truncation, stop strings."""
    fields, begin = controls.fields, controls.begin
    length = begin("max_new_tokens", min(defaults.max_new_tokens, limits.max_new_tokens))
    with gr.Row():
        fields["max_new_tokens"] = gr.Slider(
            1, limits.max_new_tokens, value=length, step=1, label="new tokens", info="at most", min_width=200
        )
    with gr.Row():
        fields["seed"] = _whole(begin("seed", defaults.seed), "seed", "same seed, same run")
        fields["top_k"] = _whole(begin("top_k", defaults.top_k), "top-k", "0: off")
        fields["top_p"] = gr.Number(
            value=begin("top_p", defaults.top_p),
            label="top-p",
            step=0.05,
            info="1: off",
            min_width=80,
        )
        fields["stop"] = gr.Textbox(
            begin("stop", ""), label="stop strings", info="one per line, \\n: a break", max_lines=4, min_width=120
        )


def _whole(value: int, label: str, info: str) -> gr.Number:
    """Without bounds, as all numbers of the form: `request_from` says what is wrong, next to Run."""
    return gr.Number(value=value, label=label, precision=0, info=info, min_width=80)


# --- the bar ---------------------------------------------------------------------------------------------------------


GAMMA_LABEL = "speculation length γ"


@dataclass(slots=True)
class BarParts:
    """The bar's components that are no value of a run."""

    example: gr.Dropdown
    run: gr.Button
    stop: gr.Button
    settings: gr.Button
    here: RunHere
    message: gr.HTML
    models: PairParts
    """the pair, and the prompts that go with it"""
    fetches: list[FetchParts]
    """a button per real model that this machine lacks"""

    def buttons(self) -> tuple[gr.Button, gr.Button]:
        """Run and Stop."""
        return self.run, self.stop


def bar(controls: Controls, gallery: Gallery, catalog: Catalog, limits: Limits, message: str) -> BarParts:
    """Build the bar inside the current Blocks; `message` stands below it."""
    target = str(controls.begin("target", RunRequest(prompt="").target))
    examples = listed_examples(recorded_for(catalog, gallery, target))
    with gr.Column(elem_classes="sv-bar"):
        with gr.Row(elem_classes="sv-bar-row"):
            example = gr.Dropdown(
                examples,
                value=NO_CHOICE,
                label="example",
                scale=2,
                min_width=184,
                visible=bool(gallery.examples),
                elem_id="sv-example",
            )
            bar_controls(controls, catalog)
            with gr.Row(elem_classes="sv-bar-buttons"):
                run = gr.Button("Run", variant="primary", min_width=72, elem_id="sv-run")
                stop = gr.Button("Stop", variant="stop", min_width=64, interactive=False, elem_id="sv-stop")
                settings = gr.Button("Settings", min_width=84, elem_id="sv-settings")
            here = RunHere(megabytes=megabytes(), min_width=96, elem_id="sv-here")
        with gr.Row(elem_classes="sv-under"):
            models = pair_families(catalog, pair_choice(catalog, limits, target), target)
            line = gr.HTML(notices.message(message), elem_id="sv-message")
        fetches = [fetch_controls(model, model.name == target) for model in fetchable(catalog, limits)]
    return BarParts(example, run, stop, settings, here, line, models, fetches)


def bar_controls(controls: Controls, catalog: Catalog) -> None:
    """What most runs differ by: prompt, drafter, speculation length γ, temperature."""
    fields, defaults = controls.fields, RunRequest(prompt="")
    pair = pair_of(catalog, str(controls.begin("target", defaults.target)))
    prompts = for_pair(catalog, pair).prompts
    prompt = prompts[0].text if prompts else ""
    fields["prompt"] = gr.Textbox(
        controls.begin("prompt", prompt),
        label="prompt",
        lines=1,
        max_lines=3,
        scale=5,
        min_width=204,
        elem_id="sv-prompt",
        elem_classes="sv-mono",
    )
    drafter = next(kind for kind in kinds(catalog) if kind.group == "drafter")
    chosen = controls.begin("drafter", drafter.default)
    fields["drafter"] = gr.Dropdown(
        drafters_for(catalog, pair, chosen),
        value=chosen,
        allow_custom_value=True,  # while the pair changes, events still carry the one before; `request_from` checks it
        label="drafter",
        scale=2,
        min_width=130,
        elem_id="sv-drafter",
    )
    state = gamma_state(controls.opening or {"drafter": drafter.default}, catalog)
    fields[GAMMA] = gr.Number(
        controls.begin(GAMMA, 4), precision=0, scale=1, min_width=140, elem_id="sv-gamma", **state
    )
    fields["temperature"] = gr.Number(
        controls.begin("temperature", defaults.temperature),
        label="temperature",
        step=0.1,
        scale=1,
        min_width=96,
        elem_id="sv-temperature",
    )


def gamma_state(values: Mapping[str, object], catalog: Catalog) -> dict[str, Any]:
    """Label and use of the bar's γ: a tree or a tree policy sets it aside, and that is said."""
    card = gamma_card(catalog, str(values.get("drafter")))
    if card is None:
        return {"label": "γ: not used", "interactive": False}
    if acts(values, catalog, card.name):
        return {"label": GAMMA_LABEL, "interactive": True}
    return {"label": "γ: see Settings", "interactive": False}


def gamma_card(catalog: Catalog, drafter: str | None) -> OptionCard | None:
    """The option that the bar's γ stands for; None: this drafter has none."""
    method = next((one for one in catalog.drafters if one.name == drafter), None)
    return next((card for card in method.options if card.name == GAMMA), None) if method else None


# --- the drawer ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class DrawerParts:
    """The drawer's components that are no value of a run."""

    close: gr.Button
    recorded: gr.Dropdown
    upload: gr.UploadButton
    lossless: gr.HTML
    own: OwnPrompts
    rendered: gr.HTML
    """what the target will read, where the prompt is a message"""


def drawer(controls: Controls, gallery: Gallery, catalog: Catalog, limits: Limits, table: str = "") -> DrawerParts:
    """Build the drawer inside the current Blocks; the bar's controls must stand already. `table`: of all drafters."""
    with gr.Column(elem_id="sv-drawer", elem_classes="sv-drawer"):
        close = gr.Button("Close", size="sm", min_width=80, elem_classes="sv-drawer-close")
        target = str(controls.begin("target", RunRequest(prompt="").target))
        recorded = gr.Dropdown(
            labelled_files(recorded_for(catalog, gallery, target).cards),
            value=gallery.first,
            label="all recorded runs, by method",
            elem_id="sv-recorded",
        )
        upload = gr.UploadButton(
            "Open a trace file", file_types=[".json", ".gz", ".toml"], size="sm", elem_id="sv-upload"
        )
        own = own_prompts()
        if table:
            drafter_fold(table)
        method_controls(controls, catalog, limits)
        names = {group: str(controls.fields[group].value) for group in controls.notes}
        lossless = gr.HTML(notices.lossless_mark(*lossless_note(catalog, names)), elem_id="sv-lossless")
        sampling_controls(controls, limits, RunRequest(prompt=""))
        with gr.Accordion("Models", open=False):
            model_controls(controls, catalog, limits)
            rendered = gr.HTML("", elem_id="sv-rendered")
    return DrawerParts(close, recorded, upload, lossless, own, rendered)

"""The bar above the player: example, prompt, drafter, speculation length γ, temperature, Run; under it, what to type.

Lays out; what the controls do is in `actions` and `opening_actions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from specviz.app.form.methods import choices, kinds
from specviz.app.form.prompts import Family, described
from specviz.app.form.request import acts
from specviz.app.look import notices
from specviz.app.look.notices import NO_CHOICE
from specviz.app.runs.gallery import Gallery
from specviz.app.step.controls import Controls
from specviz.app.step.filling import GAMMA
from specviz.protocol.runs import Catalog, OptionCard, RunRequest

KNOWS = "Small models of our own: they know short English texts of this kind and Python, nothing else"
GAMMA_LABEL = "speculation length γ"


@dataclass(slots=True)
class BarParts:
    """The bar's components that are no value of a run."""

    example: gr.Dropdown
    run: gr.Button
    stop: gr.Button
    settings: gr.Button
    message: gr.HTML
    families: list[tuple[Family, gr.Button]]
    prompt_note: gr.HTML

    def buttons(self) -> tuple[gr.Button, gr.Button]:
        """Run and Stop."""
        return self.run, self.stop


def bar(controls: Controls, gallery: Gallery, catalog: Catalog, message: str) -> BarParts:
    """Build the bar inside the current Blocks; `message` stands below it."""
    with gr.Column(elem_classes="sv-bar"):
        with gr.Row(elem_classes="sv-bar-row"):
            example = gr.Dropdown(
                [("choose one to watch", NO_CHOICE), *((one.title, one.title) for one in gallery.examples)],
                value=NO_CHOICE, label="example", scale=2,
                min_width=196, visible=bool(gallery.examples), elem_id="sv-example",
            )  # fmt: skip
            bar_controls(controls, catalog)
            with gr.Row(elem_classes="sv-bar-buttons"):
                run = gr.Button("Run", variant="primary", min_width=72, elem_id="sv-run")
                stop = gr.Button("Stop", variant="stop", min_width=64, interactive=False, elem_id="sv-stop")
                settings = gr.Button("Settings", min_width=84, elem_id="sv-settings")
        with gr.Row(elem_classes="sv-under"):
            with gr.Accordion(KNOWS, open=False, elem_classes="sv-knows"):
                chips, note = _families(catalog)
            line = gr.HTML(notices.message(message), elem_id="sv-message")
    return BarParts(example, run, stop, settings, line, chips, note)


def _families(catalog: Catalog) -> tuple[list[tuple[Family, gr.Button]], gr.HTML]:
    """One row per family: a button that fills the prompt with its next one, and what to expect of it."""
    chips = []
    with gr.Column(elem_classes="sv-families"):
        for family in described(catalog):
            with gr.Row(elem_classes="sv-family"):
                button = gr.Button(family.title, size="sm", min_width=110, scale=0, elem_classes="sv-chip")
                gr.HTML(notices.note(family.line), min_width=160)
            chips.append((family, button))
    return chips, gr.HTML("", elem_id="sv-prompt-note")


def bar_controls(controls: Controls, catalog: Catalog) -> None:
    """What most runs differ by: prompt, drafter, speculation length γ, temperature."""
    fields, defaults = controls.fields, RunRequest(prompt="")
    prompt = catalog.prompts[0].text if catalog.prompts else ""
    fields["prompt"] = gr.Textbox(
        controls.begin("prompt", prompt), label="prompt", lines=1, max_lines=3, scale=5, min_width=220,
        elem_id="sv-prompt", elem_classes="sv-mono",
    )  # fmt: skip
    drafter = next(kind for kind in kinds(catalog) if kind.group == "drafter")
    fields["drafter"] = gr.Dropdown(
        choices(drafter), value=controls.begin("drafter", drafter.default), label="drafter", scale=2, min_width=130,
        elem_id="sv-drafter",
    )  # fmt: skip
    state = gamma_state(controls.opening or {"drafter": drafter.default}, catalog)
    fields[GAMMA] = gr.Number(
        controls.begin(GAMMA, 4), precision=0, scale=1, min_width=140, elem_id="sv-gamma", **state
    )  # fmt: skip
    fields["temperature"] = gr.Number(
        controls.begin("temperature", defaults.temperature), label="temperature", minimum=0, step=0.1, scale=1,
        min_width=96, elem_id="sv-temperature",
    )  # fmt: skip


def gamma_state(values: Mapping[str, object], catalog: Catalog) -> dict[str, Any]:
    """Label and use of the bar's γ: a tree or a tree policy sets it aside, and that is said."""
    card = gamma_card(catalog, str(values.get("drafter")))
    if card is None:
        return {"label": "γ: not used", "interactive": False}
    if acts(values, catalog, card.name):
        return {"label": GAMMA_LABEL, "interactive": True}
    return {"label": "γ: see Settings", "interactive": False}


def gamma_card(catalog: Catalog, drafter: str) -> OptionCard | None:
    """The option that the bar's γ stands for; None: this drafter has none."""
    method = next((one for one in catalog.drafters if one.name == drafter), None)
    return next((card for card in method.options if card.name == GAMMA), None) if method else None

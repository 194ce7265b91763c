"""The What-if tab: sliders for acceptance, draft and clock; the modelled speedup, its arithmetic and its charts.

Lays out and wires; what the controls do is in `actions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.form.kept import Kept
from specviz.app.look.events import LATEST, QUIET
from specviz.app.look.notices import NO_CHOICE
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.tab import Page, Tab
from specviz.app.what_if.actions import FLAT, OPENING, SLIDER, START, WhatIfActions, WhatIfFields, shown
from specviz.app.what_if.view import LONGEST, what_if_view

INTRO = (
    "How fast would it be, if? Choose how often a candidate is accepted, how the draft looks and what passes cost. "
    "Every number here is **modelled**: computed from formulas, not measured. "
    "*Step through a simulated run* plays such a run in the player, marked **simulated**."
)


def what_if_tab(actions: WhatIfActions, tabs: gr.Tabs, stage: Sequence[Component]) -> Kept:
    """Build the tab's content inside the current Blocks. `stage`: the Watch tab's player, badges, panels and message.
    Returns what a link holds of it: the controls that make up a setting."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    fields = _controls(actions)
    controls = WhatIfFields(fields)
    opening = shown(what_if_view(actions.setting(OPENING)))
    sentence = gr.HTML(opening[0], elem_id="sv-what-if-verdict")
    notes = gr.HTML(opening[1], elem_id="sv-what-if-notes")
    with gr.Row(elem_classes="sv-actions"):
        play = gr.Button("Step through a simulated run", variant="primary", min_width=240, elem_id="sv-what-if-play")
    numbers = gr.HTML(opening[2], elem_id="sv-what-if-numbers")
    with gr.Row():
        by_gamma = gr.Plot(opening[3], show_label=False, elem_id="sv-what-if-plot", min_width=320)
        by_alpha = gr.Plot(opening[4], show_label=False, elem_id="sv-what-if-heat", min_width=320)

    inputs = set(fields.values())
    outputs = [sentence, notes, numbers, by_gamma, by_alpha]
    watched = [field.change for name, field in fields.items() if name not in ("preset", "seed")]
    gr.on(watched, actions.show(controls), inputs, outputs, **LATEST)
    # `input`, not `change`: a link fills in both, and must not have its context and batch replaced by the first ones.
    settings = actions.places, [fields["clock"], fields["place"]], fields["place"]
    fields["clock"].input(*settings, **QUIET)
    filled = [fields[name] for name in ("acceptance", "alpha", "gamma", "tree", "cost_ratio", "clock")]
    fields["preset"].input(actions.fill, fields["preset"], filled, **QUIET).then(*settings, **QUIET)
    play.click(actions.step_through(controls), inputs, [tabs, *stage, sentence], **QUIET)
    kept = {name: control for name, control in fields.items() if name != "preset"}

    def fill(values: Mapping[str, Any]) -> dict[Any, Any]:
        """Context and batch of the curve that a link chooses."""
        return {fields["place"]: actions.places(values["clock"], values.get("place"))} if "clock" in values else {}

    return Kept("what-if", kept, fill=fill, changing=frozenset({"place"}), simulated=actions.simulated)


def _controls(actions: WhatIfActions) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    with gr.Row():
        fields["preset"] = gr.Dropdown(
            actions.presets(), value=NO_CHOICE, label="preset: a recorded run, or a row of a paper", scale=2,
            min_width=240, elem_id="sv-what-if-preset",
        )  # fmt: skip
        fields["acceptance"] = gr.Dropdown(
            actions.acceptances(), value=SLIDER, label="acceptance from", scale=2, min_width=240,
            elem_id="sv-what-if-acceptance",
        )  # fmt: skip
        fields["clock"] = gr.Dropdown(
            actions.clocks(), value=FLAT, label="clock of the target", scale=2, min_width=240,
            elem_id="sv-what-if-clock",
        )  # fmt: skip
        fields["place"] = gr.Dropdown([], label="context and batch", visible=False, min_width=180)
    with gr.Row():
        fields["alpha"] = gr.Slider(
            0, 1, value=START["alpha"], step=0.01, label="α: probability that a candidate is accepted", min_width=220,
            elem_id="sv-what-if-alpha",
        )  # fmt: skip
        fields["gamma"] = gr.Slider(
            0, LONGEST, value=START["gamma"], step=1, label="γ: tokens drafted per round", min_width=220
        )
        fields["cost_ratio"] = gr.Slider(
            0, 1, value=START["cost_ratio"], step=0.01, label="c: drafter pass ÷ target pass", min_width=220
        )
    with gr.Row():
        fields["tree"] = gr.Textbox(
            "", label="or a tree", info="children per level, e.g. 3,2,1", max_lines=1, min_width=180,
            elem_id="sv-what-if-tree",
        )  # fmt: skip
        fields["slower"] = gr.Slider(
            0.25, 8, value=START["slower"], step=0.25, label="compare with a drafter so many times as slow",
            min_width=220,
        )  # fmt: skip
        fields["seed"] = gr.Number(START["seed"], label="seed of the simulated run", precision=0, min_width=160)
    return fields


def _build(page: Page, tab: gr.Tab, actions: WhatIfActions) -> None:
    page.kept.append(what_if_tab(actions, page.front, page.parts(WATCH_TAB).stage()))


TAB = Tab("what-if", "What if", "lab", 5, lambda page: WhatIfActions(page.gallery), _build)

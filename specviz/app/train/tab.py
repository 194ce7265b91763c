"""The Train tab: choose a module, text and minutes; watch loss and acceptance; step with it at any moment; use it.

Lays out and wires; what the controls do is in `actions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.components.framed import Player
from specviz.app.form.prompts import upload_button
from specviz.app.form.request import options_name
from specviz.app.job import starts
from specviz.app.look import notices
from specviz.app.look.events import LATEST, QUIET, READING, TRAINING
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.tab import Page, Tab
from specviz.app.train.actions import TrainActions
from specviz.protocol.trainings import DATA, LOSSES, MINUTES, TrainingQuestion
from specviz.resources import ROOT

OPENING = ROOT / "trainings" / "opening.json.gz"
"""the training that the tab opens with"""
INTRO = (
    "A drafter need not be a whole language model: a small network that reads the target's own states learns in "
    "minutes. Acceptance is **measured** on held-out text while it trains; the player below steps with the network as "
    "it was at each moment."
)


def train_tab(
    actions: TrainActions, tab: gr.Tab, tabs: gr.Tabs, stage: Sequence[Component], form: Mapping[str, Any]
) -> None:
    """Build the tab's content inside the current Blocks. `stage`: the Watch tab's player, badges, panels and message;
    `form`: its controls, by the name of their value."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    usual = TrainingQuestion()
    names, prompts = actions.modules(), actions.prompts()
    with gr.Row():
        module = gr.Dropdown(
            names, value=usual.module if usual.module in names else next(iter(names), None), label="module",
            min_width=160, elem_id="sv-train-module",
        )  # fmt: skip
        data = gr.Dropdown([(line, name) for name, line in DATA.items()], value=usual.data, label="it learns from",
                           min_width=200)  # fmt: skip
        aim = gr.Dropdown([(f"{name} · {line}", name) for name, line in LOSSES.items()], value=usual.loss, label="loss",
                          min_width=200, elem_id="sv-train-loss")  # fmt: skip
        minutes = gr.Slider(*MINUTES, value=usual.minutes, step=1, label="minutes", min_width=140,
                            elem_id="sv-train-minutes")  # fmt: skip
        prompt = gr.Dropdown(prompts, value=prompts[0][1] if prompts else None, label="prompt it steps on",
                             min_width=200, elem_id="sv-train-prompt")  # fmt: skip
    with gr.Row(elem_classes="sv-actions"):
        run = gr.Button("Train", variant="primary", min_width=120, interactive=actions.can_train, elem_id="sv-train")
        stop = gr.Button("Stop", variant="stop", min_width=90, interactive=False, elem_id="sv-train-stop")
        use = gr.Button("Use it in Watch", min_width=130, interactive=False, elem_id="sv-train-use")
        save = gr.DownloadButton("Save weights", min_width=120, interactive=False, elem_id="sv-train-save")
        load = gr.UploadButton(
            "Load weights", min_width=120, file_types=[".safetensors"], interactive=actions.can_train
        )
        own = upload_button("train-")
    message = gr.HTML(notices.message(""), elem_id="sv-train-message")
    held = gr.State(None)
    with gr.Row():
        acceptance = gr.Plot(label="acceptance on held-out text", show_label=True, min_width=320)
        loss = gr.Plot(label="loss", show_label=True, min_width=320)
    written = gr.HTML("", elem_id="sv-train-texts")
    slider = gr.Slider(0, 1, value=0, step=1, label="training time: the network as it was then", interactive=False,
                      elem_id="sv-train-place")  # fmt: skip
    line = gr.HTML("", elem_id="sv-train-line")
    player = Player("", elem_id="sv-train-player")

    picture = [message, acceptance, loss, written, slider, player]
    own.upload(actions.own_prompts, own, [prompt, message], **READING)
    asked = [module, data, aim, minutes, prompt]
    tab.select(actions.open, held, [held, *picture, *asked], **QUIET)
    slider.change(actions.at, [held, slider], [player, line], **LATEST)
    stop.click(actions.stop, None, None, **QUIET)
    outputs = [held, *picture, run, stop, use, save]
    armed = [message, run, stop]
    starts(run.click, actions, armed, actions.train, [*asked, held], outputs, TRAINING)
    drafter = [form["drafter"], form[options_name("drafter")]]
    use.click(actions.use, held, [tabs, *stage, form["prompt"], *drafter], **QUIET)
    load.upload(actions.load, load, [message, *drafter], **READING)


def _build(page: Page, tab: gr.Tab, actions: TrainActions) -> None:
    watch = page.parts(WATCH_TAB)
    train_tab(actions, tab, page.front, watch.stage(), watch.form)


TAB = Tab("train", "Train", "lab", 3, lambda page: TrainActions(page.source, page.limits, OPENING), _build)

"""The Scenes tab: a composer of pictures, Run on this scene, and one chart of what was measured.

Lays out and wires; what the controls do is in `actions`.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from specviz.app.components.framed import ScenePicture
from specviz.app.look import notices
from specviz.app.look.events import ENGINE, LATEST
from specviz.app.scenes.actions import Composer, ScenesActions, Stage
from specviz.app.scenes.view import NO_SHAPE, OPENING, STEPS, Row, drawn, scene_from
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.studies.page import build
from specviz.app.tab import Page, Tab
from specviz.scenes.scene import COLOURS, RADII, SHAPES
from specviz.studies.captions.result import DRAFTERS, STUDY

INTRO = (
    "The target here **sees**: it captions a picture of coloured shapes. Which of its words can be drafted without "
    "looking? Compose a picture and run: the player marks the words that the picture decides, all others are grammar. "
    "Models, training and limits: `docs/scenes.md`."
)
ALONE = "none"


def scenes_tab(actions: ScenesActions, stage: Stage) -> None:
    """Build the tab's content inside the current Blocks; runs show in the Watch tab."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    with gr.Row(elem_classes="sv-composer"):
        with gr.Column(scale=0, min_width=200):
            picture = ScenePicture(drawn(scene_from(OPENING)), elem_id="sv-scene-picture")
        with gr.Column(scale=3, min_width=300):
            rows = [_shape(index + 1, row) for index, row in enumerate(OPENING)]
    with gr.Row(elem_classes="sv-actions"):
        drafter = gr.Dropdown(
            [*((words, name) for name, words in DRAFTERS.items()), ("no drafter: the target alone", ALONE)],
            value=next(reversed(DRAFTERS)), label="drafter", min_width=200, elem_id="sv-scene-drafter",
        )  # fmt: skip
        temperature = gr.Number(0, label="temperature", minimum=0, maximum=10, step=0.1, min_width=96)
        run = gr.Button("Run on this scene", variant="primary", min_width=160, elem_id="sv-scene-run")
    message = gr.HTML(notices.message(""), elem_id="sv-scene-message")
    composer = Composer(rows, drafter, temperature)
    changes = [control.change for row in rows for control in row]
    gr.on(changes, actions.draw(composer), composer.inputs(), [picture, message], **LATEST)
    outputs = [stage.tabs, message, *stage.shown, *stage.form.values()]
    run.click(actions.run(composer, stage, message), composer.inputs(), outputs, **ENGINE)
    _chart()


def _shape(number: int, row: Row) -> list[Any]:
    """Controls of one shape: shape, colour, size, column, row."""
    shape, colour, size, column, line = row
    with gr.Row():
        return [
            gr.Dropdown([NO_SHAPE, *SHAPES], value=shape, label=f"shape {number}", min_width=110, filterable=False,
                        elem_id=f"sv-scene-shape-{number}"),
            gr.Dropdown(list(COLOURS), value=colour, label="colour", min_width=96, filterable=False),
            gr.Dropdown(list(RADII), value=size, label="size", min_width=90, filterable=False),
            gr.Slider(1, STEPS, value=int(column), step=1, label="from the left", min_width=120),
            gr.Slider(1, STEPS, value=int(line), step=1, label="from the top", min_width=120),
        ]  # fmt: skip


def _chart() -> None:
    """The measured split; nothing where no report is shipped."""
    report = STUDY.shipped()
    if report is not None:
        gr.Markdown(STUDY.intro)
        build(STUDY, report)


def _build(page: Page, tab: gr.Tab, actions: ScenesActions) -> None:
    scenes_tab(actions, Stage.of(page.front, page.parts(WATCH_TAB)))


TAB = Tab("scenes", "Scenes", "lab", 7, lambda page: ScenesActions(page.actions(WATCH_TAB)), _build)

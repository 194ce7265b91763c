"""The Scenes tab: a composer of pictures, Run on this scene, and one chart of what was measured on held-out scenes.

The run of the captioner is the Watch tab's own, so it is stopped, continued and shared as any other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.components.framed import ScenePicture
from specviz.app.look import notices
from specviz.app.look.events import ENGINE, latest
from specviz.app.step import filling
from specviz.app.step.actions import StepActions
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.step.tab import StepParts
from specviz.app.studies.tab import build
from specviz.app.tab import WATCH, Page, Tab
from specviz.errors import PromptError, SpecVizError, shown
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.scenes.scene import APART, COLOURS, MOST_SHAPES, RADII, SHAPES, SIDE, PlacedShape, Scene, are_clear
from specviz.studies.captions.result import DRAFTERS, STUDY

Row = tuple[str, str, str, str, str]
"""shape (or none), colour, size, and a column and a row of the grid: words as the controls give them"""

NO_SHAPE = "–"
STEPS = 5
"""places to choose from along either side, so that a thumb can hit them"""
OPENING: tuple[Row, ...] = (
    ("circle", "red", "large", "2", "2"),
    ("square", "blue", "small", "4", "4"),
    (NO_SHAPE, "yellow", "small", "5", "1"),
)
"""what stands in the controls before anybody touches them"""
MOST_TOKENS = 48
PLACES = tuple(str(step) for step in range(1, STEPS + 1))
"""of the grid, from left to right and from top to bottom"""


def place(step: int, radius: int) -> int:
    """The pixel of a grid place 1 … STEPS: the first and the last touch the edge."""
    return radius + (step - 1) * (SIDE - 1 - 2 * radius) // (STEPS - 1)


def scene_from(rows: Sequence[Row]) -> Scene:
    """Raises PromptError where no shape is chosen, or one does not fit."""
    shapes = []
    for shape, colour, size, column, line in rows[:MOST_SHAPES]:
        if shape != NO_SHAPE:
            radius = RADII.get(size, 0)
            for one in (column, line):
                if one not in PLACES:
                    raise PromptError(f"a shape's place is {shown(one)}, but must be one of {', '.join(PLACES)}.")
            x, y = (place(int(one), radius) for one in (column, line))
            shapes.append(PlacedShape(size, colour, shape, x, y))
    return Scene(tuple(shapes))


def doubt(scene: Scene) -> str:
    """Why the captioner may misname this scene; empty where training had scenes like it."""
    if all(are_clear(one, other) for one, other in combinations(scene.shapes, 2)):
        return ""
    return (
        f"the captioner never learnt from shapes that touch, or are less than {APART} pixels apart from left to right: "
        "its caption of this picture may be wrong."
    )


def drawn(scene: Scene) -> str:
    """For the picture."""
    return json.dumps([asdict(card) for card in scene.cards()])


def request_for(scene: Scene, drafter: str, temperature: float) -> RunRequest:
    """The run of the captioner on a scene; `drafter` is one of `DRAFTERS`, anything else decodes alone."""
    request = RunRequest("", target="captioner", scene=str(scene), temperature=temperature, max_new_tokens=MOST_TOKENS)
    if drafter not in DRAFTERS:
        return request.with_drafter("none")
    return RunRequest(
        "",
        target="captioner",
        drafter_model=drafter,
        drafter=Choice("model", {"gamma": 4}),
        scene=str(scene),
        temperature=temperature,
        max_new_tokens=MOST_TOKENS,
    )


# --- what the controls do --------------------------------------------------------------------------------------------


Given = Mapping[Component, Any]
Updates = dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Composer:
    """The tab's controls."""

    shapes: Sequence[Sequence[Any]]
    """per shape: shape, colour, size, column, row"""
    drafter: Any
    temperature: Any

    def inputs(self) -> set[Any]:
        return {one for row in self.shapes for one in row} | {self.drafter, self.temperature}

    def scene(self, given: Given) -> Scene:
        """What stands in them. Raises PromptError where it is no scene."""
        rows: list[Row] = []
        for controls in self.shapes:
            shape, colour, size, column, line = (str(given[control]) for control in controls)
            rows.append((shape, colour, size, column, line))
        return scene_from(rows)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a run is shown: the Watch tab."""

    tabs: gr.Tabs
    shown: Sequence[Component]
    """player, badges, panels, message, Run and Stop, as `StepActions` answers them"""
    form: Mapping[str, Component]
    """its controls by the name of their value"""

    @classmethod
    def of(cls, tabs: gr.Tabs, parts: StepParts) -> Stage:
        return cls(tabs, [*parts.stage(), parts.bar.run, parts.bar.stop], parts.form)


class ScenesActions:
    """Over the Watch tab's actions, which run."""

    def __init__(self, step: StepActions) -> None:
        self.step = step

    def draw(self, composer: Composer) -> Callable[[Given], tuple[object, str]]:
        """(picture, message) of what stands in the controls; a scene that cannot be leaves the picture as it was."""

        def show(given: Given) -> tuple[object, str]:
            try:
                scene = composer.scene(given)
                return drawn(scene), notices.message(doubt(scene))
            except SpecVizError as error:
                return gr.skip(), notices.message(str(error), "error")

        return show

    def run(self, composer: Composer, stage: Stage, message: gr.HTML) -> Callable[..., Iterator[Updates]]:
        """Fill the Watch tab's controls with the run, show that tab and run."""

        def start(given: Given, visitor: gr.Request) -> Iterator[Updates]:
            try:
                temperature = float(given[composer.temperature] or 0)
                request = request_for(composer.scene(given), str(given[composer.drafter]), temperature)
                reason = self.step.source.explain(request)
            except SpecVizError as error:
                reason = str(error)
            if reason:
                yield {message: notices.message(reason, "error")}
                return
            values = filling.by_control(filling.asked_values(request))
            filled = {stage.form[name]: value for name, value in values.items() if name in stage.form}
            yield {stage.tabs: gr.Tabs(selected=WATCH), message: notices.message(""), **filled}
            self.step.arm(visitor)
            for update in self.step.run_again(request, visitor, lambda frame: frame.message):
                yield dict(zip(stage.shown, update, strict=True))

        return start


# --- the tab ---------------------------------------------------------------------------------------------------------


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
            value=next(reversed(DRAFTERS)),
            label="drafter",
            min_width=200,
            elem_id="sv-scene-drafter",
        )
        temperature = gr.Number(0, label="temperature", minimum=0, maximum=10, step=0.1, min_width=96)
        run = gr.Button("Run on this scene", variant="primary", min_width=160, elem_id="sv-scene-run")
    message = gr.HTML(notices.message(""), elem_id="sv-scene-message")
    composer = Composer(rows, drafter, temperature)
    changes = [control.change for row in rows for control in row]
    gr.on(changes, actions.draw(composer), composer.inputs(), [picture, message], **latest())
    outputs = [stage.tabs, message, *stage.shown, *stage.form.values()]
    run.click(actions.run(composer, stage, message), composer.inputs(), outputs, **ENGINE)
    _chart()


def _shape(number: int, row: Row) -> list[Any]:
    """Controls of one shape: shape, colour, size, column, row."""
    shape, colour, size, column, line = row
    with gr.Row():
        return [
            gr.Dropdown(
                [NO_SHAPE, *SHAPES],
                value=shape,
                label=f"shape {number}",
                min_width=110,
                filterable=False,
                elem_id=f"sv-scene-shape-{number}",
            ),
            gr.Dropdown(list(COLOURS), value=colour, label="colour", min_width=96, filterable=False),
            gr.Dropdown(list(RADII), value=size, label="size", min_width=90, filterable=False),
            gr.Slider(1, STEPS, value=int(column), step=1, label="from the left", min_width=120),
            gr.Slider(1, STEPS, value=int(line), step=1, label="from the top", min_width=120),
        ]


def _chart() -> None:
    """The measured split; nothing where no report is shipped."""
    report = STUDY.shipped()
    if report is not None:
        gr.Markdown(STUDY.intro)
        build(STUDY, report)


def _build(page: Page, tab: gr.Tab, actions: ScenesActions) -> None:
    scenes_tab(actions, Stage.of(page.front, page.parts(WATCH_TAB)))


TAB = Tab("scenes", "Scenes", "lab", 7, lambda page: ScenesActions(page.actions(WATCH_TAB)), _build)

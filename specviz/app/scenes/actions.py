"""What the Scenes tab's controls do: draw the scene that is composed, and run the captioner on it in the player.

The run is the Watch tab's own, so it is stopped, continued and shared as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.look import notices
from specviz.app.scenes.view import Row, doubt, drawn, request_for, scene_from
from specviz.app.step import filling
from specviz.app.step.actions import StepActions
from specviz.app.step.tab import StepParts
from specviz.app.tab import WATCH
from specviz.errors import SpecVizError
from specviz.scenes.scene import Scene

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

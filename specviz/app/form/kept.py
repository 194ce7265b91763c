"""Controls whose values belong to the page's address: what a tab names here, a link holds and fills in again.

Place in the flow: each tab → here → `step.links`. In the browser `assets/js/player/address.js` keeps the values up; a
link comes from strangers, so a value that its control could not have is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.look import notices
from specviz.app.look.events import QUIET

MOST_TEXT = 8000
"""characters of one text that a link may fill in"""
MOST_NUMBER = 2**53
"""whole numbers up to here are the same in a browser and here"""
Values = Mapping[str, Any]
"""by the names of `Kept.controls`"""
Updates = dict[Any, Any]
"""by component"""


@dataclass(frozen=True, slots=True)
class Kept:
    """One tab's controls that a link holds."""

    tab: str
    """as links call it"""
    controls: Mapping[str, Any]
    """by the names that links use"""
    shows: tuple[Component, ...] = ()
    """what else `fill` may write to"""
    fill: Callable[[Values], Updates] = lambda values: {}
    """values that fit → updates beyond the values themselves, such as the choices that go with one"""
    changing: frozenset[str] = frozenset()
    """controls whose choices change with others: `fill` alone checks and sets them"""
    simulated: Callable[[Values], tuple[object, ...]] | None = None
    """values that fit → what shows their simulated run on the stage, where the tab makes such runs"""
    message: Component | None = None
    said: str = ""
    """what `message` says when a link has filled the controls"""

    def outputs(self) -> list[Component]:
        return [*self.controls.values(), *self.shows, *([self.message] if self.message is not None else [])]

    def filled(self, values: Values) -> Updates:
        """Updates for the values of a link; those that do not fit are left out."""
        there = self.fitting(values)
        if not there:
            return {}
        updates: Updates = {self.controls[name]: one for name, one in there.items() if name not in self.changing}
        if self.message is not None:
            updates[self.message] = notices.message(self.said)
        return updates | self.fill(there)

    def fitting(self, values: Values) -> dict[str, Any]:
        """Those of a link's values that the controls could have."""
        return {name: value for name, value in values.items() if name in self.controls and self._fits(name, value)}

    def _fits(self, name: str, value: object) -> bool:
        if name in self.changing:
            return isinstance(value, str) and len(value) <= MOST_TEXT
        return _fits(self.controls[name], value)

    def follow(self) -> None:
        """Wire the controls, inside the current Blocks: a changed value goes into the address, one that is again
        what it was when the page opened leaves it."""
        for name, control in self.controls.items():
            start = getattr(control, "value", None)
            gr.on(
                [control.change],
                None,
                control,
                None,
                js=f"(value) => SpecViz.keepControl({self.tab!r}, {name!r}, value, {json.dumps(start)})",
                **QUIET,
            )


def _fits(control: Component, value: object) -> bool:
    """Whether the control could have this value."""
    choices = [choice for _, choice in getattr(control, "choices", None) or ()]
    if isinstance(value, list):
        several = isinstance(control, gr.CheckboxGroup) or getattr(control, "multiselect", False)
        return bool(several) and all(one in choices for one in value)
    if isinstance(control, gr.CheckboxGroup) or getattr(control, "multiselect", False):
        return False
    if isinstance(control, gr.Slider | gr.Number):
        return _is_number(value) and in_bounds(control, value)
    if choices:
        return any(
            value == choice and type(value) is type(choice) for choice in choices
        )  # True is 1 to Python, not to a page
    return isinstance(value, str) and len(value) <= MOST_TEXT


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST_NUMBER


def in_bounds(control: gr.Slider | gr.Number, value: Any) -> bool:
    low, high = control.minimum, control.maximum
    return (low is None or value >= low) and (high is None or value <= high)

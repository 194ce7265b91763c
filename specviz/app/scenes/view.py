"""What the Scenes tab says, as plain data: the scene that stands in its controls, and the measured split.

Reads the shipped report; no model runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations

from specviz.errors import PromptError, shown
from specviz.protocol.runs import RunRequest
from specviz.scenes.generator import APART, are_clear
from specviz.scenes.scene import MOST_SHAPES, RADII, SIDE, PlacedShape, Scene
from specviz.studies.captions.result import DRAFTERS

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
        drafter_options={"gamma": 4},
        scene=str(scene),
        temperature=temperature,
        max_new_tokens=MOST_TOKENS,
    )

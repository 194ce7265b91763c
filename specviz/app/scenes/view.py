"""What the Scenes tab says, as plain data: the scene that stands in its controls, and the measured split.

Reads the shipped report; no model runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path

from specviz.app.parts.shipped_file import read_shipped
from specviz.errors import PromptError, shown
from specviz.protocol.runs import RunRequest
from specviz.resources import ROOT
from specviz.scenes.generator import APART, are_clear
from specviz.scenes.scene import MOST_SHAPES, RADII, SIDE, PlacedShape, Scene
from specviz.studies.captions.result import DRAFTERS, CaptionReport, CaptionRow, read

FILE = ROOT / "studies" / "captions.json"
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
    return json.dumps([asdict(one) for one in scene.cards()])


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


def shipped(file: Path = FILE) -> CaptionReport | None:
    """The shipped report; None where there is none. A damaged one is only logged: the page can do without."""
    return read_shipped(file, read)


def rows_of(report: CaptionReport, split: str) -> list[CaptionRow]:
    """Of one kind of scenes, in the order of the drafters; the first kind where there is no such."""
    known = [row.split for row in report.rows]
    chosen = split if split in known else known[0]
    order = list(DRAFTERS)
    return sorted((row for row in report.rows if row.split == chosen), key=lambda row: order.index(row.drafter))


def sentence(rows: Sequence[CaptionRow]) -> str:
    """What the image adapter gains over the drafter that read captions without pictures, on either kind of token."""
    by_name = {row.drafter: row for row in rows}
    blind, seeing = (_rates(by_name.get(f"caption-drafter-{kind}")) for kind in ("tuned", "eyes"))
    if blind is None or seeing is None:
        return ""
    return (
        f"Without seeing the picture, a drafter that read captions has {blind[0]:.0%} of its grammar accepted and "
        f"{blind[1]:.0%} of what the picture decides; with a small image adapter it is {seeing[0]:.0%} and "
        f"{seeing[1]:.0%}." + _speeds(by_name)
    )


def _speeds(by_name: Mapping[str, CaptionRow]) -> str:
    """How fast either makes the captioner."""
    speeds = [by_name[f"caption-drafter-{kind}"].speedup for kind in ("tuned", "eyes")]
    known = [one.value for one in speeds if one is not None]
    if len(known) < len(speeds):
        return ""
    return (
        f" When this was recorded, captions came {known[0]:.2f} and {known[1]:.2f} times as fast as by plain decoding."
    )


def _rates(row: CaptionRow | None) -> tuple[float, float] | None:
    """Shares accepted, of grammar and of what the picture decides; None where one of them is not known."""
    if row is None or row.grammar is None or row.grounded is None:
        return None
    return row.grammar.value, row.grounded.value

"""The picture that a run's target saw: a few coloured shapes, and which tokens stand for it or are decided by it.

Part of the waist; how such a scene is made, drawn and put into words stands elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

SIDE = 32
"""pixels of a picture along either side"""
MOST_SHAPES = 3
COLOURS = ("red", "green", "blue", "yellow", "white", "purple")
SHAPES = ("circle", "square", "triangle", "cross")
RADII = {"small": 3, "large": 6}
"""size → pixels from a shape's centre to its edge; it covers twice that and one"""
NUMBERS = ("one", "two", "three")
PLACES = ("top", "bottom", "left", "right", "middle")
RELATIONS = ("left", "right", "above", "below")
GROUNDED = frozenset({*RADII, *COLOURS, *SHAPES, *NUMBERS, *PLACES, *RELATIONS})
"""words that the picture decides"""


@dataclass(frozen=True, slots=True)
class ShapeCard:
    """One shape of a picture."""

    size: str
    colour: str
    shape: str
    x: int
    """pixels from the left edge to the centre"""
    y: int
    """pixels from the top"""


@dataclass(frozen=True, slots=True)
class SceneCard:
    """What the picture shows, and how the run's tokens hang together with it."""

    shapes: list[ShapeCard]
    """a later one is painted over an earlier one"""
    places: list[int]
    """the first ids of the prompt: where the target reads the picture instead of a word"""
    grounded: list[int]
    """ids of words that the picture decides (sizes, colours, shapes, numbers, places, relations), ascending; all others
    are grammar"""


def in_words(scene: SceneCard) -> str:
    """As a request names it: `large red circle at 8,8; small blue square at 24,20`."""
    return "; ".join(f"{one.size} {one.colour} {one.shape} at {one.x},{one.y}" for one in scene.shapes)

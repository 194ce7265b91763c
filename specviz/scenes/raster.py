"""A scene as pixels: whole pixels of one colour on a dark ground, no smoothing.

The page draws the same shapes as vectors (`assets/js`); the model sees these.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from specviz.scenes.scene import SIDE, PlacedShape, Scene

Colour = tuple[int, int, int]
"""red, green, blue, of 255"""
GROUND = (24, 24, 32)
RGB = {
    "red": (220, 50, 47),
    "green": (46, 160, 67),
    "blue": (48, 110, 230),
    "yellow": (240, 200, 40),
    "white": (240, 240, 240),
    "purple": (150, 70, 190),
}


def pixels(scene: Scene) -> NDArray[np.uint8]:
    """[32, 32, 3]: row (from the top), column (from the left), red green blue."""
    return painted((covered(one), RGB[one.colour]) for one in scene.shapes)


def painted(parts: Iterable[tuple[NDArray[np.bool_], Colour]]) -> NDArray[np.uint8]:
    """[32, 32, 3]: pixels [32, 32] in a colour on the ground, one after the other."""
    picture = np.empty((SIDE, SIDE, 3), dtype=np.uint8)
    picture[:] = GROUND
    for inside, colour in parts:
        picture[inside] = colour
    return picture


def covered(one: PlacedShape) -> NDArray[np.bool_]:
    """Which pixels belong to a shape [32, 32]."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    down, across, radius = rows - one.y, abs(columns - one.x), one.radius
    inside = (abs(down) <= radius) & (across <= radius)
    if one.shape == "circle":
        inside &= down**2 + across**2 <= (radius + 0.25) ** 2
    elif one.shape == "triangle":
        inside &= 2 * across <= down + radius
    elif one.shape == "cross":
        arm = radius // 3
        inside &= (abs(down) <= arm) | (across <= arm)
    return np.asarray(inside, dtype=np.bool_)

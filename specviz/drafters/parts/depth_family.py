"""Small models of six depths at one size, twice: what "equally many parameters" means is open at this scale, so one
family counts what lies between embedding and head, the other all that the network runs with.

A network is called by its layers and its width, "4x160". Registers nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

DEPTHS = (1, 2, 3, 4, 8, 16)
BLOCKS, WHOLE = "blocks", "whole"
"""the families: equal parameters of the blocks, or of the network as it runs, embedding and head with its width"""
WIDTHS: Mapping[str, tuple[int, ...]] = {BLOCKS: (320, 224, 184, 160, 112, 80), WHOLE: (112, 104, 96, 88, 76, 60)}
"""by depth, as in DEPTHS; chosen for a vocabulary of 4096, to within some percent"""
USUAL = "2x128"
"""what `specviz train module small_model` trains unless it is told otherwise"""


def name_of(layers: int, size: int) -> str:
    """What the network of this shape is called."""
    return f"{layers}x{size}"


def shape_of(name: str) -> tuple[int, int]:
    """Layers and size of a network's name."""
    layers, _, size = (USUAL if name == AUTO else name).partition("x")
    return int(layers), int(size)


def members(family: str) -> tuple[str, ...]:
    """The family's networks, the shallowest first."""
    return tuple(name_of(layers, size) for layers, size in zip(DEPTHS, WIDTHS[family], strict=True))


AUTO = "auto"
"""the usual network, or the one that lies in a folder of weights"""
STUDIED = (*members(BLOCKS), *members(WHOLE))
"""the networks of both families"""
NETWORKS = (AUTO, *STUDIED)
"""what a drafter can be asked for by name"""


def block_parameters(layers: int, size: int) -> int:
    """Of the blocks' matrices: four of attention, three of an MLP twice as wide."""
    return 10 * size * size * layers


def running_parameters(layers: int, size: int, vocabulary: int) -> int:
    """Of the network as it runs: blocks, embedding and head."""
    return block_parameters(layers, size) + 2 * vocabulary * size

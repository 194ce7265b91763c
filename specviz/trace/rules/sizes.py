"""How many levels and children the header's options give a draft: read by the rules about its shape.

What the tree policies declare stands in `known_methods`.
"""

from __future__ import annotations

from specviz.errors import OptionError
from specviz.trace.events import Node
from specviz.trace.header import MethodCard
from specviz.trace.known_methods import TREE_POLICIES, KnownTreePolicy
from specviz.trace.rules import stops
from specviz.trace.rules.scene import Scene
from specviz.trace.tree_paths import Path, families, read_paths

WITHOUT = KnownTreePolicy(
    lossless=True, opens=False, even=True, in_order=True, drops=False, greedy_kind="", sampled_kind="", widest="",
    deepest="", stretches=True, fan="", beam=False, forks=False, static=False, best_first="", depth_first=False,
    notes=frozenset(),
)  # fmt: skip
"""what a drafter's own options describe"""


def widths(scene: Scene) -> list[int] | None:
    """Children per node level by level, as the header's options say; None where they say nothing of the kind."""
    card = scene.started.growth
    options = card.options if card is not None else scene.started.drafter.options
    branching = options.get("branching")
    if isinstance(branching, list) and branching:
        return branching
    if planned := planned_paths(scene):
        return [max(map(len, planned.values()))]
    if card is not None and card.name in TREE_POLICIES and (policy := TREE_POLICIES[card.name]).forks:
        return [number(card, policy.widest), *[1] * (number(card, policy.deepest) - 1)]
    length = options.get("length" if card is not None else "gamma")
    return [1] * length if isinstance(length, int) else None


def number(card: MethodCard | None, option: str) -> int:
    value = card.options.get(option, 0) if card is not None else 0
    return value if isinstance(value, int) else 0


def planned_paths(scene: Scene) -> dict[Path, list[int]] | None:
    """The children of every node of a shape that the header's tree policy lists path by path; None where it lists none,
    or nothing that can be read."""
    card = scene.started.growth
    listed = card.options.get("paths") if card is not None else None
    try:
        return families(read_paths(listed)) if isinstance(listed, str) else None
    except OptionError:
        return None


def children_due(scene: Scene, own: list[Node], policy: KnownTreePolicy, budget: int) -> dict[int, int] | None:
    """Node → how many children the options give it, as deep as a draft may be; None where they do not settle that."""
    nodes = scene.round.nodes
    if planned := planned_paths(scene):
        return _due_by_paths(own, planned, bool(budget))
    wide = widths(scene)
    if wide is None or not (policy.even or policy.forks):
        return None
    levels = stops.levels(scene)
    if levels is not None and not budget and set(wide) == {1} and policy.even:
        wide = [1] * levels
    return {node.id: wide[min(node.depth, len(wide) - 1)] if budget or node.depth < len(wide) else 0 for node in nodes}


def _due_by_paths(own: list[Node], planned: dict[Path, list[int]], stretched: bool) -> dict[int, int]:
    deepest = 1 + max(map(len, planned))
    place: dict[int, Path] = {0: ()}
    below: dict[int, int] = {}
    for node in own:
        above = place.get(node.parent, ())
        ranks = planned.get(above, [])
        taken = below.get(node.parent, 0)
        below[node.parent] = taken + 1
        place[node.id] = (*above, ranks[taken] if taken < len(ranks) else -1)
    return {node: len(planned.get(path, [])) if len(path) < deepest else int(stretched) for node, path in place.items()}

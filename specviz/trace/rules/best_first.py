"""Rules inside one round: a budget that went to the places most probably reached, by the drafter's own probabilities.

Such a place, the next child below a node, is worth the product of the probabilities down to the node and of what its
siblings have left (DySpec, 2410.11744). Called by `shapes`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Node
from specviz.trace.known_methods import KnownTreePolicy
from specviz.trace.problems import Problem
from specviz.trace.rules import stops
from specviz.trace.rules.bounds import Range
from specviz.trace.rules.scene import HALF_DIGIT, SINGLE, Scene

NOTHING = 1e-5
"""of a distribution: rounding may have taken it"""


def numbered(scene: Scene) -> Iterator[Problem]:
    """Nodes stand subtree by subtree."""
    order, stack = list[int](), [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(child.id for child in reversed(scene.children(node)))
    if order != sorted(order):
        yield Problem(f"{scene.place}.nodes", "are not numbered subtree by subtree, as their tree policy lays them out")


def left(scene: Scene, node: int, siblings: int | None = None) -> Range:
    """What a node's first children (None: all) have left of the drafter's distribution there."""
    taken = [stops.prob(scene, child) for child in scene.children(node)[:siblings]]
    return Range(1 - sum(one.high for one in taken) - SINGLE, 1 - sum(one.low for one in taken) + SINGLE).capped()


def best_first(scene: Scene, policy: KnownTreePolicy, deepest: int) -> Iterator[Problem]:
    """No place that was left out is worth more than one that was taken; without an option of that name above 0 the
    budget is spent."""
    card, nodes = scene.started.growth, scene.round.nodes
    assert card is not None, "only a tree policy declares this."
    least, budget = card.options.get(policy.best_first), card.options.get("budget")
    if not isinstance(budget, int) or not isinstance(least, (int, float)) or stops.asks(scene):
        return
    worth = _worths(scene)
    open_places = {node.id: _times(worth[node.id], left(scene, node.id)) for node in nodes if node.depth < deepest}
    taken = {node.id: _taken(scene, worth, node) for node in nodes[1:]}
    best = max(open_places, key=lambda node: open_places[node].low, default=None)
    if best is None:
        return
    spent = len(nodes) - 1 >= budget
    bar = min((one.high for one in taken.values()), default=1.0) if not least else float(least)
    if not spent and open_places[best].low > (bar if least else NOTHING) + _slack(bar):
        told = f"has no further child, but {len(nodes) - 1} of {budget} candidates were drafted"
        yield Problem(f"{scene.place}.nodes[{best}]", told)
    elif spent and not least and open_places[best].low > bar + _slack(bar):
        told = f"has no further child, but that is worth {open_places[best]}, more than a candidate that was drafted"
        yield Problem(f"{scene.place}.nodes[{best}]", told)
    for node, one in taken.items():
        if least and one.high < float(least) - _slack(bar):
            yield Problem(f"{scene.place}.nodes[{node}]", f"is worth {one}, but only what is worth {least} is drafted")


def _slack(bar: float) -> float:
    return HALF_DIGIT + SINGLE * bar


def _worths(scene: Scene) -> dict[int, Range]:
    """Node → the product of the drafter's probabilities down to it."""
    found = {0: Range(1.0, 1.0)}
    for node in scene.round.nodes[1:]:
        found[node.id] = _times(found[node.parent], stops.prob(scene, node))
    return found


def _taken(scene: Scene, worth: dict[int, Range], node: Node) -> Range:
    """What the place of a candidate was worth when it was taken."""
    before = [child.id for child in scene.children(node.parent)].index(node.id)
    return _times(worth[node.parent], left(scene, node.parent, before))


def _times(one: Range, other: Range) -> Range:
    return Range(one.low * other.low, one.high * other.high)

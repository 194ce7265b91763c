"""Rules inside one round: depth, width, number and order of a model's candidates are those of the header's options.

Whether a draft is whole is asked in `wholeness`. Called by `draft` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Node
from specviz.trace.known_methods import FROM_TARGET, TREE_POLICIES, KnownTreePolicy
from specviz.trace.rules import stops
from specviz.trace.rules.scene import Scene
from specviz.trace.rules.wholeness import WITHOUT, children_due, drafted_whole, number
from specviz.trace.structure import Problem
from specviz.trace.tree_shape import touched_tiles


def shape(scene: Scene, own: list[Node], whole: bool) -> Iterator[Problem]:
    """The candidates of one model against the options of the tree policy; `whole`: nothing else is in the tree."""
    card = scene.started.tree_policy
    policy = WITHOUT if card is None else TREE_POLICIES[card.name]
    budget = number(card, "budget")
    if 0 < budget < len(own):
        yield Problem(f"{scene.place}.nodes", f"hold {len(own)} candidates, but the budget is {budget}")
        return
    upper = next(_too_much(scene, own, policy, budget), None)
    if upper is not None:
        yield upper
    elif whole and scene.round.judged.origin != "forced":
        yield from stops.stopped(scene)
        yield from _noted(scene, policy, budget)
        yield from drafted_whole(scene, own, policy, budget)


def _too_much(scene: Scene, own: list[Node], policy: KnownTreePolicy, budget: int) -> Iterator[Problem]:
    """More levels, candidates or children than the options allow."""
    card, place = scene.started.tree_policy, f"{scene.place}.nodes"
    name = card.name if card is not None else scene.started.drafter.name
    deepest = max((node.depth for node in own), default=0)
    most = number(card, policy.deepest)
    if most and deepest > most and not (policy.stretches and budget) and stops.levels(scene) is None:
        yield Problem(place, f"reach depth {deepest}, but '{name}' ran with depth {most}")
    if (levels := stops.levels(scene)) is not None and deepest > levels:
        yield Problem(place, f"reach depth {deepest}, but the stop policy allowed {levels} levels")
    width = number(card, policy.widest)
    for level in range(1, deepest + 1):
        count = sum(node.depth == level for node in own)
        if width and count > width:
            yield Problem(place, f"hold {count} candidates at depth {level}, but '{name}' ran with width {width}")
    due = children_due(scene, own, policy, budget)
    if due is None and (fan := number(card, policy.fan)):
        due = dict.fromkeys(range(len(scene.round.nodes)), fan)
        yield from _expanded(scene, own, name, fan)
    sources = {node.source for node in own}
    for node, allowed in (due or {}).items():
        children = sum(child.source in sources for child in scene.children(node))
        if children > allowed:
            yield Problem(f"{place}[{node}]", f"has {children} children, but the options give {allowed} at its level")


def _expanded(scene: Scene, own: list[Node], name: str, width: int) -> Iterator[Problem]:
    """No more nodes of a level have children than the model was asked about."""
    for level in range(max(node.depth for node in scene.round.nodes)):
        count = len({node.parent for node in own if node.depth == level + 1})
        if count > width:
            told = f"have children below {count} nodes of depth {level}, but '{name}' ran with width {width}"
            yield Problem(f"{scene.place}.nodes", told)


def _noted(scene: Scene, policy: KnownTreePolicy, budget: int) -> Iterator[Problem]:
    """The notes that a tree policy leaves with every draft, and what they count."""
    card, nodes, note = scene.started.tree_policy, scene.round.nodes, scene.round.drafted.note
    if card is None or len(nodes) == 1:
        return
    tile, width, depth = (number(card, name) for name in ("tile", policy.widest, policy.deepest))
    due = {
        "mask_tiles": lambda: touched_tiles([node.parent for node in nodes], tile),
        "mask_tiles_all": lambda: (-(-len(nodes) // tile)) ** 2,
        "from_target": lambda: sum(node.source == FROM_TARGET for node in nodes),
        "mask_side": lambda: len(nodes),
        "mask_side_largest": lambda: 1 + (budget or width * depth),
    }
    for name in sorted(policy.notes):
        if name not in note:
            yield Problem(f"{scene.place}.drafted.note", f"lacks {name}, which '{card.name}' notes with every draft")
        elif name in due and note[name] != (counted := due[name]()):
            yield Problem(f"{scene.place}.drafted.note", f"has {name} {note[name]}, but the tree makes it {counted}")

"""Rules inside one round of a run that goes by races: every token that was drawn won at its place in the text.

A token's time follows from seed, place and token, so the winner can be recomputed from the header and the nodes' heads
as far as these name tokens: none of the named ones may have been faster. Asked of traces by this engine only, like the
uniform draws of `residuals`. Called by `check` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specviz.trace.declared_method import TREE_POLICIES
from specviz.trace.events import Node
from specviz.trace.rules.distributions import drawn_by
from specviz.trace.rules.residuals import numbered_like_nodes
from specviz.trace.rules.scene import Bounds, Scene, producer_of
from specviz.trace.structure import Problem
from specviz.trace.uniform_draws import MOST_LANES, RACE, RACES, Key, race_time

SLACK = 1.0 + 1e-6
"""probabilities were compared in single precision"""


def races_here(scene: Scene) -> bool:
    """Whether this engine drew the round's tokens by races, at a temperature above 0."""
    return scene.rule is not None and scene.rule.races and producer_of(scene.started) == "engine"


def winners(scene: Scene) -> Iterator[Problem]:
    """The target's: the tokens of the path and the last one."""
    if not races_here(scene) or scene.greedy:
        return
    judged, nodes = scene.round.judged, scene.round.nodes
    steps = [(nodes[node].parent, nodes[node].token, f"judged.path[{index}]") for index, node in enumerate(judged.path)]
    for parent, token, where in [*steps, (judged.final_node, judged.token, "judged.token")]:
        p = Bounds.of_head(nodes[parent].target)
        yield from _won(scene, f"{scene.place}.{where}", token, p, targets_key(scene, nodes[parent]))


def drafted(scene: Scene) -> Iterator[Problem]:
    """The draft's: candidates that grew level by level, each in its lane, or after the siblings that won before it.

    Policies that take siblings one by one draw them with numbers of their own."""
    tree_policy = scene.started.tree_policy
    by_levels = tree_policy is None or (tree_policy.name in TREE_POLICIES and TREE_POLICIES[tree_policy.name].even)
    if not (races_here(scene) and by_levels and numbered_like_nodes(scene)) or scene.greedy:
        return
    for node in scene.round.nodes[1:]:
        if node.kind == "point_mass" or node.source != drawn_by(scene, node.parent):
            continue
        parent = scene.round.nodes[node.parent]
        before = _before(scene.children(node.parent), node)
        lane = len(before) if node.kind == "iid" else 0
        q = Bounds.of_head(parent.draft)
        left = q if node.kind == "iid" else q.without(other.token for other in before)
        where = f"{scene.place}.nodes[{node.id}].token"
        yield from _won(scene, where, node.token, left, _key(scene, parent, lane))


def _before(siblings: Sequence[Node], node: Node) -> list[Node]:
    return [
        other for other in siblings if other.id < node.id and (other.kind, other.source) == (node.kind, node.source)
    ]


def _key(scene: Scene, parent: Node, lane: int) -> Key:
    return RACE, scene.round.base_length + parent.depth, lane


def targets_key(scene: Scene, parent: Node) -> Key:
    """Of the target's race below a node, in one lane or in all."""
    lanes = scene.started.verifier.options.get(scene.rule.lanes) if scene.rule is not None else None
    purpose, position, _ = _key(scene, parent, 0)
    if isinstance(lanes, int) and 1 <= lanes <= MOST_LANES:
        return RACES, position, lanes
    return purpose, position, 0


def _won(scene: Scene, where: str, token: int, probs: Bounds, key: Key) -> Iterator[Problem]:
    """At its most probable the token is no slower than any other named one at its least probable."""
    most = probs[token].high
    time = race_time(scene.started.seed, key, token)
    for other, there in probs.of.items():
        if other == token or there.low <= 0:
            continue
        rival = race_time(scene.started.seed, key, other)
        if most <= 0 or time / most > SLACK * rival / there.low:
            yield Problem(
                where,
                f"is token {token}, but in the race of this seed at place {key[1]} token {other} is faster than it",
            )
            return

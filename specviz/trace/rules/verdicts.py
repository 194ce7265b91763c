"""Rules inside one round: trials, path and fates tell the same story, in the order that the rule goes.

The order of the trials is data (`judged.order`). Called by `check` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod

from specviz.trace.events import Fate, Order, Trial
from specviz.trace.rules.scene import SINGLE, Scene
from specviz.trace.structure import Problem


def verdicts(scene: Scene) -> Iterator[Problem]:
    """Trials go through the tree in their order; path, final node and fates say the same as the trials."""
    judged = scene.round.judged
    tried: set[int] = set()
    for index, trial in enumerate(judged.trials):
        place = f"{scene.place}.judged.trials[{index}]"
        if trial.node in tried:
            yield Problem(f"{place}.node", f"is {trial.node}, which was tried before")
        tried.add(trial.node)
        yield from _numbers(place, trial)
    yield from _ORDERS[judged.order](scene)
    for index, node in enumerate(judged.path):
        above = judged.path[index - 1] if index else 0
        if node not in [child.id for child in scene.offered(above)]:
            yield Problem(f"{scene.place}.judged.path[{index}]", f"is {node}, which is no child of node {above}")
    end = judged.path[-1] if judged.path else 0
    if judged.final_node != end:
        yield Problem(f"{scene.place}.judged.final_node", f"is {judged.final_node}, but the path ends at {end}")
    yield from _fates(scene, tried)
    if scene.rule is not None and judged.trials and judged.order != scene.rule.order:
        told = f"is '{judged.order}', but '{judged.rule}' goes '{scene.rule.order}'"
        yield Problem(f"{scene.place}.judged.order", told)


def _fates(scene: Scene, tried: set[int]) -> Iterator[Problem]:
    """Accepted: on the path. Rejected: tried, and not on it. Unreached: never tried."""
    path = set(scene.round.judged.path)
    for node in scene.round.nodes[1:]:
        fate: Fate = "accepted" if node.id in path else "rejected" if node.id in tried else "unreached"
        if node.fate != fate:
            yield Problem(f"{scene.place}.nodes[{node.id}].fate", f"is '{node.fate}', but the trials say '{fate}'")


def _numbers(place: str, trial: Trial) -> Iterator[Problem]:
    for name in ("target_prob", "draft_prob", "threshold"):
        value = getattr(trial, name)
        if not 0 <= value <= 1 + SINGLE:
            yield Problem(f"{place}.{name}", f"is {value}, but must lie between 0 and 1")
    if trial.u is not None:
        if not 0 <= trial.u < 1:
            yield Problem(f"{place}.u", f"is {trial.u}, but a uniform draw lies in [0, 1)")
        if trial.accepted != (trial.u < trial.threshold):
            verdict = "accepted" if trial.accepted else "rejected"
            yield Problem(
                place, f"is {verdict} with u {trial.u} and threshold {trial.threshold}; accepted means u < threshold"
            )


def _top_down(scene: Scene) -> Iterator[Problem]:
    """A walk from the root: the children of each node in draw order, until one is accepted."""
    judged = scene.round.judged
    walked: list[int] = []
    for index, trial in enumerate(judged.trials):
        here = walked[-1] if walked else 0
        if trial.node not in [child.id for child in scene.offered(here)]:
            yield Problem(
                f"{scene.place}.judged.trials[{index}].node",
                f"is {trial.node}, but the walk stands at node {here}, which is not its parent",
            )
        if trial.accepted:
            walked.append(trial.node)
    if judged.path != walked:
        yield Problem(f"{scene.place}.judged.path", f"is {judged.path}, but the accepted trials are {walked}")
    end = judged.path[-1] if judged.path else 0
    for parent in (0, *judged.path):
        drawn = [child.id for child in scene.offered(parent)]
        tried = [trial.node for trial in judged.trials if trial.node in drawn]
        if tried != drawn[: len(tried)]:
            place = f"{scene.place}.judged.trials"
            yield Problem(place, f"tries the children of node {parent} as {tried}, but they were drawn as {drawn}")
        elif scene.rule is not None and parent == end and len(tried) < len(drawn):
            place = f"{scene.place}.judged.trials"
            told = f"reject {tried} below node {parent}, but never try its other children {drawn[len(tried) :]}"
            yield Problem(place, told)


def _bottom_up(scene: Scene) -> Iterator[Problem]:
    """Whole paths, leaves first: a prefix of the post-order, ended by the first accepted trial."""
    judged, nodes = scene.round.judged, scene.round.nodes
    tried = [trial.node for trial in judged.trials]
    due = _post_order(scene)
    if tried != due[: len(tried)]:
        yield Problem(f"{scene.place}.judged.trials", f"are of nodes {tried}, but from the leaves up they are {due}")
    accepted = [trial.node for trial in judged.trials if trial.accepted]
    if [trial.accepted for trial in judged.trials[:-1]].count(True):
        yield Problem(f"{scene.place}.judged.trials", f"go on after node {accepted[0]}, whose path was accepted")
    elif not accepted and len(tried) < len(due):
        yield Problem(f"{scene.place}.judged.trials", f"end at node {tried[-1:]}, but nothing was accepted yet")
    path: list[int] = []
    node = accepted[-1] if accepted else 0
    while node:
        path.insert(0, node)
        node = nodes[node].parent
    if judged.path != path:
        yield Problem(f"{scene.place}.judged.path", f"is {judged.path}, but the accepted trial ends the path {path}")


def _post_order(scene: Scene) -> list[int]:
    """Children before parents, siblings in draw order, the root left out."""
    children: dict[int, list[int]] = {}
    for node in scene.round.nodes[1:]:
        children.setdefault(node.parent, []).append(node.id)
    found: list[int] = []
    stack = [0]
    while stack:
        node_id = stack.pop()
        found.append(node_id)
        stack += children.get(node_id, [])
    return found[:0:-1]


def _longest(scene: Scene) -> Iterator[Problem]:
    """Every candidate whose parent passed is tried; the path is a longest one of those that passed."""
    judged, nodes = scene.round.judged, scene.round.nodes
    passed = {0} | {trial.node for trial in judged.trials if trial.accepted}
    due = [node.id for node in nodes[1:] if node.parent in passed]
    tried = [trial.node for trial in judged.trials]
    if sorted(tried) != due:
        yield Problem(f"{scene.place}.judged.trials", f"are of nodes {tried}, but parents passed of {due}")
    if not passed.issuperset(judged.path):
        yield Problem(f"{scene.place}.judged.path", f"is {judged.path}, but only {sorted(passed)} passed")
    deepest = max(nodes[node].depth for node in passed)
    if len(judged.path) != deepest:
        yield Problem(
            f"{scene.place}.judged.path", f"has {len(judged.path)} nodes, but a path of {deepest} nodes passed"
        )
    elif judged.path and scene.rule is not None:
        yield from _of_the_longest(scene, [node for node in passed if nodes[node].depth == deepest])


def _of_the_longest(scene: Scene, ends: list[int]) -> Iterator[Problem]:
    """Of equally long paths a rule that draws keeps the one drafted first, one that does not the most probable."""
    judged, nodes = scene.round.judged, scene.round.nodes
    if scene.rule is not None and scene.rule.draws:
        best = {min(ends)}
    else:
        worth = {end: prod(nodes[node].target_prob or 0.0 for node in scene.path_to(end) if node) for end in ends}
        best = {end for end in ends if worth[end] >= max(worth.values()) * (1 - SINGLE) - SINGLE}
    if judged.path[-1] not in best:
        told = f"is {judged.path}, but of the longest paths '{judged.rule}' keeps that to node {min(best)}"
        yield Problem(f"{scene.place}.judged.path", told)


_ORDERS: Mapping[Order, Callable[[Scene], Iterator[Problem]]] = {
    "top_down": _top_down,
    "bottom_up": _bottom_up,
    "longest": _longest,
}

"""Rules inside one round: the tree's distributions, and each node's p and q as its parent's heads show them.

Called by `check` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Node, TopK
from specviz.trace.rules.bounds import Bounds, recorded
from specviz.trace.rules.scene import HALF_DIGIT, SINGLE, Scene
from specviz.trace.structure import TOPS, Problem


def tree(scene: Scene) -> Iterator[Problem]:
    """Distributions are distributions; siblings are distinct; a node's p and q are the ones its parent shows."""
    nodes = scene.round.nodes
    for node in nodes:
        place = f"{scene.place}.nodes[{node.id}]"
        for name in TOPS:
            top = getattr(node, name)
            if top is not None:
                yield from distribution(f"{place}.{name}", top)
        if scene.greedy and node.target.tokens and node.target.probs[0] < 1 - SINGLE:
            yield Problem(
                f"{place}.target", "is spread out, but at temperature 0 it is a point mass on the largest logit"
            )
        if node.parent >= 0:
            yield from _as_parent_shows(scene, place, node, nodes[node.parent])
        yield from _siblings(scene, scene.children(node.id))


def distribution(place: str, top: TopK) -> Iterator[Problem]:
    """Probabilities in decreasing order, no token twice, and exactly the mass outside in `rest`."""
    if any(not 0 <= prob <= 1 + SINGLE for prob in (*top.probs, top.rest)):
        yield Problem(place, "holds a value outside 0 to 1, but all are probabilities")
    if any(after > before for before, after in zip(top.probs, top.probs[1:], strict=False)):
        yield Problem(f"{place}.probs", "is not in decreasing order")
    if len(set(top.tokens)) != len(top.tokens):
        yield Problem(f"{place}.tokens", "names a token twice")
    total = sum(top.probs) + top.rest
    if abs(total - 1) > (len(top.probs) + 1) * HALF_DIGIT + SINGLE:
        yield Problem(place, f"sums to {total:.8g} with its rest, but a distribution sums to 1")


def _as_parent_shows(scene: Scene, place: str, node: Node, parent: Node) -> Iterator[Problem]:
    for name in ("target_prob", "draft_prob"):
        prob = getattr(node, name)
        if prob is None:
            yield Problem(f"{place}.{name}", "is missing, but every candidate has one")
        elif not 0 <= prob <= 1 + SINGLE:
            yield Problem(f"{place}.{name}", f"is {prob}, but a probability lies between 0 and 1")
    if node.target_prob is not None:
        yield from _shown_as(f"{place}.target_prob", node.token, node.target_prob, parent.target)
    if node.kind == "point_mass":
        if node.draft_prob != 1:
            yield Problem(f"{place}.draft_prob", f"is {node.draft_prob}, but a point mass has proposal probability 1")
    elif parent.draft is not None and node.draft_prob is not None and node.source == drawn_by(scene, parent.id):
        yield from _shown_as(f"{place}.draft_prob", node.token, node.draft_prob, parent.draft)
    elif parent.draft is None and scene.keeps_heads:
        yield Problem(f"{place}.kind", f"is '{node.kind}', but its parent shows no distribution it was drawn from")


def drawn_by(scene: Scene, parent: int) -> str | None:
    """Whose distribution a node's `draft` is: that of the first drawn child; None where none was drawn."""
    return next((child.source for child in scene.children(parent) if child.kind != "point_mass"), None)


def _shown_as(place: str, token: int, prob: float, top: TopK) -> Iterator[Problem]:
    """A token of the head has the head's probability; one outside it has at most the rest and the head's last."""
    if not top.tokens:
        return
    if token in top.tokens:
        shown = recorded(top.probs[top.tokens.index(token)])
        if not shown.holds(prob):
            yield Problem(place, f"is {prob:.6g}, but its parent's distribution gives this token {shown}")
    elif not (shown := Bounds.of_head(top)[token]).holds(prob):
        yield Problem(place, f"is {prob:.6g}, but its parent's distribution leaves at most {shown.high:.6g} to it")


def _siblings(scene: Scene, siblings: list[Node]) -> Iterator[Problem]:
    seen: dict[tuple[int, str], int] = {}
    for node in siblings:
        if node.kind == "iid":
            continue
        key = (node.token, node.source)
        if key in seen:
            yield Problem(
                f"{scene.place}.nodes[{node.id}].token",
                f"is {node.token}, the same as its sibling {seen[key]}, but only i.i.d. siblings may repeat a token",
            )
        seen[key] = node.id

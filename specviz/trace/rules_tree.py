"""Rules inside one round, first part: the tree and its distributions.

Called by `check` on a structurally sound round. Knows nothing about the run around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specviz.trace.events import Node, Round, Started, TopK
from specviz.trace.known_rules import keeps_survivors
from specviz.trace.layout import rows_of
from specviz.trace.problems import Problem
from specviz.trace.structure import TOPS

MASS = 1e-4
"""how far a distribution's head and rest may miss 1"""
SOFT = 1e-4
"""how far a re-derived probability may differ: models may run in single precision"""
EXACT = 1e-9
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Scene:
    """One round with its place and the run's header."""

    place: str
    started: Started
    round: Round

    def children(self, node: int) -> list[Node]:
        return [child for child in self.round.nodes if child.parent == node]

    def rows(self) -> list[int]:
        """Per node its row in the target's pass, where nodes of the same text share one."""
        nodes = self.round.nodes
        return rows_of([node.parent for node in nodes], [node.token for node in nodes])

    def offered(self, node: int) -> list[Node]:
        """The candidates for the token after `node`: its children, and with K-SEQ those of every draft that is still
        alive there."""
        if not keeps_survivors(self.round.judged.rule, self.started.verifier.options):
            return self.children(node)
        rows = self.rows()
        return [child for child in self.round.nodes[1:] if rows[child.parent] == rows[node]]


def tree(scene: Scene) -> Iterator[Problem]:
    """Distributions are distributions; siblings are distinct; a node's p and q are the ones its parent shows."""
    nodes = scene.round.nodes
    for node in nodes:
        place = f"{scene.place}.nodes[{node.id}]"
        for name in TOPS:
            top = getattr(node, name)
            if top is not None:
                yield from distribution(f"{place}.{name}", top)
        if scene.started.sampling.temperature == 0 and node.target.tokens and node.target.probs[0] < 1 - ROUNDING:
            yield Problem(
                f"{place}.target", "is spread out, but at temperature 0 it is a point mass on the largest logit"
            )
        if node.parent >= 0:
            yield from _as_parent_shows(place, node, nodes[node.parent])
    for node in nodes:
        yield from _siblings(scene, scene.children(node.id))


def distribution(place: str, top: TopK) -> Iterator[Problem]:
    if any(not 0 <= prob <= 1 + ROUNDING for prob in (*top.probs, top.rest)):
        yield Problem(place, "holds a value outside 0 to 1, but all are probabilities")
    if any(after > before for before, after in zip(top.probs, top.probs[1:], strict=False)):
        yield Problem(f"{place}.probs", "is not in decreasing order")
    if len(set(top.tokens)) != len(top.tokens):
        yield Problem(f"{place}.tokens", "names a token twice")
    if abs(sum(top.probs) + top.rest - 1) > MASS:
        yield Problem(place, f"sums to {sum(top.probs) + top.rest:.6g} with its rest, but a distribution sums to 1")


def _as_parent_shows(place: str, node: Node, parent: Node) -> Iterator[Problem]:
    for name in ("target_prob", "draft_prob"):
        prob = getattr(node, name)
        if prob is not None and not 0 <= prob <= 1 + ROUNDING:
            yield Problem(f"{place}.{name}", f"is {prob}, but a probability lies between 0 and 1")
    if node.kind == "point_mass" and node.draft_prob != 1:
        yield Problem(f"{place}.draft_prob", f"is {node.draft_prob}, but a point mass has proposal probability 1")
    if node.target_prob is not None:
        yield from _shown_as(f"{place}.target_prob", node.token, node.target_prob, parent.target)
    if node.draft_prob is not None and node.kind != "point_mass" and parent.draft is not None:
        yield from _shown_as(f"{place}.draft_prob", node.token, node.draft_prob, parent.draft)


def _shown_as(place: str, token: int, prob: float, top: TopK) -> Iterator[Problem]:
    """A token of the head has the head's probability; one outside it has at most the rest and the head's last."""
    if not top.tokens:
        return
    if token in top.tokens:
        shown = top.probs[top.tokens.index(token)]
        if abs(prob - shown) > SOFT:
            yield Problem(place, f"is {prob:.6g}, but its parent's distribution gives this token {shown:.6g}")
    elif prob > min(top.rest, top.probs[-1]) + SOFT:
        yield Problem(
            place, f"is {prob:.6g}, but its parent's distribution leaves at most {top.rest:.6g} to this token"
        )


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

"""Rules inside one round, first half: the tree, its distributions, and how fates, trials and path agree.

Called by `check` on a structurally sound round. Knows nothing about the run around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specviz.trace.events import Fate, Node, Round, Started, TopK, Trial
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


def verdicts(scene: Scene) -> Iterator[Problem]:
    """Trials walk down the tree; path, final node and fates say the same as the trials."""
    judged, nodes = scene.round.judged, scene.round.nodes
    tried: set[int] = set()
    walked: list[int] = []
    for index, trial in enumerate(judged.trials):
        place = f"{scene.place}.judged.trials[{index}]"
        here = walked[-1] if walked else 0
        if trial.node in tried:
            yield Problem(f"{place}.node", f"is {trial.node}, which was tried before")
        if nodes[trial.node].parent != here:
            yield Problem(
                f"{place}.node", f"is {trial.node}, but the walk stands at node {here}, which is not its parent"
            )
        tried.add(trial.node)
        if trial.accepted:
            walked.append(trial.node)
        yield from _trial(place, trial, judged.rule)
    if judged.path != walked:
        yield Problem(f"{scene.place}.judged.path", f"is {judged.path}, but the accepted trials are {walked}")
    for index, node in enumerate(judged.path):
        above = judged.path[index - 1] if index else 0
        if nodes[node].parent != above:
            yield Problem(f"{scene.place}.judged.path[{index}]", f"is {node}, which is no child of node {above}")
    end = judged.path[-1] if judged.path else 0
    if judged.final_node != end:
        yield Problem(f"{scene.place}.judged.final_node", f"is {judged.final_node}, but the path ends at {end}")
    yield from _fates(scene, tried)
    if judged.rule == "sequential":
        yield from _draw_order(scene)


def _fates(scene: Scene, tried: set[int]) -> Iterator[Problem]:
    """Accepted: on the path. Rejected: tried, and not on it. Unreached: never tried."""
    path = set(scene.round.judged.path)
    for node in scene.round.nodes[1:]:
        fate: Fate = "accepted" if node.id in path else "rejected" if node.id in tried else "unreached"
        if node.fate != fate:
            yield Problem(f"{scene.place}.nodes[{node.id}].fate", f"is '{node.fate}', but the trials say '{fate}'")


def _trial(place: str, trial: Trial, rule: str) -> Iterator[Problem]:
    for name in ("target_prob", "draft_prob", "threshold"):
        value = getattr(trial, name)
        if not 0 <= value <= 1 + ROUNDING:
            yield Problem(f"{place}.{name}", f"is {value}, but must lie between 0 and 1")
    if trial.u is not None:
        if not 0 <= trial.u < 1:
            yield Problem(f"{place}.u", f"is {trial.u}, but a uniform draw lies in [0, 1)")
        if trial.accepted != (trial.u < trial.threshold):
            verdict = "accepted" if trial.accepted else "refused"
            yield Problem(
                place, f"is {verdict} with u {trial.u} and threshold {trial.threshold}; accepted means u < threshold"
            )
    if rule == "sequential":
        p, q = trial.target_prob, trial.draft_prob
        threshold = min(1.0, p / q) if q > 0 else float(p > 0)
        if abs(trial.threshold - threshold) > EXACT:
            yield Problem(f"{place}.threshold", f"is {trial.threshold}, but min(1, p/q) is {threshold}")


def _draw_order(scene: Scene) -> Iterator[Problem]:
    """The sequential rule tries siblings in the order they were drawn, and all of them until one is accepted."""
    judged = scene.round.judged
    for parent in (0, *judged.path):
        drawn = [child.id for child in scene.children(parent)]
        tried = [trial.node for trial in judged.trials if scene.round.nodes[trial.node].parent == parent]
        if tried != drawn[: len(tried)]:
            place = f"{scene.place}.judged.trials"
            yield Problem(place, f"tries the children of node {parent} as {tried}, but they were drawn as {drawn}")

"""Rules inside one round: what rejected paths leave to the paths beside and above, in block and traversal verification.

Every rejected child leaves its parent s = sum of max(0, A p − Q), from which the next sibling's p and A follow, and in
the end the correction. Called by `check` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Trial
from specviz.trace.known_rules import first_reach
from specviz.trace.problems import Problem
from specviz.trace.rules.bounds import Range
from specviz.trace.rules.residuals import Level, compare, compare_residual
from specviz.trace.rules.scene import SINGLE, Scene


def scaled_residuals(scene: Scene) -> Iterator[Problem]:
    """p, Q and A of each trial and what its rejected children left, then the correction's distribution."""
    judged, rule, nodes = scene.round.judged, scene.rule, scene.round.nodes
    if rule is None or rule.order != "bottom_up":
        return
    levels: dict[int, Level] = {}
    for index, trial in enumerate(judged.trials):
        place = f"{scene.place}.judged.trials[{index}]"
        node = nodes[trial.node]
        level = levels.setdefault(node.parent, Level(scene, nodes[node.parent]))
        if "parent_reach" not in trial.terms:
            continue
        if level.rejected and level.mass is not None:
            yield from _reach_after(place, level, trial.terms["parent_reach"], node.parent == 0)
        level.reach = trial.terms["parent_reach"]
        if rule.numbers == "scaled":
            yield from compare(place, trial, node, level)
        yield from _left(place, trial, levels.get(trial.node))
        if not trial.accepted:
            level.reject(node)
    if judged.residual_mass is not None and (last := levels.get(judged.final_node)) is not None:
        yield from compare_residual(f"{scene.place}.judged", last, judged.residual, judged.residual_mass)


def _left(place: str, trial: Trial, below: Level | None) -> Iterator[Problem]:
    """`left` of a trial is what the last rejected child left."""
    left = trial.terms.get("left")
    if left is None or below is None or below.mass is None:
        return
    if not below.mass.holds(left):
        yield Problem(f"{place}.terms", f"have left {left:.6g}, but the nodes give {below.mass}")
    if abs(below.reach - trial.terms.get("reach", first_reach(trial))) > SINGLE:
        yield Problem(f"{place}.terms", "have another reach than the rejected children were told")


def _reach_after(place: str, level: Level, told: float, root: bool) -> Iterator[Problem]:
    """A after a rejected child is s / (s + 1 − A); the root's stays 1."""
    if root or level.mass is None:
        return
    low, high = (mass / (mass + 1 - level.reach) if mass + 1 > level.reach else 1.0 for mass in level.mass)
    if not Range(low, high).holds(told):
        yield Problem(f"{place}.terms", f"have parent_reach {told:.6g}, but the nodes give {Range(low, high)}")

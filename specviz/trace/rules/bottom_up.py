"""Rules inside one round: what rejected paths leave to the paths beside and above, in block and traversal verification.

Every rejected child leaves its parent s = sum of max(0, A p − Q), from which the next sibling's p and A follow, and in
the end the correction. Called by `check` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Trial
from specviz.trace.known_rules import first_reach
from specviz.trace.problems import Problem
from specviz.trace.rules.bounds import ANYTHING, Range
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
        yield from _handed_down(place, trial.terms["parent_reach"], _reach(scene, levels, node.parent))
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


def _handed_down(place: str, told: float, due: Range) -> Iterator[Problem]:
    if not due.holds(told):
        yield Problem(f"{place}.terms", f"have parent_reach {told:.6g}, but the nodes give {due}")


def _reach(scene: Scene, levels: dict[int, Level], node_id: int) -> Range:
    """A of a node as its next child is tried: min(1, A p/Q) on the way down from the root, where it is 1, and
    s / (s + 1 − A) once children were rejected, s being what the last of them left."""
    if node_id == 0:
        return Range(1.0, 1.0)
    level = levels.get(node_id)
    if level is not None and level.rejected:
        return ANYTHING if level.mass is None else _over(level.mass, level.mass, level.reach)
    node = scene.round.nodes[node_id]
    above = levels.setdefault(node.parent, Level(scene, scene.round.nodes[node.parent]))
    q, reached = above.proposal(node)[node.token], _reached(scene, levels, above, node.token)
    return Range(reached.low / q.high if q.high > 0 else 0.0, reached.high / q.low if q.low > 0 else 1.0).capped()


def _reached(scene: Scene, levels: dict[int, Level], above: Level, token: int) -> Range:
    """A p of a token below a node. After rejected siblings p is (A p − Q) / s and A is s / (s + 1 − A), so that s,
    which heads may leave wide, cancels."""
    if above.rejected and above.mass is not None:
        return _over(above.unscaled[token], above.mass, above.reach)
    reach, p = _reach(scene, levels, above.parent.id), above.left[token]
    return Range(reach.low * p.low, reach.high * p.high)


def _over(part: Range, left: Range, reach: float) -> Range:
    """part / (s + 1 − A); 0/0 is 1."""
    low, high = left.low + 1 - reach, left.high + 1 - reach
    if part is left:  # s / (s + 1 − A) rises with s
        return Range(left.low / low if low > 0 else 0.0, left.high / high if high > 0 else 1.0).capped()
    return Range(part.low / high if high > 0 else 0.0, part.high / low if low > 0 else 1.0).capped()

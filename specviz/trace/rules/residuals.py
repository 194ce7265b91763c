"""Rules inside one round: the p and Q of every trial, carried through what rejected candidates leave of the target.

Re-derived from the nodes' heads as ranges, so that a stored number is contradicted wherever the heads determine it.
Called by `check` on a structurally sound round.

So is every uniform draw u: the one that belongs to the seed, and what was drawn follows from it. The same seed gives
the same u for the same decision, so u can be recomputed from the header alone. That is asked of traces by this engine
(and its simulations) only: others may number their decisions differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from specviz.trace.declared_method import DRAFTERS, TREE_POLICIES
from specviz.trace.declared_rule import first_reach
from specviz.trace.events import Node, TopK, Trial
from specviz.trace.rules.distributions import drawn_by
from specviz.trace.rules.scene import ANYTHING, SINGLE, Bounds, Range, Scene, producer_of
from specviz.trace.structure import Problem
from specviz.trace.uniform_draws import Key, uniform


@dataclass
class Level:
    """The children of one node while they are tried: what the rejected ones have left of the target there."""

    scene: Scene
    parent: Node
    rejected: list[Node] = field(default_factory=list)
    mass: Range | None = None
    """left over by the last rejected child; None: nothing was rejected"""
    reach: float = 1.0
    """A: by how much the target is scaled before a rejected candidate is subtracted (bottom-up rules)"""
    _left: Bounds | None = None
    unscaled: Bounds = field(default_factory=Bounds)
    """what the last rejected child left, before it was normalised"""

    @property
    def left(self) -> Bounds:
        """The target's distribution after the rejected children."""
        if self._left is None:
            probs = {child.token: child.target_prob for child in self.children if child.target_prob is not None}
            self._left = Bounds.of_head(self.parent.target, probs)
        return self._left

    @property
    def children(self) -> list[Node]:
        return self.scene.offered(self.parent.id)

    @cached_property
    def _drawn_from(self) -> tuple[str | None, Bounds]:
        """Whose the recorded proposal is, and the proposal."""
        source = drawn_by(self.scene, self.parent.id)
        drawn = [child for child in self.children if child.kind != "point_mass" and child.source == source]
        probs = {child.token: child.draft_prob for child in drawn if child.draft_prob is not None}
        return source, Bounds.of_head(self.parent.draft if drawn else None, probs)

    def proposal(self, child: Node) -> Bounds:
        """Q of a child after the rejected ones: what it was really drawn from."""
        if child.kind == "point_mass":
            return Bounds.of_point(child.token)
        source, q = self._drawn_from
        if child.source != source:
            return Bounds()
        if child.kind == "iid":
            return q
        return q.without(other.token for other in self.rejected if (other.kind, other.source) == (child.kind, source))

    def reject(self, child: Node) -> None:
        """max(0, A p − Q), normalised, is what the next one is tried against."""
        left, mass = self.left.minus(self.proposal(child), self.reach)
        nothing = mass.low <= 0.0  # then the whole target may have been kept instead (p equals Q up to rounding)
        self._left = Bounds() if nothing else left.over(mass)
        self.unscaled = left
        self.mass = mass
        self.rejected.append(child)

    def leaves(self, head: TopK, mass: float) -> Iterator[str]:
        """What is wrong with a recorded distribution of this mass as that which the rejected children leave."""
        if not self.rejected or mass <= SINGLE:
            return  # nothing is left but rounding errors, or the target itself
        yield from unlike(head, self.unscaled.over(Range(mass * (1 - SINGLE), mass * (1 + SINGLE))))


def unlike(head: TopK, bounds: Bounds) -> Iterator[str]:
    """What contradicts the bounds in a recorded head, in words."""
    for token, prob in zip(head.tokens, head.probs, strict=True):
        if not bounds[token].holds(prob):
            yield f"gives token {token} {prob:.6g}, but the nodes leave it {bounds[token]}"
            return
    least = head.probs[-1] if head.tokens else 1.0
    named = set(head.tokens)
    for token, there in bounds.of.items():
        bound = min(least, head.rest)
        if token not in named and not Range(0.0, bound).holds(there.low):
            yield f"has token {token} outside its head, but the nodes leave it {there}"
            return


def adjusted(scene: Scene) -> Iterator[Problem]:
    """The p and Q of each trial of a known rule, re-derived from the nodes as far as their heads determine them."""
    rule = scene.rule
    if rule is None or rule.numbers == "scaled":
        return
    levels: dict[int, Level] = {}
    for index, trial in enumerate(scene.round.judged.trials):
        node = scene.round.nodes[trial.node]
        fresh = rule.numbers == "plain"
        parent = scene.level_of(node)
        level = levels.setdefault(parent, Level(scene, scene.round.nodes[parent]))
        yield from compare(f"{scene.place}.judged.trials[{index}]", trial, node, level)
        if not trial.accepted and not fresh:
            level.reject(node)


def compare(where: str, trial: Trial, node: Node, level: Level) -> Iterator[Problem]:
    """A trial's p and Q against what the level says."""
    for name, stated, derived in (
        ("draft_prob", trial.draft_prob, level.proposal(node)[node.token]),
        ("target_prob", trial.target_prob, level.left[node.token]),
    ):
        if not derived.holds(stated):
            yield Problem(f"{where}.{name}", f"is {stated:.6g}, but the nodes give {derived}")


def residual(scene: Scene) -> Iterator[Problem]:
    """The correction's distribution and its mass are what the rejected candidates leave."""
    judged, rule, where = scene.round.judged, scene.rule, f"{scene.place}.judged"
    yield from _given(scene)
    if rule is None or rule.numbers != "residual" or judged.residual_mass is None:
        return
    level = Level(scene, scene.round.nodes[judged.final_node])
    for trial in rejected_below(scene, judged.final_node):
        level.reject(scene.round.nodes[trial.node])
    yield from compare_residual(where, level, judged.residual, judged.residual_mass)


def compare_residual(where: str, level: Level, head: TopK | None, mass: float) -> Iterator[Problem]:
    """A recorded residual and its mass against what the level leaves."""
    if level.mass is not None and not level.mass.holds(mass):
        yield Problem(f"{where}.residual_mass", f"is {mass:.6g}, but the nodes leave {level.mass}")
    elif head is not None:
        for stated in level.leaves(head, mass):
            yield Problem(f"{where}.residual", stated)


def _given(scene: Scene) -> Iterator[Problem]:
    """Residual and mass are there where the rule subtracts something, and nowhere else."""
    judged, rule, where = scene.round.judged, scene.rule, f"{scene.place}.judged"
    mass = judged.residual_mass
    if mass is not None and not 0 <= mass <= 1 + SINGLE:
        yield Problem(f"{where}.residual_mass", f"is {mass}, but must lie between 0 and 1")
    if judged.residual is not None and mass is None:
        yield Problem(f"{where}.residual_mass", "is missing, but a residual is given")
    if rule is None:
        return
    due = judged.origin == "correction" and rule.subtracts
    if due and mass is None:
        yield Problem(f"{where}.residual_mass", f"is missing, but '{judged.rule}' draws a correction from what is left")
    if due and scene.keeps_heads and judged.residual is None:
        yield Problem(f"{where}.residual", f"is missing, but '{judged.rule}' draws a correction from what is left")
    if not due and mass is not None:
        yield Problem(f"{where}.residual_mass", f"is {mass}, but '{judged.rule}' subtracts nothing here")


def rejected_below(scene: Scene, node: int) -> Sequence[Trial]:
    """Trials of the node's children that were rejected, in order."""
    below = {child.id for child in scene.offered(node)}
    return [trial for trial in scene.round.judged.trials if trial.node in below and not trial.accepted]


def scaled_residuals(scene: Scene) -> Iterator[Problem]:
    """p, Q and A of each trial and what its rejected children left, then the correction's distribution."""
    judged, rule, nodes = scene.round.judged, scene.rule, scene.round.nodes
    if rule is None or rule.order != "bottom_up":
        return
    levels: dict[int, Level] = {}
    for index, trial in enumerate(judged.trials):
        where = f"{scene.place}.judged.trials[{index}]"
        node = nodes[trial.node]
        level = levels.setdefault(node.parent, Level(scene, nodes[node.parent]))
        if "parent_reach" not in trial.terms:
            continue
        yield from _handed_down(where, trial.terms["parent_reach"], _reach(scene, levels, node.parent))
        level.reach = trial.terms["parent_reach"]
        if rule.numbers == "scaled":
            yield from compare(where, trial, node, level)
        yield from _left(where, trial, levels.get(trial.node))
        if not trial.accepted:
            level.reject(node)
    if judged.residual_mass is not None and (last := levels.get(judged.final_node)) is not None:
        yield from compare_residual(f"{scene.place}.judged", last, judged.residual, judged.residual_mass)


def _left(where: str, trial: Trial, below: Level | None) -> Iterator[Problem]:
    """`left` of a trial is what the last rejected child left."""
    left = trial.terms.get("left")
    if left is None or below is None or below.mass is None:
        return
    if not below.mass.holds(left):
        yield Problem(f"{where}.terms", f"have left {left:.6g}, but the nodes give {below.mass}")
    if abs(below.reach - trial.terms.get("reach", first_reach(trial))) > SINGLE:
        yield Problem(f"{where}.terms", "have another reach than the rejected children were told")


def _handed_down(where: str, stated: float, due: Range) -> Iterator[Problem]:
    if not due.holds(stated):
        yield Problem(f"{where}.terms", f"have parent_reach {stated:.6g}, but the nodes give {due}")


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


def uniforms(scene: Scene) -> Iterator[Problem]:
    """u of every trial and of the last token against seed and key."""
    judged, seed, where = scene.round.judged, scene.started.seed, f"{scene.place}.judged"
    if producer_of(scene.started) == "other":
        return
    for index, trial in enumerate(judged.trials):
        if trial.u is not None and trial.u != (due := uniform(seed, _trial_key(scene, trial.node))):
            yield Problem(f"{where}.trials[{index}].u", f"is {trial.u}, but seed {seed} gives {due} there")
    if judged.u is not None and judged.u != (due := uniform(seed, _last_key(scene))):
        yield Problem(f"{where}.u", f"is {judged.u}, but seed {seed} gives {due} there")


def _trial_key(scene: Scene, node: int) -> Key:
    if producer_of(scene.started) == "simulation":
        return ("simulated", scene.round.index, node)
    return ("accept", scene.round.base_length, node)


def _last_key(scene: Scene) -> Key:
    if producer_of(scene.started) == "simulation":
        return ("simulated", scene.round.index, 0)
    return ("target", scene.round.base_length + len(scene.round.judged.path), 0)


def needed(scene: Scene) -> Iterator[Problem]:
    """u is there where a known rule needs one, and nowhere else.

    The last token of another engine may lack it: `torch.multinomial`, for one, draws by a race of exponentials, in
    which no single uniform number picks the token.
    """
    judged, rule, where = scene.round.judged, scene.rule, f"{scene.place}.judged"
    if judged.origin == "forced":
        if judged.u is not None:
            yield Problem(f"{where}.u", "is given, but a forced token is not drawn")
        return
    if rule is None:
        return
    for index, trial in enumerate(judged.trials):
        if (trial.u is not None) != rule.compares:
            said = "is missing" if rule.compares else f"is {trial.u}"
            does = "compares one with the threshold" if rule.compares else "needs none"
            yield Problem(f"{where}.trials[{index}].u", f"{said}, but '{judged.rule}' {does}")
    if judged.u is None and producer_of(scene.started) == "other":
        return
    one_number = rule.draws and not rule.races
    if (judged.u is not None) != one_number:
        said = "is missing" if one_number else f"is {judged.u}"
        does = "draws the last token" if one_number else "draws no number for the last token"
        yield Problem(f"{where}.u", f"{said}, but '{judged.rule}' {does}")


def last_drawn(scene: Scene) -> Iterator[Problem]:
    """The last token lies where its u points to in the distribution it was drawn from (inverse-CDF, ids in order)."""
    judged = scene.round.judged
    if judged.u is None or producer_of(scene.started) != "engine":
        return
    head = judged.residual or scene.round.nodes[judged.final_node].target
    yield from _points_to(f"{scene.place}.judged.token", judged.token, judged.u, Bounds.of_head(head))


def followed(scene: Scene) -> Iterator[Problem]:
    """The naive rule draws the target's token at every visited node and follows it: each must lie where u points."""
    judged, nodes, seed = scene.round.judged, scene.round.nodes, scene.started.seed
    if judged.rule != "naive" or producer_of(scene.started) != "engine":
        return
    for index, node in enumerate(judged.path):
        u = uniform(seed, ("target", scene.round.base_length + nodes[node].depth - 1, 0))
        bounds = Bounds.of_head(nodes[nodes[node].parent].target)
        yield from _points_to(f"{scene.place}.judged.path[{index}]", nodes[node].token, u, bounds)


def candidates(scene: Scene) -> Iterator[Problem]:
    """Drawn candidates lie where their u points to, where the draws of a round are numbered like its nodes."""
    if producer_of(scene.started) != "engine" or not numbered_like_nodes(scene) or (scene.rule and scene.rule.races):
        return
    begun = scene.started.branch.round if scene.started.branch is not None else 0
    for node in scene.round.nodes[1:]:
        if node.kind == "point_mass" or node.source != drawn_by(scene, node.parent):
            continue
        u = uniform(scene.started.seed, ("draft", begun + scene.round.index, node.id - 1))
        where = f"{scene.place}.nodes[{node.id}].token"
        yield from _points_to(where, node.token, u, _proposal(scene, node))


def numbered_like_nodes(scene: Scene) -> bool:
    """Whether the n-th node is the n-th draw of its round. Without a tree policy drafters that draw go level by
    level; what they found elsewhere comes after all they drew."""
    drafter, tree_policy = DRAFTERS.get(scene.started.drafter.name), scene.started.tree_policy
    if drafter is None or not drafter.draws:
        return False
    return tree_policy is None or (tree_policy.name in TREE_POLICIES and TREE_POLICIES[tree_policy.name].in_order)


def _proposal(scene: Scene, node: Node) -> Bounds:
    """What a candidate was drawn from: its parent's q, less the siblings drawn before it without replacement."""
    q = Bounds.of_head(scene.round.nodes[node.parent].draft)
    if node.kind == "iid":
        return q
    siblings = scene.children(node.parent)
    return q.without(
        other.token
        for other in siblings
        if other.id < node.id and (other.kind, other.source) == (node.kind, node.source)
    )


def _points_to(where: str, token: int, u: float, bounds: Bounds) -> Iterator[Problem]:
    below, own = bounds.total_below(token), bounds[token]
    if not below.low - SINGLE <= u < below.high + own.high + SINGLE:
        yield Problem(
            where,
            f"is token {token}, drawn by a u from {below.low:.6g} to {below.high + own.high:.6g} at most, but u is {u}",
        )

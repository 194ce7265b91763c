"""Rules inside one round: every uniform draw u is the one that belongs to the seed, and what was drawn follows from it.

The same seed gives the same u for the same decision, so u can be recomputed from the header alone. Called by `check` on
a structurally sound round, and asked of traces by this engine (and its simulations) only: others may number their
decisions differently.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.declared_method import DRAFTERS, TREE_POLICIES
from specviz.trace.events import Node
from specviz.trace.rules.distributions import drawn_by
from specviz.trace.rules.scene import SINGLE, Bounds, Scene, producer_of
from specviz.trace.structure import Problem
from specviz.trace.uniform_draws import Key, uniform


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
    if (judged.u is not None) != rule.draws:
        said = "is missing" if rule.draws else f"is {judged.u}"
        does = "draws the last token" if rule.draws else "takes the most probable token"
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
    if producer_of(scene.started) != "engine" or not numbered_like_nodes(scene):
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

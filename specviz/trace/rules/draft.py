"""Rules inside one round: the tree is one that this drafter, tree policy and options make, judged by a rule that may.

Depth, width, number and order of a model's candidates are those of the header's options; whether a draft is whole is
asked in `wholeness`. What is known of the methods stands in `declared_method` and `declared_rule`, from their own
declarations. Called by `check` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from specviz.trace.declared_method import (
    FALLBACK,
    FROM_TARGET,
    TREE_POLICIES,
    KnownDrafter,
    KnownTreePolicy,
    known_drafter,
)
from specviz.trace.events import Node
from specviz.trace.header import MethodCard
from specviz.trace.rules import stops
from specviz.trace.rules.scene import Scene, recorded
from specviz.trace.rules.stops import room_below
from specviz.trace.rules.wholeness import WITHOUT, children_due, drafted_whole, number, widths
from specviz.trace.structure import Problem
from specviz.trace.tree_shape import touched_tiles


def candidates(scene: Scene) -> Iterator[Problem]:
    """Sources, kinds and sizes are those of the header's methods."""
    started, nodes = scene.started, scene.round.nodes
    yield from _judged(scene)
    drafter, tree_policy = known_drafter(started.drafter), started.tree_policy
    policy = TREE_POLICIES.get(tree_policy.name) if tree_policy is not None else None
    if drafter is None or (tree_policy is not None and policy is None):
        return
    sources = drafter.sources | ({FROM_TARGET} if policy is not None and policy.opens else set())
    kind = _drawn_kind(scene)
    for node in nodes[1:]:
        where = f"{scene.place}.nodes[{node.id}]"
        if node.source not in sources:
            stated = f"is '{node.source}', but '{started.drafter.name}' marks its candidates {_listed(sources)}"
            yield Problem(f"{where}.source", stated)
        elif drafter.draws and node.source not in drafter.found and kind is not None and node.kind != kind:
            yield Problem(f"{where}.kind", f"is '{node.kind}', but by the header's options it is drawn as '{kind}'")
        elif drafter.hybrid and node.source == FALLBACK:
            continue  # drawn by the model, in the way that its kind says
        elif drafter.evenly:
            yield from _evenly(scene, where, node)
        elif (not drafter.draws or node.source in drafter.found) and node.kind != "point_mass":
            stated = f"is '{node.kind}', but what '{started.drafter.name}' does not draw are point masses"
            yield Problem(f"{where}.kind", stated)
    yield from _bounded(scene, started.drafter, drafter)
    if drafter.reaches or drafter.leaves:
        yield from _paths(scene, started.drafter, drafter)
    yield from _riding(scene, drafter)
    drafted = [node for node in nodes[1:] if node.source not in drafter.found]
    if drafter.draws and drafter.merged:
        for source in sorted({node.source for node in drafted}):
            yield from shape(scene, [node for node in drafted if node.source == source], whole=False)
    elif drafter.draws:
        yield from shape(scene, drafted, whole=not drafter.found)


def _evenly(scene: Scene, where: str, node: Node) -> Iterator[Problem]:
    """A candidate that any other token was as likely as: the i.i.d. draw of a q of 1/V."""
    name, size = scene.started.drafter.name, scene.started.target.vocab_size
    if node.kind != "iid":
        yield Problem(f"{where}.kind", f"is '{node.kind}', but '{name}' draws its candidates as 'iid'")
    elif node.draft_prob is not None and not recorded(node.draft_prob).holds(1 / size):
        stated = f"is {node.draft_prob:.6g}, but '{name}' draws each of {size} tokens with probability {1 / size:.6g}"
        yield Problem(f"{where}.draft_prob", stated)


def _listed(names: Sequence[str] | frozenset[str]) -> str:
    return " or ".join(f"'{name}'" for name in sorted(names)) or "with nothing: it drafts nothing"


def _judged(scene: Scene) -> Iterator[Problem]:
    """The rule is the header's verifier, and may judge these candidates at this temperature."""
    judged, rule, verifier = scene.round.judged, scene.rule, scene.started.verifier
    if judged.origin == "forced":
        return
    if judged.rule != verifier.name:
        yield Problem(f"{scene.place}.judged.rule", f"is '{judged.rule}', but the run's verifier is '{verifier.name}'")
    if rule is None:
        return
    if rule.greedy and not scene.greedy:
        yield Problem(f"{scene.place}.judged.rule", f"is '{judged.rule}', which judges at temperature 0 only")
    for node in scene.round.nodes[1:]:
        if node.kind not in rule.judges:
            stated = f"is '{node.kind}', which '{judged.rule}' does not judge"
            yield Problem(f"{scene.place}.nodes[{node.id}].kind", stated)
    if rule.chains and any(len(family) > 1 for family in scene.families):
        yield Problem(f"{scene.place}.nodes", f"hold siblings, but '{judged.rule}' judges chains only")


def _drawn_kind(scene: Scene) -> str | None:
    """How the header says the model's candidates are drawn; None where the options do not say."""
    tree_policy, options = scene.started.tree_policy, scene.started.drafter.options
    policy = TREE_POLICIES.get(tree_policy.name) if tree_policy is not None else None
    if policy is not None and (settled := policy.greedy_kind if scene.greedy else policy.sampled_kind):
        return settled
    draw = (tree_policy.options if tree_policy is not None else options).get("draw")
    if draw != "auto":
        return {"iid": "iid", "without_replacement": "without_replacement", "top_k": "point_mass"}.get(str(draw))
    if scene.greedy:
        return "point_mass"
    return "iid" if max(widths(scene) or [1]) == 1 else "without_replacement"


def _bounded(scene: Scene, card: MethodCard, drafter: KnownDrafter) -> Iterator[Problem]:
    drafted, depth = len(scene.round.nodes) - 1, max(node.depth for node in scene.round.nodes)
    bounds = [
        (drafter.most, card.options.get(drafter.most), drafted, "candidates"),
        (drafter.deepest, card.options.get(drafter.deepest), depth, "levels"),
        (drafter.slots, scene.round.drafted.note.get(drafter.slots), depth, "levels"),
    ]
    for name, bound, value, what in bounds:
        if isinstance(bound, int) and value > bound:
            stated = f"hold {value} {what}, but '{card.name}' ran with {name} {bound}"
            yield Problem(f"{scene.place}.nodes", stated)


def _paths(scene: Scene, card: MethodCard, drafter: KnownDrafter) -> Iterator[Problem]:
    """No more ends than the options allow, and none before its time."""
    ends = [node for node in scene.round.nodes[1:] if not scene.children(node.id)]
    most, depth = card.options.get(drafter.leaves), card.options.get(drafter.deepest)
    if isinstance(most, int) and len(ends) > most:
        stated = f"have {len(ends)} ends, but '{card.name}' ran with {drafter.leaves} {most}"
        yield Problem(f"{scene.place}.nodes", stated)
    if drafter.reaches and isinstance(depth, int):
        due = min(depth, room_below(scene))
        for node in ends:
            if node.depth < due and not _copied_out(scene, node):
                stated = f"ends at depth {node.depth}, but '{card.name}' ran with {drafter.deepest} {depth}"
                yield Problem(f"{scene.place}.nodes[{node.id}]", stated)


def _copied_out(scene: Scene, node: Node) -> bool:
    """Whether a copy of the text ends with this candidate however long it may be: with the end of a text, or before a
    special token that is none, such as the mark of a chat template."""
    started = scene.started
    ends = {*started.eos_ids}
    marks = {*started.tokenizer.special_ids} - ends
    followed = any(token == node.token and after in marks for token, after in pairwise(scene.text))
    return node.kind == "point_mass" and (node.token in ends or followed)


def _riding(scene: Scene, drafter: KnownDrafter) -> Iterator[Problem]:
    """What counts as no draft is what the drafter marks so: all of it, or, by engines before that mark, none."""
    marked = set(scene.round.drafted.riding)
    rides = {node.id for node in scene.round.nodes if drafter.riding and node.source == drafter.riding}
    if marked and marked != rides:
        stated = (
            f"names {sorted(marked)}, but those of '{drafter.riding}' are {sorted(rides)}"
            if rides
            else (f"names {sorted(marked)}, but all candidates of '{scene.started.drafter.name}' are drafts")
        )
        yield Problem(f"{scene.place}.drafted.riding", stated)


def shape(scene: Scene, drafted: list[Node], whole: bool) -> Iterator[Problem]:
    """The candidates of one model against the options of the tree policy; `whole`: nothing else is in the tree."""
    card = scene.started.tree_policy
    policy = WITHOUT if card is None else TREE_POLICIES[card.name]
    budget = number(card, "budget")
    if 0 < budget < len(drafted):
        yield Problem(f"{scene.place}.nodes", f"hold {len(drafted)} candidates, but the budget is {budget}")
        return
    upper = next(_too_much(scene, drafted, policy, budget), None)
    if upper is not None:
        yield upper
    elif whole and scene.round.judged.origin != "forced":
        yield from stops.stopped(scene)
        yield from _noted(scene, policy, budget)
        yield from drafted_whole(scene, drafted, policy, budget)


def _too_much(scene: Scene, drafted: list[Node], policy: KnownTreePolicy, budget: int) -> Iterator[Problem]:
    """More levels, candidates or children than the options allow."""
    card, where = scene.started.tree_policy, f"{scene.place}.nodes"
    name = card.name if card is not None else scene.started.drafter.name
    deepest = max((node.depth for node in drafted), default=0)
    most = number(card, policy.deepest)
    levels = stops.levels(scene, drafted)
    if most and deepest > most and not (policy.stretches and budget) and levels is None:
        yield Problem(where, f"reach depth {deepest}, but '{name}' ran with depth {most}")
    if levels is not None and deepest > levels:
        yield Problem(where, f"reach depth {deepest}, but the stop policy allowed {levels} levels")
    width = number(card, policy.widest)
    for level in range(1, deepest + 1):
        count = sum(node.depth == level for node in drafted)
        if width and count > width:
            yield Problem(where, f"hold {count} candidates at depth {level}, but '{name}' ran with width {width}")
    due = children_due(scene, drafted, policy, budget)
    if due is None and (fan := number(card, policy.fan)):
        due = dict.fromkeys(range(len(scene.round.nodes)), fan)
        yield from _expanded(scene, drafted, name, fan)
    sources = {node.source for node in drafted}
    for node, allowed in (due or {}).items():
        children = sum(child.source in sources for child in scene.children(node))
        if children > allowed:
            yield Problem(f"{where}[{node}]", f"has {children} children, but the options give {allowed} at its level")


def _expanded(scene: Scene, drafted: list[Node], name: str, width: int) -> Iterator[Problem]:
    """No more nodes of a level have children than the model was asked about."""
    for level in range(max(node.depth for node in scene.round.nodes)):
        count = len({node.parent for node in drafted if node.depth == level + 1})
        if count > width:
            stated = f"have children below {count} nodes of depth {level}, but '{name}' ran with width {width}"
            yield Problem(f"{scene.place}.nodes", stated)


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

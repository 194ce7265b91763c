"""Rules about whole drafts: what could be drafted was drafted and submitted, or the text is biased.

How many children a node is to have stands in `sizes`, where a draft may end early in `stops`. Called by `shapes` on a
structurally sound round, and by `check` on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specviz.trace.events import Node
from specviz.trace.known_methods import FROM_TARGET, TREE_POLICIES, KnownTreePolicy, known_drafter
from specviz.trace.problems import Problem
from specviz.trace.rules import best_first, stops
from specviz.trace.rules.scene import SINGLE, Scene
from specviz.trace.rules.sizes import children_due, number
from specviz.trace.tree_paths import Path


def drafted_whole(scene: Scene, own: list[Node], policy: KnownTreePolicy, budget: int) -> Iterator[Problem]:
    """What could be drafted was drafted and submitted, or the text is biased, and the options are others."""
    deepest = stops.deepest(scene)
    if policy.depth_first:
        yield from best_first.numbered(scene)
    if policy.best_first:
        yield from best_first.best_first(scene, policy, deepest)
    elif policy.fan:
        yield from _kept(scene, own, policy, budget)
    elif policy.beam:
        yield from _beam(scene, own, policy, budget, deepest)
    else:
        due = children_due(scene, own, policy, budget)
        if due is not None and budget:
            due = _allotted(scene, due, deepest, budget, by_node=not (policy.even or policy.forks))
        yield from _filled(scene, due, deepest)


def _allotted(scene: Scene, due: dict[int, int], deepest: int, budget: int, by_node: bool) -> dict[int, int]:
    """What a budget leaves of the children that nodes are to have. Of a level it is settled before anything is drawn
    there; `by_node`: before each node's are."""
    found, level = dict.fromkeys(due, 0), [0]
    while level and (drafted := len(_down_to(scene, level)) - 1) < budget:
        asked = [node for node in level if scene.round.nodes[node].depth < deepest and _is_asked(scene, node)]
        left = budget - drafted
        for node in asked:
            found[node] = min(due[node], left)
            left -= len(scene.children(node)) if by_node else found[node]
        level = [child.id for node in level for child in scene.children(node)]
    return found


def _down_to(scene: Scene, level: list[int]) -> list[Node]:
    depth = scene.round.nodes[level[0]].depth
    return [node for node in scene.round.nodes if node.depth <= depth]


def _filled(scene: Scene, due: dict[int, int] | None, deepest: int) -> Iterator[Problem]:
    for node, wanted in (due or {}).items():
        parent = scene.round.nodes[node]
        if parent.depth >= deepest or not _is_asked(scene, node):
            continue
        children = len(scene.children(node))
        if children < min(wanted, _support(scene, parent)):
            told = f"has {children} children, but the options give {wanted} at its level"
            yield Problem(f"{scene.place}.nodes[{node}]", told)


def _is_asked(scene: Scene, node: int) -> bool:
    """Whether it is certain that candidates are drawn below a node; no stop policy is asked about a first level of the
    target's own."""
    opened = node == 0 and any(child.source == FROM_TARGET for child in scene.children(0))
    return opened or stops.goes_on(scene, node) is True


def _support(scene: Scene, parent: Node) -> int:
    """More than a distribution holds cannot be drawn without replacement."""
    if parent.draft is not None and parent.draft.rest <= SINGLE and not scene.greedy:
        return len(parent.draft.tokens)
    return scene.started.target.vocab_size


def _kept(scene: Scene, own: list[Node], policy: KnownTreePolicy, budget: int) -> Iterator[Problem]:
    """So many of those scored are kept as the budget says, and `fan` were scored below every node asked about."""
    scored, fan = scene.round.drafted.note.get("scored"), number(scene.started.growth, policy.fan)
    passes = scene.round.drafted.passes
    if isinstance(scored, int) and len(own) != min(budget, scored):
        told = f"hold {len(own)} candidates, but of {scored} scored ones {min(budget, scored)} are kept"
        yield Problem(f"{scene.place}.nodes", told)
    if not passes or any(one.depth is None for one in passes) or stops.asks(scene):
        return
    asked = 1 + sum(one.rows for one in passes[1:])
    if isinstance(scored, int) and fan <= scene.started.target.vocab_size and scored != fan * asked:
        told = f"has scored {scored}, but {fan} below each of {asked} nodes make {fan * asked}"
        yield Problem(f"{scene.place}.drafted.note", told)


def _beam(scene: Scene, own: list[Node], policy: KnownTreePolicy, budget: int, deepest: int) -> Iterator[Problem]:
    """Every level is as wide as the beam, while the level above has anything left to draw."""
    if stops.asks(scene):
        return
    card, total = scene.started.growth, 0
    width, depth = number(card, policy.widest), number(card, policy.deepest)
    for level in range(1, deepest + 1):
        wanted = min(width, budget - total) if budget else width
        if wanted <= 0 or (level > depth and not budget):
            return
        count = sum(node.depth == level for node in own)
        above = [node for node in scene.round.nodes if node.depth == level - 1]
        if count < wanted and any(best_first.left(scene, node.id).low > best_first.NOTHING for node in above):
            told = f"hold {count} candidates at depth {level}, but a beam of {width} has {wanted} there"
            yield Problem(f"{scene.place}.nodes", told)
            return
        total += count


def alike(rounds: Sequence[Scene]) -> Iterator[Problem]:
    """A shape that is planned once is the same in every round, as far as a draft may be deep and has tokens to draw."""
    card = rounds[0].started.growth if rounds else None
    drafter = known_drafter(rounds[0].started.drafter) if rounds else None
    if drafter is None or drafter.merged or drafter.found:
        return  # then other candidates stand beside those of the shape
    drafts = [scene for scene in rounds if scene.round.judged.origin != "forced" and not stops.asks(scene)]
    if card is not None and card.name in TREE_POLICIES and TREE_POLICIES[card.name].static:
        yield from _same_shape(drafts)
    if card is None and drafter.planned and drafter.most == drafter.planned:
        yield from _same_size(drafts, drafter.planned, drafter.deepest)


def _same_size(drafts: Sequence[Scene], planned: str, depth: str) -> Iterator[Problem]:
    """A plan of a drafter's own has as many candidates wherever all its levels have room."""
    levels = drafts[0].started.drafter.options.get(depth) if drafts else None
    whole = [scene for scene in drafts if isinstance(levels, int) and stops.deepest(scene) >= levels]
    most = max((len(scene.round.nodes) - 1 for scene in whole), default=0)
    for scene in whole:
        if len(scene.round.nodes) - 1 < most:
            told = f"hold {len(scene.round.nodes) - 1} candidates, but other rounds have {most} by '{planned}'"
            yield Problem(f"{scene.place}.nodes", told)


def _same_shape(drafts: Sequence[Scene]) -> Iterator[Problem]:
    plan: dict[Path, int] = {}
    trees = [(scene, _ranks(scene)) for scene in drafts]
    for scene, place in trees:
        for node, path in place.items():
            plan[path] = max(plan.get(path, 0), len(scene.children(node)))
    for scene, place in trees:
        deepest = stops.deepest(scene)
        for node, path in place.items():
            parent, children = scene.round.nodes[node], len(scene.children(node))
            if parent.depth < deepest and children < min(plan[path], _support(scene, parent)):
                told = f"has {children} children, but the same place of other rounds has {plan[path]}"
                yield Problem(f"{scene.place}.nodes[{node}]", told)


def _ranks(scene: Scene) -> dict[int, Path]:
    place: dict[int, Path] = {0: ()}
    for node in scene.round.nodes:
        for rank, child in enumerate(scene.children(node.id)):
            place[child.id] = (*place[node.id], rank)
    return place

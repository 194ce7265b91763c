"""Rules about whole drafts: what could be drafted was drafted and submitted, or the text is biased.

How many children the header's options give a node, or which places the budget goes to, follows from them and from the
tree; where a draft may end early stands in `stops`. Called by `draft` on a structurally sound round, and by `check` on
all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specviz.errors import OptionError
from specviz.trace.declared_method import FROM_TARGET, TREE_POLICIES, KnownTreePolicy, known_drafter
from specviz.trace.events import Node
from specviz.trace.header import MethodCard
from specviz.trace.rules import stops
from specviz.trace.rules.scene import HALF_DIGIT, SINGLE, Range, Scene
from specviz.trace.structure import Problem
from specviz.trace.tree_shape import Path, families, read_paths

WITHOUT = KnownTreePolicy(
    lossless=True, opens=False, even=True, in_order=True, drops=False, greedy_kind="", sampled_kind="", widest="",
    deepest="", stretches=True, fan="", beam=False, forks=False, static=False, best_first="", depth_first=False,
    notes=frozenset(),
)  # fmt: skip
"""what a drafter's own options describe"""


def widths(scene: Scene) -> list[int] | None:
    """Children per node level by level, as the header's options say; None where they say nothing of the kind."""
    card = scene.started.tree_policy
    options = card.options if card is not None else scene.started.drafter.options
    branching = options.get("branching")
    if isinstance(branching, list) and branching:
        return branching
    if planned := planned_paths(scene):
        return [max(map(len, planned.values()))]
    if card is not None and card.name in TREE_POLICIES and (policy := TREE_POLICIES[card.name]).forks:
        return [number(card, policy.widest), *[1] * (number(card, policy.deepest) - 1)]
    length = options.get("length" if card is not None else "gamma")
    return [1] * length if isinstance(length, int) else None


def number(card: MethodCard | None, option: str) -> int:
    value = card.options.get(option, 0) if card is not None else 0
    return value if isinstance(value, int) else 0


def planned_paths(scene: Scene) -> dict[Path, list[int]] | None:
    """The children of every node of a shape that the header's tree policy lists path by path; None where it lists none,
    or nothing that can be read."""
    card = scene.started.tree_policy
    listed = card.options.get("paths") if card is not None else None
    try:
        return families(read_paths(listed)) if isinstance(listed, str) else None
    except OptionError:
        return None


def children_due(scene: Scene, drafted: list[Node], policy: KnownTreePolicy, budget: int) -> dict[int, int] | None:
    """Node → how many children the options give it, as deep as a draft may be; None where they do not settle that."""
    nodes = scene.round.nodes
    if planned := planned_paths(scene):
        return _due_by_paths(drafted, planned, bool(budget))
    wide = widths(scene)
    if wide is None or not (policy.even or policy.forks):
        return None
    levels = stops.levels(scene, drafted)
    if levels is not None and not budget and set(wide) == {1} and policy.even:
        wide = [1] * levels
    return {node.id: wide[min(node.depth, len(wide) - 1)] if budget or node.depth < len(wide) else 0 for node in nodes}


def _due_by_paths(drafted: list[Node], planned: dict[Path, list[int]], stretched: bool) -> dict[int, int]:
    deepest = 1 + max(map(len, planned))
    where: dict[int, Path] = {0: ()}
    below: dict[int, int] = {}
    for node in drafted:
        above = where.get(node.parent, ())
        ranks = planned.get(above, [])
        taken = below.get(node.parent, 0)
        below[node.parent] = taken + 1
        where[node.id] = (*above, ranks[taken] if taken < len(ranks) else -1)
    return {node: len(planned.get(path, [])) if len(path) < deepest else int(stretched) for node, path in where.items()}


def drafted_whole(scene: Scene, drafted: list[Node], policy: KnownTreePolicy, budget: int) -> Iterator[Problem]:
    """What could be drafted was drafted and submitted, or the text is biased, and the options are others."""
    deepest = stops.deepest(scene)
    if policy.depth_first:
        yield from numbered(scene)
    if policy.best_first:
        yield from best_first(scene, policy, deepest)
    elif policy.fan:
        yield from _kept(scene, drafted, policy, budget)
    elif policy.beam:
        yield from _beam(scene, drafted, policy, budget, deepest)
    else:
        due = children_due(scene, drafted, policy, budget)
        if due is not None and budget:
            due = _allotted(scene, due, deepest, budget, by_node=not (policy.even or policy.forks))
        yield from _filled(scene, due, deepest)


def _allotted(scene: Scene, due: dict[int, int], deepest: int, budget: int, by_node: bool) -> dict[int, int]:
    """What a budget leaves of the children that nodes are to have. Of a level it is settled before anything is drawn
    there; `by_node`: before each node's are."""
    allotted, level = dict.fromkeys(due, 0), [0]
    while level and (drafted := len(_down_to(scene, level)) - 1) < budget:
        asked = [node for node in level if scene.round.nodes[node].depth < deepest and _is_asked(scene, node)]
        left = budget - drafted
        for node in asked:
            allotted[node] = min(due[node], left)
            left -= len(scene.children(node)) if by_node else allotted[node]
        level = [child.id for node in level for child in scene.children(node)]
    return allotted


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
            stated = f"has {children} children, but the options give {wanted} at its level"
            yield Problem(f"{scene.place}.nodes[{node}]", stated)


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


def _kept(scene: Scene, drafted: list[Node], policy: KnownTreePolicy, budget: int) -> Iterator[Problem]:
    """So many of those scored are kept as the budget says, and `fan` were scored below every node asked about."""
    scored, fan = scene.round.drafted.note.get("scored"), number(scene.started.tree_policy, policy.fan)
    passes = scene.round.drafted.passes
    if isinstance(scored, int) and len(drafted) != min(budget, scored):
        stated = f"hold {len(drafted)} candidates, but of {scored} scored ones {min(budget, scored)} are kept"
        yield Problem(f"{scene.place}.nodes", stated)
    if not passes or any(pass_.depth is None for pass_ in passes) or stops.asks(scene):
        return
    asked = 1 + sum(pass_.rows for pass_ in passes[1:])
    if isinstance(scored, int) and fan <= scene.started.target.vocab_size and scored != fan * asked:
        stated = f"has scored {scored}, but {fan} below each of {asked} nodes make {fan * asked}"
        yield Problem(f"{scene.place}.drafted.note", stated)


def _beam(scene: Scene, drafted: list[Node], policy: KnownTreePolicy, budget: int, deepest: int) -> Iterator[Problem]:
    """Every level is as wide as the beam, while the level above has anything left to draw."""
    if stops.asks(scene):
        return
    card, total = scene.started.tree_policy, 0
    width, depth = number(card, policy.widest), number(card, policy.deepest)
    for level in range(1, deepest + 1):
        wanted = min(width, budget - total) if budget else width
        if wanted <= 0 or (level > depth and not budget):
            return
        count = sum(node.depth == level for node in drafted)
        above = [node for node in scene.round.nodes if node.depth == level - 1]
        if count < wanted and any(left(scene, node.id).low > NOTHING for node in above):
            stated = f"hold {count} candidates at depth {level}, but a beam of {width} has {wanted} there"
            yield Problem(f"{scene.place}.nodes", stated)
            return
        total += count


def alike(rounds: Sequence[Scene]) -> Iterator[Problem]:
    """A shape that is planned once is the same in every round, as far as a draft may be deep and has tokens to draw."""
    card = rounds[0].started.tree_policy if rounds else None
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
            stated = f"hold {len(scene.round.nodes) - 1} candidates, but other rounds have {most} by '{planned}'"
            yield Problem(f"{scene.place}.nodes", stated)


def _same_shape(drafts: Sequence[Scene]) -> Iterator[Problem]:
    plan: dict[Path, int] = {}
    trees = [(scene, _ranks(scene)) for scene in drafts]
    for scene, where in trees:
        for node, path in where.items():
            plan[path] = max(plan.get(path, 0), len(scene.children(node)))
    for scene, where in trees:
        deepest = stops.deepest(scene)
        for node, path in where.items():
            parent, children = scene.round.nodes[node], len(scene.children(node))
            if parent.depth < deepest and children < min(plan[path], _support(scene, parent)):
                stated = f"has {children} children, but the same place of other rounds has {plan[path]}"
                yield Problem(f"{scene.place}.nodes[{node}]", stated)


def _ranks(scene: Scene) -> dict[int, Path]:
    where: dict[int, Path] = {0: ()}
    for node in scene.round.nodes:
        for rank, child in enumerate(scene.children(node.id)):
            where[child.id] = (*where[node.id], rank)
    return where


NOTHING = 1e-5
"""of a distribution: rounding may have taken it"""


def numbered(scene: Scene) -> Iterator[Problem]:
    """Nodes stand subtree by subtree."""
    order, stack = list[int](), [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(child.id for child in reversed(scene.children(node)))
    if order != sorted(order):
        yield Problem(f"{scene.place}.nodes", "are not numbered subtree by subtree, as their tree policy lays them out")


def left(scene: Scene, node: int, siblings: int | None = None) -> Range:
    """What a node's first children (None: all) have left of the drafter's distribution there."""
    taken = [stops.prob(scene, child) for child in scene.children(node)[:siblings]]
    return Range(1 - sum(part.high for part in taken) - SINGLE, 1 - sum(part.low for part in taken) + SINGLE).capped()


def best_first(scene: Scene, policy: KnownTreePolicy, deepest: int) -> Iterator[Problem]:
    """No place that was left out is worth more than one that was taken; without an option of that name above 0 the
    budget is spent."""
    card, nodes = scene.started.tree_policy, scene.round.nodes
    assert card is not None, "only a tree policy declares this."
    least, budget = card.options.get(policy.best_first), card.options.get("budget")
    if not isinstance(budget, int) or not isinstance(least, (int, float)) or stops.asks(scene):
        return
    worth = _worths(scene)
    open_places = {node.id: _times(worth[node.id], left(scene, node.id)) for node in nodes if node.depth < deepest}
    taken = {node.id: _taken(scene, worth, node) for node in nodes[1:]}
    best = max(open_places, key=lambda node: open_places[node].low, default=None)
    if best is None:
        return
    spent = len(nodes) - 1 >= budget
    bar = min((one.high for one in taken.values()), default=1.0) if not least else float(least)
    if not spent and open_places[best].low > (bar if least else NOTHING) + _slack(bar):
        stated = f"has no further child, but {len(nodes) - 1} of {budget} candidates were drafted"
        yield Problem(f"{scene.place}.nodes[{best}]", stated)
    elif spent and not least and open_places[best].low > bar + _slack(bar):
        stated = f"has no further child, but that is worth {open_places[best]}, more than a candidate that was drafted"
        yield Problem(f"{scene.place}.nodes[{best}]", stated)
    for node, one in taken.items():
        if least and one.high < float(least) - _slack(bar):
            yield Problem(f"{scene.place}.nodes[{node}]", f"is worth {one}, but only what is worth {least} is drafted")


def _slack(bar: float) -> float:
    return HALF_DIGIT + SINGLE * bar


def _worths(scene: Scene) -> dict[int, Range]:
    """Node → the product of the drafter's probabilities down to it."""
    found = {0: Range(1.0, 1.0)}
    for node in scene.round.nodes[1:]:
        found[node.id] = _times(found[node.parent], stops.prob(scene, node))
    return found


def _taken(scene: Scene, worth: dict[int, Range], node: Node) -> Range:
    """What the place of a candidate was worth when it was taken."""
    before = [child.id for child in scene.children(node.parent)].index(node.id)
    return _times(worth[node.parent], left(scene, node.parent, before))


def _times(left: Range, right: Range) -> Range:
    return Range(left.low * right.low, left.high * right.high)

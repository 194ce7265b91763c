"""Rules inside one round: the tree is one that this drafter, tree policy and options make, judged by a rule that may.

What is known of the methods stands in `known_methods` and `known_rules`, from their own declarations. Called by `check`
on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specviz.errors import OptionError
from specviz.trace.events import Node
from specviz.trace.header import MethodCard
from specviz.trace.known_methods import FALLBACK, FROM_TARGET, TREE_POLICIES, KnownDrafter, known_drafter
from specviz.trace.problems import Problem
from specviz.trace.rules.bounds import recorded
from specviz.trace.rules.scene import SINGLE, Scene
from specviz.trace.tree_paths import Path, families, read_paths


def candidates(scene: Scene) -> Iterator[Problem]:
    """Sources, kinds and sizes are those of the header's methods."""
    started, nodes = scene.started, scene.round.nodes
    yield from _judged(scene)
    drafter, tree_policy = known_drafter(started.drafter), started.growth
    policy = TREE_POLICIES.get(tree_policy.name) if tree_policy is not None else None
    if drafter is None or (tree_policy is not None and policy is None):
        return
    sources = drafter.sources | ({FROM_TARGET} if policy is not None and policy.opens else set())
    kind = _drawn_kind(scene)
    for node in nodes[1:]:
        place = f"{scene.place}.nodes[{node.id}]"
        if node.source not in sources:
            told = f"is '{node.source}', but '{started.drafter.name}' marks its candidates {_listed(sources)}"
            yield Problem(f"{place}.source", told)
        elif drafter.draws and node.source not in drafter.found and kind is not None and node.kind != kind:
            yield Problem(f"{place}.kind", f"is '{node.kind}', but by the header's options it is drawn as '{kind}'")
        elif drafter.hybrid and node.source == FALLBACK:
            continue  # drawn by the model, in the way that its kind says
        elif drafter.evenly:
            yield from _evenly(scene, place, node)
        elif (not drafter.draws or node.source in drafter.found) and node.kind != "point_mass":
            told = f"is '{node.kind}', but what '{started.drafter.name}' does not draw are point masses"
            yield Problem(f"{place}.kind", told)
    yield from _bounded(scene, started.drafter, drafter.most, drafter.deepest)
    yield from _riding(scene, drafter)
    own = [node for node in nodes[1:] if node.source not in drafter.found]
    if drafter.draws and drafter.merged:
        for source in sorted({node.source for node in own}):
            yield from _shape(scene, [node for node in own if node.source == source], whole=False)
    elif drafter.draws:
        yield from _shape(scene, own, whole=not drafter.found)


def _evenly(scene: Scene, place: str, node: Node) -> Iterator[Problem]:
    """A candidate that any other token was as likely as: the i.i.d. draw of a q of 1/V."""
    name, size = scene.started.drafter.name, scene.started.target.vocab_size
    if node.kind != "iid":
        yield Problem(f"{place}.kind", f"is '{node.kind}', but '{name}' draws its candidates as 'iid'")
    elif node.draft_prob is not None and not recorded(node.draft_prob).holds(1 / size):
        told = f"is {node.draft_prob:.6g}, but '{name}' draws each of {size} tokens with probability {1 / size:.6g}"
        yield Problem(f"{place}.draft_prob", told)


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
            told = f"is '{node.kind}', which '{judged.rule}' does not judge"
            yield Problem(f"{scene.place}.nodes[{node.id}].kind", told)
    if rule.chains and any(len(family) > 1 for family in scene.families):
        yield Problem(f"{scene.place}.nodes", f"hold siblings, but '{judged.rule}' judges chains only")


def _drawn_kind(scene: Scene) -> str | None:
    """How the header says the model's candidates are drawn; None where the options do not say."""
    tree_policy, options = scene.started.growth, scene.started.drafter.options
    policy = TREE_POLICIES.get(tree_policy.name) if tree_policy is not None else None
    if policy is not None and (settled := policy.greedy_kind if scene.greedy else policy.sampled_kind):
        return settled
    draw = (tree_policy.options if tree_policy is not None else options).get("draw")
    if draw != "auto":
        return {"iid": "iid", "without_replacement": "without_replacement", "top_k": "point_mass"}.get(str(draw))
    if scene.greedy:
        return "point_mass"
    return "iid" if max(_widths(scene) or [1]) == 1 else "without_replacement"


def _planned(scene: Scene) -> dict[Path, list[int]] | None:
    """The children of every node of a shape that the header's tree policy lists path by path; None where it lists none,
    or nothing that can be read."""
    tree_policy = scene.started.growth
    listed = tree_policy.options.get("paths") if tree_policy is not None else None
    try:
        return families(read_paths(listed)) if isinstance(listed, str) else None
    except OptionError:
        return None


def _widths(scene: Scene) -> list[int] | None:
    """Children per node level by level, as the header's options say; None where they say nothing of the kind."""
    tree_policy = scene.started.growth
    options = tree_policy.options if tree_policy is not None else scene.started.drafter.options
    branching = options.get("branching")
    if isinstance(branching, list) and branching:
        return branching
    if planned := _planned(scene):
        return [max(map(len, planned.values()))]
    length = options.get("length" if tree_policy is not None else "gamma")
    return [1] * length if isinstance(length, int) else None


def _bounded(scene: Scene, card: MethodCard, most: str, deepest: str) -> Iterator[Problem]:
    drafted = len(scene.round.nodes) - 1
    depth = max(node.depth for node in scene.round.nodes)
    for name, value, what in ((most, drafted, "candidates"), (deepest, depth, "levels")):
        bound = card.options.get(name)
        if isinstance(bound, int) and value > bound:
            told = f"hold {value} {what}, but '{card.name}' ran with {name} {bound}"
            yield Problem(f"{scene.place}.nodes", told)


def _riding(scene: Scene, drafter: KnownDrafter) -> Iterator[Problem]:
    """What counts as no draft is what the drafter marks so: all of it, or, by engines before that mark, none."""
    marked = set(scene.round.drafted.riding)
    rides = {node.id for node in scene.round.nodes if drafter.riding and node.source == drafter.riding}
    if marked and marked != rides:
        told = (
            f"names {sorted(marked)}, but those of '{drafter.riding}' are {sorted(rides)}"
            if rides
            else (f"names {sorted(marked)}, but all candidates of '{scene.started.drafter.name}' are drafts")
        )
        yield Problem(f"{scene.place}.drafted.riding", told)


def _shape(scene: Scene, own: list[Node], whole: bool) -> Iterator[Problem]:
    """Depth, width and number of the model's candidates against the options of the tree policy."""
    tree_policy = scene.started.growth
    budget = tree_policy.options.get("budget", 0) if tree_policy is not None else 0
    if isinstance(budget, int) and 0 < budget < len(own):
        yield Problem(f"{scene.place}.nodes", f"hold {len(own)} candidates, but the budget is {budget}")
    if tree_policy is not None and not TREE_POLICIES[tree_policy.name].even:
        yield from _beam(scene, tree_policy, own)
        if not budget:
            yield from _on_paths(scene, own)
        return
    widths = _widths(scene)
    if widths is None or not isinstance(budget, int):
        return
    depth = max((node.depth for node in own), default=0)
    if not budget and depth > len(widths) and scene.started.stopping is None:  # which may also make drafts longer
        yield Problem(f"{scene.place}.nodes", f"reach depth {depth}, but the options make {len(widths)} levels")
        return
    for parent in scene.round.nodes:
        width = widths[min(parent.depth, len(widths) - 1)]
        children = sum(child.source in {one.source for one in own} for child in scene.children(parent.id))
        if children > width:
            told = f"has {children} children, but the options give {width} at its level"
            yield Problem(f"{scene.place}.nodes[{parent.id}]", told)
    if whole and not budget:
        yield from _whole(scene, own, widths)


def _beam(scene: Scene, tree_policy: MethodCard, own: list[Node]) -> Iterator[Problem]:
    """Policies that choose the shape as they go keep to their width per level and their depth."""
    policy = TREE_POLICIES[tree_policy.name]
    depth, width = tree_policy.options.get(policy.deepest), tree_policy.options.get(policy.widest)
    deepest = max((node.depth for node in own), default=0)
    stretched = policy.stretches and tree_policy.options.get("budget")
    if not stretched and isinstance(depth, int) and deepest > depth:
        yield Problem(f"{scene.place}.nodes", f"reach depth {deepest}, but '{tree_policy.name}' ran with depth {depth}")
    if isinstance(width, int):
        for level in range(1, deepest + 1):
            count = sum(node.depth == level for node in own)
            if count > width:
                told = f"hold {count} candidates at depth {level}, but '{tree_policy.name}' ran with width {width}"
                yield Problem(f"{scene.place}.nodes", told)


def _on_paths(scene: Scene, own: list[Node]) -> Iterator[Problem]:
    """A shape that is listed path by path has no other candidates."""
    planned = _planned(scene)
    if planned is None:
        return
    place: dict[int, Path] = {0: ()}
    for node in own:
        if node.parent not in place:
            continue
        above = place[node.parent]
        ranks, taken = planned.get(above, []), sum(other[:-1] == above for other in place.values() if other)
        if taken == len(ranks):
            yield Problem(f"{scene.place}.nodes[{node.id}]", "is a candidate that the header's list of paths has not")
            return
        place[node.id] = (*above, ranks[taken])


def _whole(scene: Scene, own: list[Node], widths: Sequence[int]) -> Iterator[Problem]:
    """Without a stop policy a level-wise tree is whole: what was drawn is submitted, or the text is biased."""
    started = scene.started
    if started.stopping is not None or scene.round.judged.origin == "forced":
        return
    rooms = [len(widths), room_below(scene)]
    drafter = known_drafter(started.drafter)
    if drafter is not None and (drafter.from_states or drafter.pairs):
        if scene.round.base_length == 1:
            return  # the target has left no state yet
        heads = started.drafter.options.get(drafter.deepest)
        rooms += [heads] if isinstance(heads, int) else []
    if started.drafter.model is not None:
        rooms.append(started.drafter.model.context_length - scene.round.base_length + 1)
    deepest = min(rooms)
    for parent in scene.round.nodes:
        if parent.depth >= deepest:
            continue
        width, children = widths[parent.depth], len(scene.children(parent.id))
        support = scene.started.target.vocab_size
        if parent.draft is not None and parent.draft.rest <= SINGLE and not scene.greedy:
            support = len(parent.draft.tokens)  # more than the distribution holds cannot be drawn without replacement
        if children < min(width, support):
            told = f"has {children} children, but the options give {width} at its level"
            yield Problem(f"{scene.place}.nodes[{parent.id}]", told)


def room_below(scene: Scene) -> int:
    """How deep a draft may be: the round's last token is committed too."""
    from_text = scene.started.target.context_length - scene.round.base_length
    asked = len(scene.started.prompt_ids) + scene.started.max_new_tokens - scene.round.base_length
    return min(from_text, asked) - 1


def passes(scene: Scene) -> Iterator[Problem]:
    """The drafter's passes follow one another in its cache, and lead from the text into the tree."""
    this, place = scene.round, f"{scene.place}.drafted.passes"
    made = this.drafted.passes
    drafter = known_drafter(scene.started.drafter)
    if made and drafter is not None and not drafter.passes:
        yield Problem(place, f"are {len(made)}, but '{scene.started.drafter.name}' has no model to pass through")
    if made and drafter is not None and drafter.beside:
        told = f"are {len(made)}, but '{scene.started.drafter.name}' makes its passes beside the target's, on its lane"
        yield Problem(place, told)
    own = drafter.sources - drafter.found if drafter is not None and drafter.draws else frozenset[str]()
    if not made and any(node.source in own for node in this.nodes):
        yield Problem(place, "are missing, but the candidates come from a model")
    tree_policy = scene.started.growth
    dropping = tree_policy is not None and (
        tree_policy.name not in TREE_POLICIES or TREE_POLICIES[tree_policy.name].drops
    )
    deepest = max(node.depth for node in this.nodes)
    unpaired = drafter is not None and drafter.pairs
    own_tokens = drafter is not None and drafter.own_tokens
    for index, one in enumerate(made):
        at = f"{place}[{index}]"
        first = index == 0 or (drafter is not None and drafter.merged and one.depth == 1)
        before = None if first else made[index - 1].cached_rows + made[index - 1].rows
        if drafter is not None and drafter.from_states:
            if one.cached_rows:
                told = f"is {one.cached_rows}, but '{scene.started.drafter.name}' keeps none"
                yield Problem(f"{at}.cached_rows", told)
        elif before is None and not own_tokens and one.cached_rows + one.rows != this.base_length - unpaired:
            told = f"make {one.cached_rows + one.rows} cached rows, but the text has {this.base_length} tokens"
            yield Problem(at, told)
        elif before is not None and one.cached_rows != before:
            yield Problem(f"{at}.cached_rows", f"is {one.cached_rows}, but the pass before left {before}")
        if first and one.depth not in (1, None):
            yield Problem(f"{at}.depth", f"is {one.depth}, but the round's first pass makes depth 1 possible")
        if one.depth is None or first or dropping or drafter is None:
            continue
        level = sum(node.depth == one.depth - 1 for node in this.nodes)
        if one.depth < 2 or one.depth > deepest + 1:
            yield Problem(f"{at}.depth", f"is {one.depth}, but the tree reaches depth {deepest}")
        elif one.rows > level:
            yield Problem(f"{at}.rows", f"is {one.rows}, but only {level} nodes stand at depth {one.depth - 1}")


def exhibits(scene: Scene) -> Iterator[Problem]:
    """What the drafter shows: nodes made from a row have its tokens, and a row taken from the text stands there."""
    for number, exhibit in enumerate(scene.round.drafted.knew):
        for index, row in enumerate(exhibit.rows):
            place = f"{scene.place}.drafted.knew[{number}].rows[{index}]"
            for node in row.nodes:
                if scene.round.nodes[node].token not in row.tokens:
                    yield Problem(f"{place}.nodes", f"name node {node}, whose token is not in the row")
            if row.position is not None and scene.text:
                there = list(scene.text[row.position : row.position + len(row.tokens)])
                if there != row.tokens[: len(there)]:
                    yield Problem(f"{place}.position", f"is {row.position}, but the text has other tokens there")

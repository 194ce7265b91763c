"""Rules inside one round: the drafter's passes lead from the text into the tree, one for every node it was asked about.

Called by `check` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Pass
from specviz.trace.known_methods import TREE_POLICIES, KnownDrafter, known_drafter
from specviz.trace.problems import Problem
from specviz.trace.rules.scene import Scene


def passes(scene: Scene) -> Iterator[Problem]:
    """There where the drafter makes them, one behind the other in its cache, with a row for every node asked about."""
    drafter = known_drafter(scene.started.drafter)
    yield from _there(scene, drafter)
    yield from _in_cache(scene, drafter)
    if drafter is not None:
        yield from _levels(scene, drafter)
        if drafter.hands_over and scene.round.drafted.passes:
            yield from _handed_over(scene)


def _there(scene: Scene, drafter: KnownDrafter | None) -> Iterator[Problem]:
    made, name, place = scene.round.drafted.passes, scene.started.drafter.name, f"{scene.place}.drafted.passes"
    if drafter is None:
        return
    if made and not drafter.passes:
        yield Problem(place, f"are {len(made)}, but '{name}' has no model to pass through")
    if made and drafter.beside:
        told = f"are {len(made)}, but '{name}' makes its passes beside the target's, on its lane"
        yield Problem(place, told)
    own = drafter.sources - drafter.found if drafter.draws else frozenset[str]()
    if not made and any(node.source in own for node in scene.round.nodes):
        yield Problem(place, "are missing, but the candidates come from a model")


def _in_cache(scene: Scene, drafter: KnownDrafter | None) -> Iterator[Problem]:
    this, made = scene.round, scene.round.drafted.passes
    unpaired = drafter is not None and drafter.pairs
    own_tokens = drafter is not None and drafter.own_tokens
    for index, one in enumerate(made):
        at = f"{scene.place}.drafted.passes[{index}]"
        first = _is_first(drafter, index, one)
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


def _is_first(drafter: KnownDrafter | None, index: int, one: Pass) -> bool:
    """Of several models each has a first one."""
    return index == 0 or (drafter is not None and drafter.merged and one.depth == 1)


def _handed_over(scene: Scene) -> Iterator[Problem]:
    """The drafter's rows are those of the text and of the whole tree; more where candidates were dropped again."""
    last = scene.round.drafted.passes[-1]
    reached, due = last.cached_rows + last.rows, scene.round.base_length + len(set(scene.rows)) - 1
    if reached < due or (reached > due and not _drops(scene)):
        yield Problem(f"{scene.place}.drafted.passes", f"end at {reached} rows, but the text and the tree have {due}")


def _drops(scene: Scene) -> bool:
    card = scene.started.growth
    return card is not None and (card.name not in TREE_POLICIES or TREE_POLICIES[card.name].drops)


def _levels(scene: Scene, drafter: KnownDrafter) -> Iterator[Problem]:
    """A pass for depth d has a row for every node of the level above that was asked about; nodes of the same text may
    share one. Where candidates are dropped again, or several models draft, there may be more rows than such nodes."""
    made, nodes = scene.round.drafted.passes, scene.round.nodes
    dropping, deepest = _drops(scene), max(node.depth for node in nodes)
    if not made or all(one.depth is None for one in made):
        return
    for index, one in enumerate(made):
        if one.depth is not None and one.depth > deepest + 1 and not dropping:
            told = f"is {one.depth}, but the tree reaches depth {deepest}"
            yield Problem(f"{scene.place}.drafted.passes[{index}].depth", told)
    for depth in range(2, deepest + 2):
        rows = sum(one.rows for one in made if one.depth == depth)
        level = [node for node in nodes if node.depth == depth - 1]
        asked = len({scene.rows[node.id] for node in level if _asked(scene, drafter, node.id)})
        place = f"{scene.place}.drafted.passes"
        if rows < asked:
            yield Problem(place, f"for depth {depth} have {rows} rows, but {asked} nodes above it were asked about")
        elif rows > len(level) and not dropping and not drafter.merged:
            yield Problem(place, f"for depth {depth} have {rows} rows, but only {len(level)} nodes stand above it")


def _asked(scene: Scene, drafter: KnownDrafter, node: int) -> bool:
    """Whether a model of the drafter's said what follows a node: it is recorded, or drafted from."""
    own = drafter.sources - drafter.found
    drawn = any(child.source in own for child in scene.children(node))
    return drawn or scene.round.nodes[node].draft_raw is not None

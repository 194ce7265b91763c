"""Rules inside one round: trials, path and fates tell the same story, and thresholds follow from the rule's equation.

The order of the trials is data (`judged.order`); the equations and their terms are in `declared_rule`. Called by
`check` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import exp, log, prod

from specviz.trace.declared_rule import first_reach
from specviz.trace.events import Fate, Order, Trial
from specviz.trace.rules.residuals import Level, rejected_below, unlike
from specviz.trace.rules.scene import EXACT, SINGLE, Bounds, Range, Scene
from specviz.trace.structure import Problem


def verdicts(scene: Scene) -> Iterator[Problem]:
    """Trials go through the tree in their order; path, final node and fates say the same as the trials."""
    judged = scene.round.judged
    tried: set[int] = set()
    for index, trial in enumerate(judged.trials):
        where = f"{scene.place}.judged.trials[{index}]"
        if trial.node in tried:
            yield Problem(f"{where}.node", f"is {trial.node}, which was tried before")
        tried.add(trial.node)
        yield from _numbers(where, trial)
    yield from _ORDERS[judged.order](scene)
    for index, node in enumerate(judged.path):
        above = judged.path[index - 1] if index else 0
        if node not in [child.id for child in scene.offered(above)]:
            yield Problem(f"{scene.place}.judged.path[{index}]", f"is {node}, which is no child of node {above}")
    end = judged.path[-1] if judged.path else 0
    if judged.final_node != end:
        yield Problem(f"{scene.place}.judged.final_node", f"is {judged.final_node}, but the path ends at {end}")
    yield from _fates(scene, tried)
    if scene.rule is not None and judged.trials and judged.order != scene.rule.order:
        stated = f"is '{judged.order}', but '{judged.rule}' goes '{scene.rule.order}'"
        yield Problem(f"{scene.place}.judged.order", stated)


def _fates(scene: Scene, tried: set[int]) -> Iterator[Problem]:
    """Accepted: on the path. Rejected: tried, and not on it. Unreached: never tried."""
    path = set(scene.round.judged.path)
    for node in scene.round.nodes[1:]:
        fate: Fate = "accepted" if node.id in path else "rejected" if node.id in tried else "unreached"
        if node.fate != fate:
            yield Problem(f"{scene.place}.nodes[{node.id}].fate", f"is '{node.fate}', but the trials say '{fate}'")


def _numbers(where: str, trial: Trial) -> Iterator[Problem]:
    for name in ("target_prob", "draft_prob", "threshold"):
        value = getattr(trial, name)
        if not 0 <= value <= 1 + SINGLE:
            yield Problem(f"{where}.{name}", f"is {value}, but must lie between 0 and 1")
    if trial.u is not None:
        if not 0 <= trial.u < 1:
            yield Problem(f"{where}.u", f"is {trial.u}, but a uniform draw lies in [0, 1)")
        if trial.accepted != (trial.u < trial.threshold):
            verdict = "accepted" if trial.accepted else "rejected"
            yield Problem(
                where, f"is {verdict} with u {trial.u} and threshold {trial.threshold}; accepted means u < threshold"
            )


def _top_down(scene: Scene) -> Iterator[Problem]:
    """A walk from the root: the children of each node in draw order, until one is accepted."""
    judged = scene.round.judged
    walked: list[int] = []
    for index, trial in enumerate(judged.trials):
        here = walked[-1] if walked else 0
        if trial.node not in [child.id for child in scene.offered(here)]:
            yield Problem(
                f"{scene.place}.judged.trials[{index}].node",
                f"is {trial.node}, but the walk stands at node {here}, which is not its parent",
            )
        if trial.accepted:
            walked.append(trial.node)
    if judged.path != walked:
        yield Problem(f"{scene.place}.judged.path", f"is {judged.path}, but the accepted trials are {walked}")
    end = judged.path[-1] if judged.path else 0
    for parent in (0, *judged.path):
        drawn = [child.id for child in scene.offered(parent)]
        tried = [trial.node for trial in judged.trials if trial.node in drawn]
        if tried != drawn[: len(tried)]:
            where = f"{scene.place}.judged.trials"
            yield Problem(where, f"tries the children of node {parent} as {tried}, but they were drawn as {drawn}")
        elif scene.rule is not None and parent == end and len(tried) < len(drawn):
            where = f"{scene.place}.judged.trials"
            stated = f"reject {tried} below node {parent}, but never try its other children {drawn[len(tried) :]}"
            yield Problem(where, stated)


def _bottom_up(scene: Scene) -> Iterator[Problem]:
    """Whole paths, leaves first: a prefix of the post-order, ended by the first accepted trial."""
    judged, nodes = scene.round.judged, scene.round.nodes
    tried = [trial.node for trial in judged.trials]
    due = _post_order(scene)
    if tried != due[: len(tried)]:
        yield Problem(f"{scene.place}.judged.trials", f"are of nodes {tried}, but from the leaves up they are {due}")
    accepted = [trial.node for trial in judged.trials if trial.accepted]
    if [trial.accepted for trial in judged.trials[:-1]].count(True):
        yield Problem(f"{scene.place}.judged.trials", f"go on after node {accepted[0]}, whose path was accepted")
    elif not accepted and len(tried) < len(due):
        yield Problem(f"{scene.place}.judged.trials", f"end at node {tried[-1:]}, but nothing was accepted yet")
    path: list[int] = []
    node = accepted[-1] if accepted else 0
    while node:
        path.insert(0, node)
        node = nodes[node].parent
    if judged.path != path:
        yield Problem(f"{scene.place}.judged.path", f"is {judged.path}, but the accepted trial ends the path {path}")


def _post_order(scene: Scene) -> list[int]:
    """Children before parents, siblings in draw order, the root left out."""
    children: dict[int, list[int]] = {}
    for node in scene.round.nodes[1:]:
        children.setdefault(node.parent, []).append(node.id)
    found: list[int] = []
    stack = [0]
    while stack:
        node_id = stack.pop()
        found.append(node_id)
        stack += children.get(node_id, [])
    return found[:0:-1]


def _longest(scene: Scene) -> Iterator[Problem]:
    """Every candidate whose parent passed is tried; the path is a longest one of those that passed."""
    judged, nodes = scene.round.judged, scene.round.nodes
    passed = {0} | {trial.node for trial in judged.trials if trial.accepted}
    due = [node.id for node in nodes[1:] if node.parent in passed]
    tried = [trial.node for trial in judged.trials]
    if sorted(tried) != due:
        yield Problem(f"{scene.place}.judged.trials", f"are of nodes {tried}, but parents passed of {due}")
    if not passed.issuperset(judged.path):
        yield Problem(f"{scene.place}.judged.path", f"is {judged.path}, but only {sorted(passed)} passed")
    deepest = max(nodes[node].depth for node in passed)
    if len(judged.path) != deepest:
        yield Problem(
            f"{scene.place}.judged.path", f"has {len(judged.path)} nodes, but a path of {deepest} nodes passed"
        )
    elif judged.path and scene.rule is not None:
        yield from _of_the_longest(scene, [node for node in passed if nodes[node].depth == deepest])


def _of_the_longest(scene: Scene, ends: list[int]) -> Iterator[Problem]:
    """Of equally long paths a rule that draws keeps the one drafted first, one that does not the most probable."""
    judged, nodes = scene.round.judged, scene.round.nodes
    if scene.rule is not None and scene.rule.draws:
        best = {min(ends)}
    else:
        worth = {end: prod(nodes[node].target_prob or 0.0 for node in scene.path_to(end) if node) for end in ends}
        best = {end for end in ends if worth[end] >= max(worth.values()) * (1 - SINGLE) - SINGLE}
    if judged.path[-1] not in best:
        stated = f"is {judged.path}, but of the longest paths '{judged.rule}' keeps that to node {min(best)}"
        yield Problem(f"{scene.place}.judged.path", stated)


_ORDERS: Mapping[Order, Callable[[Scene], Iterator[Problem]]] = {
    "top_down": _top_down,
    "bottom_up": _bottom_up,
    "longest": _longest,
}


def thresholds(scene: Scene) -> Iterator[Problem]:
    """What the rule's own equation gives, for the rules that the format knows."""
    judged, rule = scene.round.judged, scene.rule
    if rule is None:
        return
    for index, trial in enumerate(judged.trials):
        where = f"{scene.place}.judged.trials[{index}]"
        try:
            threshold = rule.threshold(trial, scene.started.verifier.options)
        except (KeyError, OverflowError) as error:
            yield Problem(f"{where}.terms", f"give no threshold ({error}), which '{judged.rule}' needs")
            continue
        if abs(trial.threshold - threshold) > EXACT:
            yield Problem(f"{where}.threshold", f"is {trial.threshold}, but {rule.words} is {threshold}")
        if not rule.compares and trial.accepted != _settled(scene, trial):
            stated = "accepted" if trial.accepted else "rejected"
            yield Problem(f"{where}.accepted", f"says {stated}, which is not what '{judged.rule}' makes of it")
        yield from _TERMS.get(judged.rule, _no_terms)(scene, where, trial)


def _settled(scene: Scene, trial: Trial) -> bool:
    """The verdict of a rule that compares no u: those that draw first follow their token, others the threshold."""
    if scene.round.judged.rule not in ("naive", "coupled", "gls"):
        return trial.threshold > 0.5
    path = set(scene.round.judged.path)
    return trial.node in path


def _no_terms(scene: Scene, where: str, trial: Trial) -> Iterator[Problem]:
    return iter(())


def _given(scene: Scene, where: str, trial: Trial) -> Iterator[Problem]:
    """What the target itself proposed is marked, and nothing else is."""
    source = scene.round.nodes[trial.node].source
    if bool(trial.terms.get("given")) != (source == "target"):
        yield Problem(f"{where}.terms", f"do not fit a candidate of source '{source}': 'given' marks the target's own")


def _share(scene: Scene, where: str, trial: Trial) -> Iterator[Problem]:
    """At temperature 0: p / max p by the target's own softmax; above it there is no such term."""
    share = trial.terms.get("share")
    if (share is not None) != scene.greedy:
        yield Problem(f"{where}.terms", "name a share only at temperature 0, and there always")
    if share is None:
        return
    node = scene.round.nodes[trial.node]
    raw = scene.round.nodes[node.parent].target_raw
    if raw is None or not raw.tokens:
        return
    own, best = Bounds.of_head(raw)[node.token], Bounds.of_head(raw)[raw.tokens[0]]
    derived = Range(own.low / best.high, min(1.0, own.high / best.low) if best.low > 0 else 1.0)
    if not derived.holds(share):
        yield Problem(f"{where}.terms", f"have share {share:.6g}, but the target's own head gives {derived}")


def _mixed(scene: Scene, where: str, trial: Trial) -> Iterator[Problem]:
    """v = w p + (1 - w) q; at temperature 0 whether the candidate is the most probable token of v."""
    weight, mixed = scene.started.verifier.options.get("weight"), trial.terms.get("mixed", -1.0)
    if not isinstance(weight, (int, float)):
        return
    due = weight * trial.target_prob + (1 - weight) * trial.draft_prob
    if scene.greedy:
        due = float(trial.target_prob == 1 or weight < 0.5)
    if abs(mixed - due) > EXACT:
        yield Problem(f"{where}.terms", f"have v {mixed}, but w p + (1 - w) q is {due}")


def _entropy(scene: Scene, where: str, trial: Trial) -> Iterator[Problem]:
    """H of the target's distribution at the parent, and the bar that follows from it."""
    entropy, bar = trial.terms["entropy"], trial.terms.get("bar")
    options = scene.started.verifier.options
    epsilon, delta = options.get("epsilon"), options.get("delta")
    if isinstance(epsilon, (int, float)) and isinstance(delta, (int, float)):
        due = min(float(epsilon), float(delta) * exp(-entropy))
        if bar is None or abs(bar - due) > EXACT:
            yield Problem(f"{where}.terms", f"have bar {bar}, but min(epsilon, delta exp(-H)) is {due}")
    parent = scene.round.nodes[scene.round.nodes[trial.node].parent]
    if parent.target.tokens:
        derived = _entropy_of(Bounds.of_head(parent.target), scene.started.target.vocab_size)
        if not Range(derived.low - 1e-4, derived.high + 1e-4).holds(entropy):
            yield Problem(f"{where}.terms", f"have entropy {entropy:.6g}, but the target's head gives {derived}")


def _entropy_of(p: Bounds, vocabulary: int) -> Range:
    """Entropy in nats: the named tokens, and the rest spread as narrowly or as widely as it can be."""
    edges = [[-x * log(x) if x > 0 else 0.0 for x in there] for there in p.of.values()]
    # x log x turns at 1/e; a named token's range is so narrow that its ends bound it to within its width
    low = sum(min(pair) for pair in edges)
    high = sum(max(pair) + (there.high - there.low) for pair, there in zip(edges, p.of.values(), strict=True))
    others = max(1, vocabulary - len(p.of))
    if p.rest.high > 0:
        low += p.rest.low * -log(p.each) if 0 < p.each < 1 else 0.0
        high += max(x * log(others / x) if x > 0 else 0.0 for x in (p.rest.low, p.rest.high, min(p.rest.high, 0.37)))
    return Range(low, high)


def _kseq(scene: Scene, where: str, trial: Trial) -> Iterator[Problem]:
    """rho is that of K siblings: 1 - (1 - beta)^K = rho beta, with beta = sum min(p / rho, q)."""
    rho, beta = trial.terms.get("rho", 0.0), trial.terms.get("beta", -1.0)
    parent = scene.round.nodes[scene.round.nodes[trial.node].parent]
    siblings = len(scene.offered(parent.id))
    held = min(1.0, max(0.0, beta))
    if abs(1 - (1 - held) ** siblings - rho * beta) > SINGLE or not 1 <= rho <= siblings:
        stated = f"have rho {rho:.6g} and beta {beta:.6g}, which do not fit {siblings} siblings"
        yield Problem(f"{where}.terms", stated)
        return
    derived = passing(Level(scene, parent), rho)
    if not derived.holds(beta):
        yield Problem(f"{where}.terms", f"have beta {beta:.6g}, but the heads give {derived}")


def passing(level: Level, rho: float) -> Range:
    """beta = sum of min(p / rho, q) over the vocabulary: 1 less what p / rho does not cover of q."""
    q = level.proposal(level.children[0])
    _, missing = q.minus(scaled(level.left, 1 / rho))
    return Range(1 - missing.high, 1 - missing.low).capped()


def scaled(p: Bounds, factor: float) -> Bounds:
    """Not normalised."""
    of = {token: there.scaled(factor) for token, there in p.of.items()}
    return Bounds(of, p.rest.scaled(factor), p.each * factor)


def kseq_residual(scene: Scene) -> Iterator[Problem]:
    """K-SEQ leaves p − min(p / rho, q) (1 − (1 − beta)^K) / beta when all K siblings are rejected."""
    judged, where = scene.round.judged, f"{scene.place}.judged"
    below = rejected_below(scene, judged.final_node)
    if judged.rule != "kseq" or judged.residual_mass is None or not below:
        return
    beta, rho = below[0].terms.get("beta", 0.0), below[0].terms.get("rho", 0.0)
    if beta <= 0 or rho < 1:
        return
    passed = 1 - (1 - min(1.0, beta)) ** len(below)
    if abs(judged.residual_mass - (1 - passed)) > SINGLE:
        stated = f"is {judged.residual_mass:.6g}, but with beta {beta:.6g} {len(below)} siblings leave {1 - passed:.6g}"
        yield Problem(f"{where}.residual_mass", stated)
    elif judged.residual is not None and judged.residual_mass > SINGLE:
        level = Level(scene, scene.round.nodes[judged.final_node])
        left = _kseq_left(level, rho, passed / beta, judged.residual_mass)
        for found in unlike(judged.residual, left):
            yield Problem(f"{where}.residual", found)


def _kseq_left(level: Level, rho: float, factor: float, mass: float) -> Bounds:
    p, q = level.left, level.proposal(level.children[0])
    found = {}
    for token in {**p.of, **q.of}:
        here, there = p[token], q[token]
        low = here.low - factor * min(here.low / rho, there.high)
        high = here.high - factor * min(here.high / rho, there.low)
        found[token] = Range(max(0.0, low) / mass, max(0.0, high) / mass).capped()
    return Bounds(found, Range(0.0, 1.0), min(1.0, p.each / mass))


def reaches(scene: Scene) -> Iterator[Problem]:
    """The probability of a path is handed down: from 1 at the root, and from each node to its children."""
    judged, nodes = scene.round.judged, scene.round.nodes
    below: dict[int, list[Trial]] = {}
    for index, trial in enumerate(judged.trials):
        if "parent_reach" not in trial.terms:
            continue
        where = f"{scene.place}.judged.trials[{index}].terms"
        parent = nodes[trial.node].parent
        handed = trial.terms["parent_reach"]
        if parent == 0 and abs(handed - 1) > EXACT:
            yield Problem(where, f"have parent_reach {handed}, but the root's is 1")
        children = below.get(trial.node, [])
        if children and abs(children[0].terms["parent_reach"] - first_reach(trial)) > EXACT:
            yield Problem(
                where, f"make the probability of the path {first_reach(trial)}, but its first child was told other"
            )
        if children and abs(children[-1].terms["parent_reach"] - trial.terms.get("reach", -1.0)) > EXACT:
            yield Problem(where, "have another reach than the last rejected child was told")
        if (judged.rule == "block" or children) and "reach" not in trial.terms:
            yield Problem(where, f"lack 'reach', which '{judged.rule}' gives here")
        if bool(children) != ("left" in trial.terms):
            yield Problem(where, "name what rejected children leave ('left') exactly where there are such")
        if judged.rule == "block" and abs(trial.terms.get("reach", -1.0) - first_reach(trial)) > EXACT:
            yield Problem(
                where, f"have reach {trial.terms.get('reach')}, but the probability of the path is {first_reach(trial)}"
            )
        below.setdefault(parent, []).append(trial)


_TERMS = {"longest_path": _given, "lenience": _share, "ensemble": _mixed, "typical": _entropy, "kseq": _kseq}

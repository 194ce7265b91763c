"""Rules inside one round, third part: adjusted probabilities, the last token, what was committed and cached.

Called by `check` on a structurally sound round. Knows nothing about the run around it.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Committed, CommittedToken, Node, Origin, Trial
from specviz.trace.known_rules import KNOWN
from specviz.trace.problems import Problem
from specviz.trace.rules_tree import ROUNDING, SOFT, Scene, distribution


def adjusted(scene: Scene) -> Iterator[Problem]:
    """Soft: the p and Q of each trial of a known rule, re-derived from the nodes as far as the trace allows.

    Q: a point mass is 1, an i.i.d. draw keeps q, a draw without replacement is renormalised over what its refused
    siblings left. p: exact for the first sibling and after refused point masses (their mass is removed).
    """
    rule = KNOWN.get(scene.round.judged.rule)
    if rule is None:
        return
    refused: dict[int, list[Node]] = {}
    for index, trial in enumerate(scene.round.judged.trials):
        node = scene.round.nodes[trial.node]
        before = [] if rule.numbers == "plain" else refused.get(node.parent, [])
        place = f"{scene.place}.judged.trials[{index}]"
        yield from _drifted(f"{place}.draft_prob", trial.draft_prob, _adjusted_q(node, before))
        if rule.numbers != "scaled" or not before:
            yield from _drifted(f"{place}.target_prob", trial.target_prob, _adjusted_p(node, before))
        if not trial.accepted:
            refused.setdefault(node.parent, []).append(node)


def _adjusted_q(node: Node, refused: list[Node]) -> float | None:
    if node.draft_prob is None or node.kind != "without_replacement":
        return node.draft_prob
    taken = [other.draft_prob for other in refused if other.source == node.source and other.kind == node.kind]
    left = 1 - sum(prob or 0.0 for prob in taken)
    return min(1.0, node.draft_prob / left) if left > SOFT else None


def _adjusted_p(node: Node, refused: list[Node]) -> float | None:
    if node.target_prob is None or any(other.kind != "point_mass" for other in refused):
        return None
    if node.token in [other.token for other in refused]:
        return 0.0
    left = 1 - sum(other.target_prob or 0.0 for other in refused)
    return min(1.0, node.target_prob / left) if left > SOFT else None


def _drifted(place: str, stored: float, derived: float | None) -> Iterator[Problem]:
    if derived is not None and abs(stored - derived) > SOFT + SOFT * derived:
        yield Problem(place, f"is {stored:.6g}, but the nodes give {derived:.6g}", "warning")


def last_token(scene: Scene) -> Iterator[Problem]:
    """The round's last token: its origin, the distribution it came from, and that it can have come from there."""
    judged, place = scene.round.judged, f"{scene.place}.judged"
    if judged.origin != "forced" and judged.origin != (expected := _origin(scene)):
        yield Problem(f"{place}.origin", f"is '{judged.origin}', but {_WHY[expected]}, so it must be '{expected}'")
    if judged.residual is not None:
        if judged.origin != "correction":
            yield Problem(
                f"{place}.residual", f"is given for a {judged.origin} token, but only a correction is drawn from one"
            )
        yield from distribution(f"{place}.residual", judged.residual)
    if judged.residual_mass is not None and not 0 <= judged.residual_mass <= 1 + ROUNDING:
        yield Problem(f"{place}.residual_mass", f"is {judged.residual_mass}, but must lie between 0 and 1")
    if judged.u is not None and not 0 <= judged.u < 1:
        yield Problem(f"{place}.u", f"is {judged.u}, but a uniform draw lies in [0, 1)")
    if judged.origin != "forced":
        yield from _possible(scene)
        yield from _not_refused(scene)


_WHY = {
    "target": "nothing was drafted",
    "bonus": "a whole path down to a leaf was accepted",
    "correction": "the final node has children and none was accepted",
}


def _origin(scene: Scene) -> Origin:
    if len(scene.round.nodes) == 1:
        return "target"
    return "correction" if scene.offered(scene.round.judged.final_node) else "bonus"


def _possible(scene: Scene) -> Iterator[Problem]:
    """The token has mass where it was drawn; at temperature 0 everything follows the largest logit."""
    judged, nodes = scene.round.judged, scene.round.nodes
    top = judged.residual or nodes[judged.final_node].target
    mass = dict(zip(top.tokens, top.probs, strict=True)).get(judged.token, top.rest)
    if top.tokens and mass <= 0:
        told = f"is {judged.token}, but has no mass in the distribution it is drawn from"
        yield Problem(f"{scene.place}.judged.token", told, "error" if judged.token in top.tokens else "warning")
    if scene.started.sampling.temperature > 0 or not scene.started.verifier.lossless:
        return
    for index, trial in enumerate(judged.trials):
        if judged.order != "top_down":
            break  # there a node is also refused for what stands above it
        best = nodes[nodes[trial.node].parent].target.tokens[:1]
        if best and trial.accepted != (nodes[trial.node].token == best[0]):
            told = f"is {'accepted' if trial.accepted else 'refused'}, but the largest logit is token {best[0]}"
            yield Problem(f"{scene.place}.judged.trials[{index}]", told)
    for index, node in enumerate(judged.path):
        best = nodes[nodes[node].parent].target.tokens[:1]
        if best and best[0] != nodes[node].token:
            told = f"is node {node}, but the largest logit is token {best[0]}"
            yield Problem(f"{scene.place}.judged.path[{index}]", told)
    best = nodes[judged.final_node].target.tokens[:1]
    if best and best[0] != judged.token:
        yield Problem(f"{scene.place}.judged.token", f"is {judged.token}, but the largest logit is token {best[0]}")


def _not_refused(scene: Scene) -> Iterator[Problem]:
    """A lossless rule never ends on a token it has just refused: the residual has none of it left."""
    judged = scene.round.judged
    if judged.origin != "correction" or not scene.started.verifier.lossless or judged.residual_mass == 0:
        return
    for trial in _refused_last(scene):
        if scene.round.nodes[trial.node].token == judged.token:
            yield Problem(
                f"{scene.place}.judged.token", f"is {judged.token}, but node {trial.node} with this token was refused"
            )


def _refused_last(scene: Scene) -> list[Trial]:
    judged = scene.round.judged
    tried_last = {child.id for child in scene.offered(judged.final_node)}
    return [trial for trial in judged.trials if trial.node in tried_last]


def committed(scene: Scene) -> Iterator[Problem]:
    """Committed tokens are the path and the last token, less what was trimmed; the cache keeps exactly the path."""
    this, judged, place = scene.round.committed, scene.round.judged, f"{scene.place}.committed"
    verified = [CommittedToken(scene.round.nodes[node].token, "draft", node) for node in judged.path]
    verified.append(CommittedToken(judged.token, judged.origin, None))
    kept = len(verified) - this.trimmed_tokens
    if kept < 1:
        yield Problem(
            f"{place}.trimmed_tokens", f"is {this.trimmed_tokens}, but of {len(verified)} tokens at least one stays"
        )
    elif this.tokens != verified[:kept]:
        told = [token.token for token in this.tokens]
        should = [token.token for token in verified[:kept]]
        detail = f"is {told}, but path and last token give {should}"
        yield Problem(
            f"{place}.tokens", detail if told != should else "names other nodes or origins than the verdicts do"
        )
    if (this.trimmed is None) != (this.trimmed_tokens == 0):
        yield Problem(
            f"{place}.trimmed", f"is {this.trimmed} with {this.trimmed_tokens} tokens cut off; a cut has a reason"
        )
    yield from _cache(scene, this, len(verified))


def _cache(scene: Scene, this: Committed, verified: int) -> Iterator[Problem]:
    place, before = f"{scene.place}.committed", scene.round.base_length - 1
    rows = scene.round.scored.target_pass.rows
    if this.cache_before != before:
        yield Problem(
            f"{place}.cache_before", f"is {this.cache_before}, but all committed tokens but the root are {before}"
        )
    texts, nodes = 1 + max(scene.rows()), len(scene.round.nodes)
    if rows not in (texts, nodes):  # runs of older engines gave each node a row of its own
        expected = f"all {nodes} nodes" if texts == nodes else f"all {nodes} nodes, of {texts} different texts"
        yield Problem(f"{scene.place}.scored.target_pass.rows", f"is {rows}, but the target scores {expected}")
    if scene.round.scored.target_pass.cached_rows != this.cache_before:
        told = scene.round.scored.target_pass.cached_rows
        yield Problem(
            f"{scene.place}.scored.target_pass.cached_rows", f"is {told}, but cache_before is {this.cache_before}"
        )
    fewest, most = before + verified - this.trimmed_tokens, before + verified
    if not fewest <= this.cache_kept <= most:
        yield Problem(f"{place}.cache_kept", f"is {this.cache_kept}, but prefix and accepted path are {fewest} rows")
    if this.cache_kept + this.cache_dropped != this.cache_before + rows:
        yield Problem(f"{place}.cache_dropped", f"is {this.cache_dropped}, but of {rows} new rows this does not add up")

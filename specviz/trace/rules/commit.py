"""Rules about the end of a round: its last token can have come from where it was drawn, and what is final was verified.

The target's cache keeps exactly what became final. Called by `check` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Committed, CommittedToken, Origin
from specviz.trace.rules.distributions import distribution
from specviz.trace.rules.residuals import rejected_below
from specviz.trace.rules.scene import SINGLE, Bounds, Scene, producer_of
from specviz.trace.structure import Problem


def last_token(scene: Scene) -> Iterator[Problem]:
    """The round's last token: its origin, the distribution it came from, and that it can have come from there."""
    judged, where = scene.round.judged, f"{scene.place}.judged"
    if judged.origin != "forced" and judged.origin != (expected := _origin(scene)):
        yield Problem(f"{where}.origin", f"is '{judged.origin}', but {_WHY[expected]}, so it must be '{expected}'")
    if judged.residual is not None:
        if judged.origin != "correction":
            yield Problem(
                f"{where}.residual", f"is given for a {judged.origin} token, but only a correction is drawn from one"
            )
        yield from distribution(f"{where}.residual", judged.residual)
    if judged.u is not None and not 0 <= judged.u < 1:
        yield Problem(f"{where}.u", f"is {judged.u}, but a uniform draw lies in [0, 1)")
    if judged.origin != "forced":
        yield from _possible(scene)
        yield from _not_rejected(scene)


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
    """The token has mass where it was drawn."""
    judged, nodes = scene.round.judged, scene.round.nodes
    top = judged.residual or nodes[judged.final_node].target
    mass = dict(zip(top.tokens, top.probs, strict=True)).get(judged.token, top.rest)
    drawn_elsewhere = judged.u is not None and producer_of(scene.started) == "engine"  # held against u
    if top.tokens and mass <= 0 and (judged.token in top.tokens or not drawn_elsewhere):
        stated = f"is {judged.token}, but has no mass in the distribution it is drawn from"
        yield Problem(f"{scene.place}.judged.token", stated)
    if scene.rule is not None and not scene.rule.draws:
        yield from _most_probable(scene)
    if scene.greedy and scene.started.verifier.lossless:
        yield from _all_most_probable(scene)


def _most_probable(scene: Scene) -> Iterator[Problem]:
    """Where nothing is drawn the last token is the target's most probable one."""
    judged = scene.round.judged
    head = scene.round.nodes[judged.final_node].target
    if head.tokens and not Bounds.of_head(head)[judged.token].high >= head.probs[0] - SINGLE:
        stated = f"is {judged.token}, but '{judged.rule}' ends with the most probable token, {head.tokens[0]}"
        yield Problem(f"{scene.place}.judged.token", stated)


def _all_most_probable(scene: Scene) -> Iterator[Problem]:
    """At temperature 0 whatever a lossless rule accepts is the largest logit, and nothing else is."""
    judged, nodes = scene.round.judged, scene.round.nodes
    for index, trial in enumerate(judged.trials):
        if judged.order != "top_down":
            break  # there a node is also rejected for what stands above it
        best = nodes[nodes[trial.node].parent].target.tokens[:1]
        if best and trial.accepted != (nodes[trial.node].token == best[0]):
            stated = f"is {'accepted' if trial.accepted else 'rejected'}, but the largest logit is token {best[0]}"
            yield Problem(f"{scene.place}.judged.trials[{index}]", stated)
    for index, node in enumerate(judged.path):
        best = nodes[nodes[node].parent].target.tokens[:1]
        if best and best[0] != nodes[node].token:
            stated = f"is node {node}, but the largest logit is token {best[0]}"
            yield Problem(f"{scene.place}.judged.path[{index}]", stated)
    best = nodes[judged.final_node].target.tokens[:1]
    if best and best[0] != judged.token:
        yield Problem(f"{scene.place}.judged.token", f"is {judged.token}, but the largest logit is token {best[0]}")


def _not_rejected(scene: Scene) -> Iterator[Problem]:
    """A lossless rule never ends on a token it has just rejected: the residual has none of it left."""
    judged = scene.round.judged
    if judged.origin != "correction" or not scene.started.verifier.lossless or judged.residual_mass == 0:
        return
    for trial in rejected_below(scene, judged.final_node):
        if scene.round.nodes[trial.node].token == judged.token:
            yield Problem(
                f"{scene.place}.judged.token", f"is {judged.token}, but node {trial.node} with this token was rejected"
            )


def committed(scene: Scene) -> Iterator[Problem]:
    """Committed tokens are the path and the last token, less what was trimmed; the cache keeps exactly the path."""
    this, judged, where = scene.round.committed, scene.round.judged, f"{scene.place}.committed"
    verified = [CommittedToken(scene.round.nodes[node].token, "draft", node) for node in judged.path]
    verified.append(CommittedToken(judged.token, judged.origin, None))
    kept = len(verified) - this.trimmed_tokens
    if kept < 1:
        yield Problem(
            f"{where}.trimmed_tokens", f"is {this.trimmed_tokens}, but of {len(verified)} tokens at least one stays"
        )
    elif this.tokens != verified[:kept]:
        stated = [token.token for token in this.tokens]
        should = [token.token for token in verified[:kept]]
        detail = f"is {stated}, but path and last token give {should}"
        yield Problem(
            f"{where}.tokens", detail if stated != should else "names other nodes or origins than the verdicts do"
        )
    if (this.trimmed is None) != (this.trimmed_tokens == 0):
        yield Problem(
            f"{where}.trimmed", f"is {this.trimmed} with {this.trimmed_tokens} tokens cut off; a cut has a reason"
        )
    yield from _cache(scene, this, len(verified))


def _cache(scene: Scene, this: Committed, verified: int) -> Iterator[Problem]:
    where, before = f"{scene.place}.committed", scene.round.base_length - 1
    rows = scene.round.scored.target_pass.rows
    if this.cache_before != before:
        yield Problem(
            f"{where}.cache_before", f"is {this.cache_before}, but all committed tokens but the root are {before}"
        )
    texts, nodes = 1 + max(scene.rows), len(scene.round.nodes)
    if rows not in (texts, nodes):  # runs of older engines gave each node a row of its own
        expected = f"all {nodes} nodes" if texts == nodes else f"all {nodes} nodes, of {texts} different texts"
        yield Problem(f"{scene.place}.scored.target_pass.rows", f"is {rows}, but the target scores {expected}")
    if scene.round.scored.target_pass.cached_rows != this.cache_before:
        stated = scene.round.scored.target_pass.cached_rows
        yield Problem(
            f"{scene.place}.scored.target_pass.cached_rows", f"is {stated}, but cache_before is {this.cache_before}"
        )
    fewest, most = before + verified - this.trimmed_tokens, before + verified
    if not fewest <= this.cache_kept <= most:
        yield Problem(f"{where}.cache_kept", f"is {this.cache_kept}, but prefix and accepted path are {fewest} rows")
    if this.cache_kept + this.cache_dropped != this.cache_before + rows:
        yield Problem(f"{where}.cache_dropped", f"is {this.cache_dropped}, but of {rows} new rows this does not add up")

"""Rules inside one round: what became final is what was verified, and the target's cache keeps exactly that.

Called by `check` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Committed, CommittedToken
from specviz.trace.problems import Problem
from specviz.trace.rules.scene import Scene


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
    texts, nodes = 1 + max(scene.rows), len(scene.round.nodes)
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

"""A round's recorded heads, and each node's p and q, against what the checkpoints say."""

from __future__ import annotations

from specviz.live.audit.models_say import ModelsSay
from specviz.live.audit.tally import Tally
from specviz.protocol.audits import DRAFT_HEADS, TARGET_HEADS
from specviz.trace.events import Node

POINT_MASS = "q of point masses: such candidates are not drawn"


def heads(say: ModelsSay, tally: Tally) -> None:
    """Every node of the round."""
    for node in say.scene.round.nodes:
        place = f"{say.scene.place}.nodes[{node.id}]"
        tally.head(TARGET_HEADS, f"{place}.target", node.target, say.target(node.id))
        if node.target_raw is not None:
            tally.head(TARGET_HEADS, f"{place}.target_raw", node.target_raw, say.target_raw(node.id))
        if node.parent >= 0 and node.target_prob is not None:
            due = say.target(node.parent)[node.token]
            tally.number(TARGET_HEADS, f"{place}.target_prob", node.target_prob, due)
        _draft_heads(say, tally, place, node)


def _draft_heads(say: ModelsSay, tally: Tally, place: str, node: Node) -> None:
    q = say.draft(node.id)
    raw = None if node.draft_raw is None else say.draft_raw(node.id, node.draft_raw)
    if q is not None and node.draft is not None:
        tally.head(DRAFT_HEADS, f"{place}.draft", node.draft, q)
    if raw is not None and node.draft_raw is not None:
        tally.head(DRAFT_HEADS, f"{place}.draft_raw", node.draft_raw, raw)
    elif node.draft_raw is not None:
        tally.skip(f"heads of what the drafter '{say.scene.started.drafter.name}' drafts with: {why_not(say)}")
    if node.parent < 0 or node.draft_prob is None:
        return
    due = say.proposal(node, [])
    if node.kind == "point_mass":
        tally.skip(POINT_MASS)
    elif due is None:
        tally.skip(f"q of candidates from '{node.source}': {why_not(say)}")
    else:
        tally.number(DRAFT_HEADS, f"{place}.draft_prob", node.draft_prob, due[node.token])


def why_not(say: ModelsSay) -> str:
    """Why q is not recomputed."""
    if say.scene.started.drafter.model is None:
        return "it has no checkpoint of its own"
    if not say.drafters:
        return "it changes its checkpoint's distribution before it draws"
    return "they were not drawn from a checkpoint of the header"

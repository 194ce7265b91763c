"""A round's heads, p, q, ranks, entropies, KL and overlap against what the checkpoints say, within their slack."""

from __future__ import annotations

from math import log

import numpy as np

from specviz.live.audit.laws import SINGLE, Law, Number, Row
from specviz.live.audit.models_say import ModelsSay
from specviz.live.audit.tally import Tally
from specviz.protocol.audits import AGREEMENT, DRAFT_HEADS, TARGET_HEADS
from specviz.trace.events import Agreement, Node

ROUNDING = 0.5e-4
"""of the recorded numbers"""


def agreements(say: ModelsSay, tally: Tally) -> None:
    """Every node of the round that has such numbers; of a draft that no checkpoint gives, the target's alone."""
    for node in say.scene.round.nodes:
        place = f"{say.scene.place}.nodes[{node.id}]"
        if node.rank is not None and node.parent >= 0:
            least, most = _ranks(say.target_raw(node.parent), node.token)
            due = f"{least} to {most}" if most > least else least
            tally.compare(AGREEMENT, f"{place}.rank", least <= node.rank <= most, node.rank, due)
        if node.agreement is not None:
            _compare(tally, f"{place}.agreement", node.agreement, say.target(node.id), say.draft(node.id))
        if node.agreement_raw is not None:
            draft = None if node.draft_raw is None else say.draft_raw(node.id, node.draft_raw)
            _compare(tally, f"{place}.agreement_raw", node.agreement_raw, say.target_raw(node.id), draft)


def _ranks(law: Law, token: int) -> tuple[int, int]:
    """The places that a token may have where every logit may be off by the slack."""
    own = law[token]
    others = np.arange(len(law.probs)) != token
    surely = (law.probs - law.near > own.value + own.near) & others
    perhaps = (law.probs + law.near >= own.value - own.near) & others
    return 1 + int(surely.sum()), 1 + int(perhaps.sum())


def _compare(tally: Tally, place: str, said: Agreement, p: Law, q: Law | None) -> None:
    tally.number(AGREEMENT, f"{place}.target_bits", said.target_bits, _entropy(p), ROUNDING)
    if said.draft_bits is None or said.overlap is None:
        return
    if q is None:
        tally.skip("entropy, KL and overlap of drafts that no checkpoint of the header gives")
        return
    tally.number(AGREEMENT, f"{place}.draft_bits", said.draft_bits, _entropy(q), ROUNDING)
    overlap = Number(float(np.minimum(p.probs, q.probs).sum()), _off(p) + _off(q))
    tally.number(AGREEMENT, f"{place}.overlap", said.overlap, overlap, ROUNDING)
    kl = _divergence(p, q)
    if said.kl_bits is None or kl is None:
        tally.compare(AGREEMENT, f"{place}.kl_bits", said.kl_bits is None and kl is None, said.kl_bits, kl)
    else:
        tally.number(AGREEMENT, f"{place}.kl_bits", said.kl_bits, kl, ROUNDING)


def _off(law: Law) -> float:
    """The share by which each probability may be off."""
    best = int(law.probs.argmax())
    return float(law.near[best] / law.probs[best]) if law.near[best] else SINGLE


def _bits(probs: Row) -> Row:
    """-log2 of each probability; 0 where there is none."""
    row: Row = np.zeros_like(probs)
    return -np.log2(probs, out=row, where=probs > 0)


def _entropy(law: Law) -> Number:
    """With d the share by which each p may be off, H moves by no more than about d (H + log2 e)."""
    bits = float((law.probs * _bits(law.probs)).sum())
    off = _off(law)
    return Number(bits, off * (1 + off) * (bits + (1 + off) / log(2)))


def _divergence(p: Law, q: Law) -> Number | None:
    """KL(p‖q) in bits; None where q leaves out what p can say."""
    if bool(((p.probs > 0) & (q.probs == 0)).any()):
        return None
    ratios = _bits(q.probs) - _bits(p.probs)
    reach = float((p.probs * np.abs(ratios)).sum())
    return Number(float((p.probs * ratios).sum()), _off(p) * reach + (1 + _off(p)) * (_off(p) + _off(q)) / log(2))


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

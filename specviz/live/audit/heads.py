"""What the checkpoints say at every node of a round, the target and the drafter's models, and a round's heads, p, q,
ranks, entropies, KL and overlap against it, within their slack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import log

import numpy as np
from torch import Tensor

from specviz.live.audit.checkpoints import Checkpoint, Says
from specviz.live.audit.laws import SINGLE, SLACKS, Law, Number, Row, Tally, belief, law, normalised, point
from specviz.protocol.audits import AGREEMENT, DRAFT_HEADS, TARGET_HEADS
from specviz.trace.events import Agreement, Node, TopK
from specviz.trace.rules.distributions import drawn_by
from specviz.trace.rules.scene import Scene

DRAWS_AS_THEY_ARE = {
    "model": ("model",),
    "rasd": ("model",),
    "merged": ("model", "model_2", "model_3", "model_4"),
    "amusd": ("amusd",),
    "pearl": ("pearl",),
    "ssd": ("ssd",),
}
"""drafters whose models are the header's checkpoints, unchanged → what their candidates are marked with, by model"""
TARGET = "target"


def proposal(q: Law | None, child: Node, rejected: Sequence[Node], size: int) -> Law | None:
    """What a candidate was drawn from: a point mass, q, or q less the siblings drawn before it and put back nowhere."""
    if child.kind == "point_mass":
        return point(child.token, size)
    gone = [
        node.token
        for node in rejected
        if (node.kind, node.source) == (child.kind, child.source) and child.kind != "iid"
    ]
    if q is None or not gone:
        return q
    probs, near = q.probs.copy(), q.near.copy()
    probs[gone] = near[gone] = 0.0
    return normalised(probs, near)[0]


class ModelsSay:
    """One round's distributions, worked out on demand."""

    def __init__(self, scene: Scene, target: Checkpoint, drafters: Mapping[str, Says]) -> None:
        """`drafters`: what candidates are marked with → the checkpoint they were drawn from."""
        self.scene = scene
        self.size = target.card.vocab_size
        self.drafters = drafters
        self._slack = SLACKS.get(target.card.dtype, SLACKS["bfloat16"])
        self._models: dict[str, Says] = {TARGET: target, **drafters}
        self._target: dict[int, Law] = {}
        self._draft: dict[tuple[int, str], Law] = {}

    @cached_property
    def _logits(self) -> dict[str, dict[int, Tensor]]:
        """Per model the logits [V] after each node's text: prompt, committed text and path."""
        nodes, found = self.scene.round.nodes, dict[str, dict[int, Tensor]]()
        parents = {node.parent for node in nodes}
        paths = [list(self.scene.path_to(node.id))[::-1] for node in nodes if node.id not in parents]
        tails = [tuple(nodes[node].token for node in path[1:]) for path in paths]
        once = list(dict.fromkeys(tails))
        for role, model in self._models.items():
            said = dict(zip(once, model.logits(self.scene.text, once), strict=True))
            found[role] = {
                node: said[tail][depth]
                for path, tail in zip(paths, tails, strict=True)
                for depth, node in enumerate(path)
            }
        return found

    def target(self, node: int) -> Law:
        """p after the node, after the sampling transform."""
        if node not in self._target:
            shown = self.scene.round.nodes[node].target
            self._target[node] = law(self._logits[TARGET][node], self.scene.started.sampling, self._slack, shown)
        return self._target[node]

    def target_raw(self, node: int) -> Law:
        return belief(self._logits[TARGET][node], self._slack)

    def draft(self, node: int) -> Law | None:
        """q for the node's children; None where it is no checkpoint of the header that they were drawn from."""
        source = drawn_by(self.scene, node)
        return None if source is None else self._draws(node, source)

    def draft_raw(self, node: int, shown: TopK) -> Law | None:
        """What the model that is shown at a node believes: the one that its first candidate comes from. Of several
        models at a node without one it may be any, so the one closest to the record is taken."""
        children = self.scene.children(node)
        if children and children[0].source in self.drafters:
            return belief(self._logits[children[0].source][node], self._slack)
        every = [belief(self._logits[source][node], self._slack) for source in self.drafters]
        return min(every, key=lambda one: float(np.abs(one.probs[shown.tokens] - shown.probs).sum()), default=None)

    def proposal(self, child: Node, rejected: Sequence[Node]) -> Law | None:
        """Q of a candidate after rejected ones; None: not recomputed."""
        return proposal(self._draws(child.parent, child.source), child, rejected, self.size)

    def _draws(self, node: int, source: str) -> Law | None:
        """q of one of the models at a node; None where it is no checkpoint of the header."""
        if source not in self.drafters:
            return None
        if (node, source) not in self._draft:
            shown = self.scene.round.nodes[node].draft if source == drawn_by(self.scene, node) else None
            logits = self._logits[source][node]
            self._draft[node, source] = law(logits, self.scene.started.sampling, self._slack, shown)
        return self._draft[node, source]


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

"""Rules inside one round: the numbers of whole distributions, as far as recorded heads bound them.

A rank, an entropy and an overlap lie between what the heads leave possible; of a divergence heads give no upper end.
Called by `check` on a structurally sound round; `specviz audit` works the numbers out anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import e, log, log2

from specviz.trace.events import Agreement, Node, TopK
from specviz.trace.rules.scene import SINGLE, Bounds, Range, Scene, recorded
from specviz.trace.structure import Problem

ROUNDING = 0.5e-4 + SINGLE
"""the numbers of an agreement have four decimals"""


def ranks(scene: Scene) -> Iterator[Problem]:
    """A candidate's rank is one that the head at its parent leaves it; at temperature 0 the first is the largest."""
    size = scene.started.target.vocab_size
    for node in scene.round.nodes:
        if node.rank is None:
            continue
        where = f"{scene.place}.nodes[{node.id}].rank"
        if node.parent < 0:
            yield Problem(where, "is given, but the root was not drafted")
            continue
        parent = scene.round.nodes[node.parent]
        head = parent.target_raw or parent.target
        due = _rank_in(head, node.token, size)
        if scene.greedy and parent.target.tokens:
            largest = node.token == parent.target.tokens[0]
            due = Range(1, 1) if largest else Range(max(2, due.low), due.high)
        if not due.low <= node.rank <= due.high:
            yield Problem(where, f"is {node.rank}, but its parent's distribution leaves it {due.low:g} to {due.high:g}")


def _rank_in(head: TopK, token: int, size: int) -> Range:
    """The places that a token may have in a distribution of which the head is known."""
    if not head.tokens:
        return Range(1, size)
    ranges = dict(zip(head.tokens, map(recorded, head.probs), strict=True))
    own = ranges.pop(token, Range(0.0, ranges[head.tokens[-1]].high))
    surely = sum(other.low > own.high for other in ranges.values())
    perhaps = sum(other.high >= own.low for other in ranges.values())
    beyond = own.low <= recorded(head.probs[-1]).high  # tokens outside the head may be as probable
    return Range(1 + surely, size if beyond else 1 + perhaps)


def agreements(scene: Scene) -> Iterator[Problem]:
    """Every node's five numbers against its heads."""
    for node in scene.round.nodes:
        where = f"{scene.place}.nodes[{node.id}]"
        if node.agreement is not None and scene.greedy:
            yield Problem(f"{where}.agreement", "is given, but at temperature 0 point masses are judged")
        elif node.agreement is not None:
            yield from _of_heads(f"{where}.agreement", node.agreement, node.target, node.draft, scene)
        if node.agreement_raw is not None:
            yield from _of_heads(f"{where}.agreement_raw", node.agreement_raw, *_own_heads(scene, node), scene)


def _own_heads(scene: Scene, node: Node) -> tuple[TopK, TopK | None]:
    """What shows the models' own beliefs; of a draft at plain temperature 1 that nothing was drawn from, nothing."""
    return node.target_raw or node.target, node.draft_raw


def _of_heads(where: str, said: Agreement, target: TopK, draft: TopK | None, scene: Scene) -> Iterator[Problem]:
    size = scene.started.target.vocab_size
    yield from _within(f"{where}.target_bits", said.target_bits, entropy(target, size))
    if (said.draft_bits is None) != (said.overlap is None) or (said.draft_bits is None and said.kl_bits is not None):
        yield Problem(where, "compares with a draft in part; entropy and overlap are given together or not at all")
    if said.draft_bits is None or said.overlap is None:
        return
    yield from _within(f"{where}.draft_bits", said.draft_bits, entropy(draft, size))
    _, distance = Bounds.of_head(target).minus(Bounds.of_head(draft))
    yield from _within(f"{where}.overlap", said.overlap, Range(1 - distance.high, 1 - distance.low).capped())
    least = 2 * max(0.0, 1 - said.overlap - ROUNDING) ** 2 / log(2)  # Pinsker's inequality, in bits
    if said.kl_bits is not None and said.kl_bits < least - ROUNDING:
        stated = f"is {said.kl_bits:.6g}, but distributions that overlap by {said.overlap:.6g} diverge by {least:.6g}"
        yield Problem(f"{where}.kl_bits", stated)


def _within(where: str, value: float, due: Range) -> Iterator[Problem]:
    if not due.low - ROUNDING <= value <= due.high + ROUNDING:
        yield Problem(where, f"is {value:.6g}, but the recorded distribution makes it {due}")


def entropy(head: TopK | None, size: int) -> Range:
    """In bits: the rest is least spread in lumps as large as the head's last, and most where all others share it."""
    if head is None or not head.tokens:
        return Range(0.0, log2(size))
    parts = [_share_of_entropy(recorded(prob)) for prob in head.probs]
    known = Bounds.of_head(head)
    others = max(0, size - len(head.tokens))
    low = known.rest.low * log2(1 / known.each) if known.each > 0 else 0.0
    high = _most(known.rest, others)
    return Range(sum(part.low for part in parts) + low, sum(part.high for part in parts) + high)


def _share_of_entropy(prob: Range) -> Range:
    """-p log2 p: rises to its top at 1/e and falls to 0 at 1."""
    ends = [_surprise(value) for value in prob]
    return Range(min(ends), log2(e) / e if prob.low < 1 / e < prob.high else max(ends))


def _most(rest: Range, others: int) -> float:
    """Entropy of the mass `rest` where `others` tokens share it evenly, at its largest."""
    if others == 0:
        return 0.0
    mass = min(rest.high, max(rest.low, others / e))
    return _surprise(mass) + mass * log2(others)


def _surprise(prob: float) -> float:
    return -prob * log2(prob) if prob > 0 else 0.0

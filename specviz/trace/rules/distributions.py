"""Rules inside one round: the tree's distributions, each node's p and q as its parent's heads show them, and heads
after the sampling transform against the models' own, at the run's temperature.

Temperature, top-k and top-p, in this order, are plain arithmetic, so the one head follows from the other as far as it
reaches. A rank, an entropy and an overlap of whole distributions lie between what the heads leave possible; of a
divergence heads give no upper end, and `specviz audit` works these numbers out anew. Called by `check` on a
structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import e, log, log2

from specviz.trace.events import Agreement, Node, TopK
from specviz.trace.header import SamplingCard
from specviz.trace.rules.scene import HALF_DIGIT, SINGLE, Bounds, Range, Scene, recorded
from specviz.trace.structure import TOPS, Problem


def tree(scene: Scene) -> Iterator[Problem]:
    """Distributions are distributions; siblings are distinct; a node's p and q are the ones its parent shows."""
    nodes = scene.round.nodes
    for node in nodes:
        where = f"{scene.place}.nodes[{node.id}]"
        for name in TOPS:
            top = getattr(node, name)
            if top is not None:
                yield from distribution(f"{where}.{name}", top)
        if scene.greedy and node.target.tokens and node.target.probs[0] < 1 - SINGLE:
            yield Problem(
                f"{where}.target", "is spread out, but at temperature 0 it is a point mass on the largest logit"
            )
        if node.parent >= 0:
            yield from _as_parent_shows(scene, where, node, nodes[node.parent])
        yield from _siblings(scene, scene.children(node.id))


def distribution(where: str, top: TopK) -> Iterator[Problem]:
    """Probabilities in decreasing order, no token twice, and exactly the mass outside in `rest`."""
    if any(not 0 <= prob <= 1 + SINGLE for prob in (*top.probs, top.rest)):
        yield Problem(where, "holds a value outside 0 to 1, but all are probabilities")
    if any(after > before for before, after in zip(top.probs, top.probs[1:], strict=False)):
        yield Problem(f"{where}.probs", "is not in decreasing order")
    if len(set(top.tokens)) != len(top.tokens):
        yield Problem(f"{where}.tokens", "names a token twice")
    total = sum(top.probs) + top.rest
    if abs(total - 1) > (len(top.probs) + 1) * HALF_DIGIT + SINGLE:
        yield Problem(where, f"sums to {total:.8g} with its rest, but a distribution sums to 1")


def _as_parent_shows(scene: Scene, where: str, node: Node, parent: Node) -> Iterator[Problem]:
    for name in ("target_prob", "draft_prob"):
        prob = getattr(node, name)
        if prob is None:
            yield Problem(f"{where}.{name}", "is missing, but every candidate has one")
        elif not 0 <= prob <= 1 + SINGLE:
            yield Problem(f"{where}.{name}", f"is {prob}, but a probability lies between 0 and 1")
    if node.target_prob is not None:
        yield from _shown_as(f"{where}.target_prob", node.token, node.target_prob, parent.target)
    if node.kind == "point_mass":
        if node.draft_prob != 1:
            yield Problem(f"{where}.draft_prob", f"is {node.draft_prob}, but a point mass has proposal probability 1")
    elif parent.draft is not None and node.draft_prob is not None and node.source == drawn_by(scene, parent.id):
        yield from _shown_as(f"{where}.draft_prob", node.token, node.draft_prob, parent.draft)
    elif parent.draft is None and scene.keeps_heads:
        yield Problem(f"{where}.kind", f"is '{node.kind}', but its parent shows no distribution it was drawn from")


def drawn_by(scene: Scene, parent: int) -> str | None:
    """Whose distribution a node's `draft` is: that of the first drawn child; None where none was drawn."""
    return next((child.source for child in scene.children(parent) if child.kind != "point_mass"), None)


def _shown_as(where: str, token: int, prob: float, top: TopK) -> Iterator[Problem]:
    """A token of the head has the head's probability; one outside it has at most the rest and the head's last."""
    if not top.tokens:
        return
    if token in top.tokens:
        shown = recorded(top.probs[top.tokens.index(token)])
        if not shown.holds(prob):
            yield Problem(where, f"is {prob:.6g}, but its parent's distribution gives this token {shown}")
    elif not (shown := Bounds.of_head(top)[token]).holds(prob):
        yield Problem(where, f"is {prob:.6g}, but its parent's distribution leaves at most {shown.high:.6g} to it")


def _siblings(scene: Scene, siblings: list[Node]) -> Iterator[Problem]:
    seen: dict[tuple[int, str], int] = {}
    for node in siblings:
        if node.kind == "iid":
            continue
        key = (node.token, node.source)
        if key in seen:
            yield Problem(
                f"{scene.place}.nodes[{node.id}].token",
                f"is {node.token}, the same as its sibling {seen[key]}, but only i.i.d. siblings may repeat a token",
            )
        seen[key] = node.id


def transformed(scene: Scene) -> Iterator[Problem]:
    """Every node's `target` against `target_raw`, and `draft` against `draft_raw` where candidates were drawn."""
    sampling, size = scene.started.sampling, scene.started.target.vocab_size
    for node in scene.round.nodes:
        where = f"{scene.place}.nodes[{node.id}]"
        if node.target_raw is not None:
            yield from _follows(f"{where}.target", node.target, node.target_raw, sampling, size)
        drawn = drawn_by(scene, node.id)
        if node.draft_raw is not None and node.draft is not None and drawn is not None and drawn != "target":
            yield from _follows(f"{where}.draft", node.draft, node.draft_raw, sampling, size)
    yield from _cut_off(scene)


def _cut_off(scene: Scene) -> Iterator[Problem]:
    """Top-k leaves no more than k tokens with mass."""
    k = scene.started.sampling.top_k
    for node in scene.round.nodes:
        where, head = f"{scene.place}.nodes[{node.id}].target", node.target
        if k > 0 and head.tokens and (len(head.tokens) > k or (len(head.tokens) == k and head.rest > SINGLE)):
            yield Problem(where, f"has mass on more than {k} tokens, but top-k is {k}")


def _follows(where: str, head: TopK, raw: TopK, sampling: SamplingCard, size: int) -> Iterator[Problem]:
    if not head.tokens or not raw.tokens:
        return
    if sampling.temperature == 0:
        if not Bounds.of_head(raw)[head.tokens[0]].high >= raw.probs[0] - SINGLE:
            stated = f"is token {head.tokens[0]}, but the model's own head has token {raw.tokens[0]} on top"
            yield Problem(where, stated)
        return
    wrong = next(_out_of_proportion(where, head, raw, sampling), None)
    if wrong is not None:
        yield wrong
        return
    for token, derived in sharpened(raw, sampling, size).items():
        if token in head.tokens:
            shown = recorded(head.probs[head.tokens.index(token)])
            if shown.high < derived.low - SINGLE or shown.low > derived.high + SINGLE:
                yield Problem(where, f"gives token {token} {shown}, but the model's own head makes it {derived}")
                return
        elif derived.low > min(head.probs[-1], max(head.rest, 0.0)) + 2 * SINGLE:
            yield Problem(where, f"leaves out token {token}, but the model's own head makes it {derived}")
            return


def _out_of_proportion(where: str, head: TopK, raw: TopK, sampling: SamplingCard) -> Iterator[Problem]:
    """Two tokens that nothing cut off stand to each other as (raw_i / raw_j)^(1/T), whatever the rest holds."""
    now = dict(zip(head.tokens, map(recorded, head.probs), strict=True))
    before = {token: recorded(prob) for token, prob in zip(raw.tokens, raw.probs, strict=True)}
    known = next((token for token in raw.tokens if token in now), None)  # the most probable is known most exactly
    if known is None or before[known].low <= 0:
        return
    cut, power = sampling.top_k > 0 or sampling.top_p < 1, 1 / sampling.temperature
    outside = min(recorded(head.probs[-1]).high, head.rest + len(head.tokens) * HALF_DIGIT)
    for token, there in before.items():
        low = now[known].low * (there.low / before[known].high) ** power
        high = now[known].high * (there.high / before[known].low) ** power
        shown = now.get(token, Range(0.0, low if cut else outside))
        if shown.high < low - SINGLE * low - 1e-9 or shown.low > high + SINGLE * high + 1e-9:
            stated = f"gives token {token} {shown} beside {now[known]} of token {known}"
            yield Problem(where, f"{stated}, but by the model's own head it is {Range(low, high)}")


def sharpened(raw: TopK, sampling: SamplingCard, size: int) -> dict[int, Range]:
    """The raw head's tokens after temperature, top-k and nucleus, as ranges."""
    power, largest = 1 / sampling.temperature, recorded(raw.probs[0]).high
    ranges = [recorded(prob) for prob in raw.probs]
    weights = [Range((there.low / largest) ** power, (there.high / largest) ** power) for there in ranges]
    rest = _rest(raw, power, largest, size)
    surely, perhaps = _ahead(raw, beyond=len(raw.tokens) < size)
    if 0 < (k := sampling.top_k) < size:
        sure = [len(one) < k and BEYOND not in one for one in perhaps]
        possible = [len(one) < k for one in surely]
        weights = [
            Range(one.low if must else 0.0, one.high if may else 0.0)
            for one, must, may in zip(weights, sure, possible, strict=True)
        ]
        rest = Range(0.0, 0.0 if k < len(weights) and sure[k - 1] else rest.high)
    shares = _shares(weights, rest)
    if sampling.top_p < 1:
        shares = _nucleus(weights, rest, shares, (surely, perhaps), sampling.top_p)
    return dict(zip(raw.tokens, shares, strict=True))


BEYOND = -1
"""stands for the tokens outside the head"""

Ahead = list[list[int]]


def _ahead(raw: TopK, beyond: bool) -> tuple[Ahead, Ahead]:
    """Per token of the head the indices of those that are surely, and of those that are perhaps, more probable.

    Of tokens with the same recorded probability either may be: half precision makes many equal, and at the edge of
    top-k or nucleus the lowest ids stay.
    """
    ranges = [recorded(prob) for prob in raw.probs]
    surely = [[j for j, other in enumerate(ranges) if other.low > interval.high] for interval in ranges]
    perhaps = [
        [j for j, other in enumerate(ranges) if j != i and other.high >= interval.low]
        for i, interval in enumerate(ranges)
    ]
    for index, interval in enumerate(ranges):
        if beyond and interval.low <= ranges[-1].high:
            perhaps[index].append(BEYOND)
    return surely, perhaps


def _rest(raw: TopK, power: float, largest: float, size: int) -> Range:
    """Sum of (x / largest)^power over the tokens outside the head: none is above the head's last, and together they are
    `rest`. Against the largest, because at low temperatures powers of probabilities are smaller than any number."""
    others = max(0, size - len(raw.tokens))
    mass = Range(*(total / largest for total in Bounds.of_head(raw).rest))
    each = min(recorded(raw.probs[-1]).high / largest, mass.high)
    if others == 0 or each <= 0:
        return Range(0.0, 0.0)
    evenly = [others * (total / others) ** power for total in mass]
    bunched = [total / each * each**power for total in mass]
    return Range(min(evenly[0], bunched[0]), max(evenly[1], bunched[1]))


def _shares(weights: Sequence[Range], rest: Range) -> list[Range]:
    """Each weight divided by the sum of all."""
    low, high = sum(weight.low for weight in weights), sum(weight.high for weight in weights)
    return [
        Range(
            weight.low / (weight.low + high - weight.high + rest.high) if weight.low > 0 else 0.0,
            weight.high / (weight.high + low - weight.low + rest.low) if weight.high > 0 else 0.0,
        )
        for weight in weights
    ]


def _nucleus(
    weights: Sequence[Range], rest: Range, shares: Sequence[Range], ahead: tuple[Ahead, Ahead], top_p: float
) -> list[Range]:
    """Kept while the tokens before have less than top-p; renormalised over what is certainly or perhaps kept."""
    outside = 1 - sum(share.low for share in shares)
    kept: list[Range] = []
    for one, surely, perhaps in zip(weights, *ahead, strict=True):
        low = sum(shares[j].low for j in surely)
        high = sum(shares[j].high for j in perhaps if j != BEYOND) + (outside if BEYOND in perhaps else 0.0)
        certain, possible = high < top_p - SINGLE, low < top_p + SINGLE
        kept.append(Range(one.low if certain else 0.0, one.high if possible else 0.0))
    inside = sum(share.low for share in shares)
    return _shares(kept, Range(0.0, rest.high if inside < top_p + SINGLE else 0.0))


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

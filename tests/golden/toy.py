"""A toy run of speculative decoding in plain Python: given distributions, wanted verdicts, exact numbers.

The tokens are chosen to be awkward on a page (tags, template markers, control and right-to-left characters, an emoji
split over two tokens). Only the sequential and the greedy rule.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log2

from specviz.trace.events import (
    Agreement,
    CandidateKind,
    Committed,
    CommittedToken,
    Drafted,
    Fate,
    Judged,
    LaneSpan,
    Node,
    Origin,
    Pass,
    Round,
    Scored,
    TopK,
    Trial,
    TrimReason,
    VocabEntry,
)

TARGET_PASS_S, DRAFT_PASS_S, HOUSEKEEPING_S = 0.010, 0.002, 0.0005
"""toy durations of the simulated clock"""

TOKENS: list[bytes] = [
    b"<|end|>", b"def", b" add", b"(", b"a", b",", b" b", b"):", b"\n", b"    ", b"return", b" a", b" +",
    b"<b>", b"${1+1}", b"`", b"{{x}}", b"\xf0\x9f", b"\x9a\x80", "אב".encode(), "\u200b".encode(),
    b"</script>", b"&amp;", b'"', b" #", b" c", "\u202e".encode(), b"-", b" *", "e\u0301".encode(), b" \t", b"END",
]  # fmt: skip
V = len(TOKENS)
ID = {token: id_ for id_, token in enumerate(TOKENS)}

Vector = list[float]
Head = Mapping[bytes, float]


@dataclass
class Candidate:
    """One drafted node: its token, its parent, and the heads of p after it and of q for its children."""

    token: bytes
    parent: int
    p: Head = field(default_factory=dict)
    q: Head | None = None
    """proposal for this node's children"""
    kind: CandidateKind = "iid"
    source: str = "model"


@dataclass
class Script:
    """One round: distributions at the root, candidates, wanted verdicts in trial order, wanted last token."""

    p: Head
    q: Head | None
    candidates: list[Candidate]
    verdicts: list[bool]
    last: bytes
    keep: int | None = None
    """tokens left after trimming"""
    cut: TrimReason = "stop"
    note: dict[str, int] = field(default_factory=dict)
    greedy: bool = False
    """temperature 0: targets are point masses, the heads given here show as the models' own"""
    lanes: list[LaneSpan] = field(default_factory=list)
    """what a drafter that works beside the target did"""
    waited_s: float = 0.0
    """for such a drafter, before the target's pass"""


def spread(head: Head) -> Vector:
    """A full distribution: the head as given, the rest shared evenly."""
    rest = (1.0 - sum(head.values())) / (V - len(head))
    return [head.get(token, rest) for token in TOKENS]


def sharpen(probs: Vector) -> Vector:
    """The point mass on the largest probability."""
    best = probs.index(max(probs))
    return [float(i == best) for i in range(V)]


def top(probs: Vector, count: int = 6) -> TopK:
    order = sorted(range(V), key=lambda token: (-probs[token], token))[:count]
    kept = [probs[token] for token in order]
    if kept[0] == 1.0:
        return TopK(order[:1], [1.0], 0.0)
    return TopK(order, kept, max(0.0, 1.0 - sum(kept)))


def residual(p: Vector, q: Vector) -> tuple[Vector, float]:
    left = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    mass = sum(left)
    return [value / mass for value in left], mass


class Judge:
    """The sequential rule, played towards wanted verdicts: u is put where the wanted outcome lies."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.wanted = iter(script.verdicts)
        self.trials: list[Trial] = []
        self.path: list[int] = []
        self.raw = [spread(script.p)] + [spread(c.p) for c in script.candidates]
        self.p = [sharpen(probs) for probs in self.raw] if script.greedy else self.raw
        self.q = [script.q] + [c.q for c in script.candidates]
        self.residual: Vector | None = None
        self.mass: float | None = None
        self.final = 0
        while self._level():
            pass

    def _children(self) -> list[int]:
        return [i + 1 for i, c in enumerate(self.script.candidates) if c.parent == self.final]

    def _level(self) -> bool:
        """Try the children of the current node; True when one was accepted."""
        if self.script.greedy:
            return self._greedy_level()
        r = self.p[self.final]
        proposal = self.q[self.final]
        q = None if proposal is None else spread(proposal)
        for id_ in self._children():
            candidate = self.script.candidates[id_ - 1]
            token = ID[candidate.token]
            this_q = [float(i == token) for i in range(V)] if q is None else q
            if self._try(id_, r[token], this_q[token]):
                self.path.append(id_)
                self.final = id_
                self.residual = self.mass = None
                return True
            r, self.mass = residual(r, this_q)
            self.residual = r
            if q is not None and candidate.kind == "without_replacement":
                q = [0.0 if i == token else value / (1.0 - q[token]) for i, value in enumerate(q)]
        return False

    def _greedy_level(self) -> bool:
        """A child is accepted exactly when it is the largest logit; nothing is drawn."""
        for id_ in self._children():
            hit = self.p[self.final][ID[self.script.candidates[id_ - 1].token]] == 1.0
            assert hit == next(self.wanted)
            self.trials.append(Trial(id_, float(hit), 1.0, float(hit), None, hit))
            if hit:
                self.path.append(id_)
                self.final = id_
                return True
        return False

    def _try(self, id_: int, p: float, q: float) -> bool:
        threshold = min(1.0, p / q)
        accepted = next(self.wanted)
        part = (0.31 + 0.17 * id_) % 0.9 + 0.05
        u = threshold * part if accepted else threshold + (1.0 - threshold) * part
        assert accepted == (u < threshold), (id_, threshold)
        self.trials.append(Trial(id_, p, q, threshold, u, accepted))
        return accepted

    @property
    def origin(self) -> Origin:
        if not self.script.candidates:
            return "target"
        return "correction" if self._children() else "bonus"

    def judged(self) -> Judged:
        last = self.p[self.final] if self.residual is None else self.residual
        token = ID[self.script.last]
        assert last[token] > 0
        return Judged(
            rule="greedy" if self.script.greedy else "sequential",
            trials=self.trials,
            path=self.path,
            final_node=self.final,
            residual=None if self.residual is None else top(self.residual),
            residual_mass=self.mass,
            token=token,
            origin=self.origin,
            u=None if self.script.greedy else sum(last[:token]) + last[token] * 0.4,
            seconds=HOUSEKEEPING_S,
        )

    def fate(self, id_: int) -> Fate:
        if id_ in self.path:
            return "accepted"
        return "rejected" if any(trial.node == id_ for trial in self.trials) else "unreached"


def nodes_of(script: Script, judge: Judge, root: int) -> list[Node]:
    parents = [-1] + [c.parent for c in script.candidates]
    depths = [0]
    for parent in parents[1:]:
        depths.append(depths[parent] + 1)
    rows = layout(parents)
    nodes = []
    for id_, parent in enumerate(parents):
        candidate = None if id_ == 0 else script.candidates[id_ - 1]
        token = root if candidate is None else ID[candidate.token]
        proposal = judge.q[id_]
        above = None if candidate is None or candidate.kind == "point_mass" else judge.q[parent]
        draft_prob = None if candidate is None else 1.0 if above is None else spread(above)[token]
        nodes.append(
            Node(
                id=id_,
                parent=parent,
                depth=depths[id_],
                token=token,
                kind="root" if candidate is None else candidate.kind,
                fate="root" if candidate is None else judge.fate(id_),
                source="root" if candidate is None else candidate.source,
                draft_prob=draft_prob,
                target_prob=None if candidate is None else judge.p[parent][token],
                draft=None if proposal is None or script.greedy else top(spread(proposal)),
                target=top(judge.p[id_]),
                x=float(depths[id_]),
                y=rows[id_],
                draft_raw=top(spread(proposal)) if proposal is not None and script.greedy else None,
                target_raw=top(judge.raw[id_]) if script.greedy else None,
                rank=None if candidate is None else rank(judge.raw[parent], token),
                agreement=None if script.greedy else agreement(judge.p[id_], proposal),
                agreement_raw=agreement(judge.raw[id_], proposal) if script.greedy else None,
            )
        )
    return nodes


def rank(probs: Vector, token: int) -> int:
    """1 for the most probable; of equal ones the lowest id first."""
    return sorted(range(V), key=lambda other: (-probs[other], other)).index(token) + 1


def agreement(p: Vector, proposal: Head | None) -> Agreement:
    if proposal is None:
        return Agreement(bits(p))
    pairs = list(zip(p, spread(proposal), strict=True))
    return Agreement(
        bits(p), bits(spread(proposal)), sum(a * log2(a / b) for a, b in pairs), sum(min(a, b) for a, b in pairs)
    )


def bits(probs: Vector) -> float:
    return -sum(prob * log2(prob) for prob in probs)


def layout(parents: Sequence[int]) -> list[float]:
    """Leaves take rows 0, 1, 2, … in depth-first order; a parent sits in the middle of its first and last child."""
    rows = [0.0] * len(parents)
    leaves = 0

    def place(node: int) -> None:
        nonlocal leaves
        children = [i for i, parent in enumerate(parents) if parent == node]
        for child in children:
            place(child)
        if children:
            rows[node] = (rows[children[0]] + rows[children[-1]]) / 2
        else:
            rows[node] = float(leaves)
            leaves += 1

    place(0)
    return rows


def play(index: int, script: Script, text: list[int], start_s: float) -> Round:
    judge = Judge(script)
    judged = judge.judged()
    nodes = nodes_of(script, judge, text[-1])
    tokens = [CommittedToken(nodes[i].token, "draft", i) for i in judge.path]
    tokens.append(CommittedToken(judged.token, judged.origin, None))
    kept = tokens if script.keep is None else tokens[: script.keep]
    trimmed = None if script.keep is None else script.cut
    before = len(text) - 1
    passes = [
        Pass(rows=1, cached_rows=before + depth - 1, seconds=DRAFT_PASS_S, depth=depth)
        for depth in sorted({node.depth for node in nodes if node.source == "model"})
    ]
    return Round(
        index=index,
        base_length=len(text),
        start_s=start_s,
        nodes=nodes,
        drafted=Drafted(
            passes,
            DRAFT_PASS_S * len(passes) + HOUSEKEEPING_S + script.waited_s,
            dict(script.note),
            lanes=list(script.lanes),
        ),
        scored=Scored(Pass(rows=len(nodes), cached_rows=before, seconds=TARGET_PASS_S), TARGET_PASS_S),
        judged=judged,
        committed=Committed(
            tokens=kept,
            trimmed=trimmed,
            trimmed_tokens=len(tokens) - len(kept),
            cache_before=before,
            cache_kept=before + len(kept),
            cache_dropped=len(nodes) - len(kept),
            seconds=HOUSEKEEPING_S,
        ),
    )


def entry(token: bytes) -> VocabEntry:
    return VocabEntry(base64.b64encode(token).decode(), token.decode(errors="replace"))

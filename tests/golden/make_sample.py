"""Writes trace-1.0-sample.json: a small run with invented toy distributions that shows every case once.

The tokens are chosen to be awkward on a page (tags, template markers, control and right-to-left characters, an
emoji split over two tokens); the numbers are exact consequences of the toy distributions below under the
sequential rule. It is labelled simulated. Run as `python -m tests.golden.make_sample`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specviz.trace.assemble import assemble
from specviz.trace.codec import dumps
from specviz.trace.events import (
    CandidateKind,
    Committed,
    CommittedToken,
    Drafted,
    Fate,
    Finished,
    Judged,
    Machine,
    MethodCard,
    ModelCard,
    Node,
    Origin,
    Pass,
    Round,
    SamplingCard,
    Scored,
    Started,
    TokenizerCard,
    TopK,
    Trace,
    Trial,
    TrimReason,
    VocabEntry,
)
from specviz.trace.source import Step

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
    """tokens left after trimming at the stop string"""
    note: dict[str, int] = field(default_factory=dict)


def spread(head: Head) -> Vector:
    """A full distribution: the head as given, the rest shared evenly."""
    rest = (1.0 - sum(head.values())) / (V - len(head))
    return [head.get(token, rest) for token in TOKENS]


def top(probs: Vector, count: int = 6) -> TopK:
    order = sorted(range(V), key=lambda token: (-probs[token], token))[:count]
    kept = [probs[token] for token in order]
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
        self.p = [spread(script.p)] + [spread(c.p) for c in script.candidates]
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
            rule="sequential",
            trials=self.trials,
            path=self.path,
            final_node=self.final,
            residual=None if self.residual is None else top(self.residual),
            residual_mass=self.mass,
            token=token,
            origin=self.origin,
            u=sum(last[:token]) + last[token] * 0.4,
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
                draft=None if proposal is None else top(spread(proposal)),
                target=top(judge.p[id_]),
                x=float(depths[id_]),
                y=rows[id_],
            )
        )
    return nodes


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
    trimmed: TrimReason | None = None if script.keep is None else "stop"
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
        drafted=Drafted(passes, DRAFT_PASS_S * len(passes) + HOUSEKEEPING_S, dict(script.note)),
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


def chain(tokens: Sequence[bytes], heads: Sequence[tuple[Head, Head | None]], **how: str) -> list[Candidate]:
    """A chain; heads[i] = (p, q) after token i."""
    return [
        Candidate(token, i, p, q, **how)  # type: ignore[arg-type]
        for i, (token, (p, q)) in enumerate(zip(tokens, heads, strict=True))
    ]


def point(token: bytes, parent: int, p: Head) -> Candidate:
    return Candidate(token, parent, p, None, "point_mass", "ngram")


def wor(token: bytes, parent: int, p: Head | None = None, q: Head | None = None) -> Candidate:
    return Candidate(token, parent, p or {b" a": 0.5, b"-": 0.2}, q, "without_replacement")


def tree_round() -> Script:
    """Branching 3, 2, 1: two siblings refused, the third accepted, then a whole path: a bonus."""
    below = {b" b": 0.55, b" a": 0.25, b" c": 0.1}
    tail = {b" #": 0.5, b"\n": 0.3}
    candidates = [
        wor(b" *", 0, q=below),
        wor(b"-", 0, q=below),
        wor(b" +", 0, {b" b": 0.7, b" a": 0.1}, below),
        *(wor(token, parent, q=tail) for parent in (1, 2) for token in (b" b", b" a")),
        wor(b" b", 3, {b" #": 0.45, b"\n": 0.4}, tail),
        wor(b" a", 3, q=tail),
        *(wor(b" #" if parent % 2 == 0 else b"\n", parent) for parent in (4, 5, 6, 7)),
        wor(b" #", 8, {b"<b>": 0.4, b"`": 0.3, b" a": 0.1}),
        wor(b"\n", 9),
    ]
    root_q = {b" *": 0.5, b"-": 0.15, b" +": 0.2}
    root_p = {b" +": 0.5, b" *": 0.15, b"-": 0.25}
    return Script(root_p, root_q, candidates, [False, False, True, True, True], b"<b>")


def scripts() -> list[Script]:
    q_indent, q_return = {b"    ": 0.7, b"\n": 0.2}, {b"return": 0.6, b"def": 0.2}
    q_arg = {b" c": 0.5, b" a": 0.3}
    first = Script(
        {b"    ": 0.9, b"\n": 0.05},
        q_indent,
        chain(
            [b"    ", b"return", b" c", b" +"],
            [
                ({b"return": 0.5, b"def": 0.1}, q_return),
                ({b" a": 0.6, b" b": 0.2, b" c": 0.1}, q_arg),
                ({b" +": 0.5, b"-": 0.2}, {b" +": 0.4, b"-": 0.4}),
                ({b" b": 0.5}, None),
            ],
        ),
        [True, True, False],
        b" a",
    )
    ngram = Script(
        {b"${1+1}": 0.62, b"`": 0.2},
        None,
        [
            point(b"${1+1}", 0, {b"`": 0.7, b" c": 0.08}),
            point(b" c", 1, {b" b": 0.5}),
            point(b" b", 2, {b"\n": 0.5}),
        ],
        [True, False],
        b"`",
        note={"match_length": 2, "match_start": 3},
    )
    root_correction = Script(
        {b"{{x}}": 0.55, b"\n": 0.2, b"<b>": 0.05},
        {b"<b>": 0.6, b"{{x}}": 0.2},
        chain(
            [b"<b>", b"${1+1}", b"`"],
            [
                ({b"${1+1}": 0.4}, {b"${1+1}": 0.5, b"`": 0.2}),
                ({b"`": 0.5}, {b"`": 0.6, b"\n": 0.2}),
                ({b"\n": 0.5}, None),
            ],
        ),
        [False],
        b"{{x}}",
    )
    nothing = Script({b"\n": 0.5, b" #": 0.2}, None, [], [], b"\n")
    emoji, tail, hebrew, zero = b"\xf0\x9f", b"\x9a\x80", "אב".encode(), "\u200b".encode()
    full = Script(
        {emoji: 0.5, b" #": 0.3},
        {emoji: 0.6, b" #": 0.2},
        chain(
            [emoji, tail, hebrew, zero],
            [
                ({tail: 0.97}, {tail: 0.9}),
                ({hebrew: 0.5, b" a": 0.2}, {hebrew: 0.4, b" a": 0.3}),
                ({zero: 0.3, b"\n": 0.3}, {zero: 0.5, b"\n": 0.3}),
                ({b"</script>": 0.4, b"\n": 0.3}, None),
            ],
        ),
        [True, True, True, True],
        b"</script>",
    )
    accent = "e\u0301".encode()
    duplicates = Script(
        {accent: 0.4, b'"': 0.2, b" \t": 0.2},
        {b'"': 0.5, accent: 0.3},
        [
            Candidate(b'"', 0, {b" a": 0.5}),
            Candidate(b'"', 0, {b" a": 0.5}),
            Candidate(accent, 0, {b"\n": 0.5, b"&amp;": 0.1, b" #": 0.2}, {b"&amp;": 0.7, b"\n": 0.1}),
            Candidate(b"&amp;", 3, {b" a": 0.5}),
        ],
        [False, False, True, False],
        "\u202e".encode(),
    )
    stopped = Script(
        {b"\n": 0.6},
        {b"\n": 0.5, b" #": 0.2},
        chain(
            [b"\n", b"END", b" #"],
            [
                ({b"END": 0.5, b"def": 0.2}, {b"END": 0.6, b"def": 0.2}),
                ({b" #": 0.3, b"\n": 0.4}, {b" #": 0.4, b"\n": 0.4}),
                ({b"\n": 0.5}, None),
            ],
        ),
        [True, True, True],
        b"\n",
        keep=2,
    )
    return [first, tree_round(), ngram, root_correction, nothing, full, duplicates, stopped]


def model(name: str, layers: int) -> ModelCard:
    return ModelCard(name, "Toy", "table", 0, layers, 1, V, 4096, "float64", "0" * 64)


def started(prompt: Sequence[int]) -> Started:
    return Started(
        run_id="sample",
        created="2026-01-01T00:00:00Z",
        producer="specviz tests/golden/make_sample.py",
        source="simulated",
        target=model("toy target", 1),
        drafter=MethodCard("sample", {"branching": [3, 2, 1], "gamma": 4}, True, model("toy drafter", 1)),
        verifier=MethodCard("sequential", {}, True),
        sampling=SamplingCard(1.0, 0, 1.0),
        tokenizer=TokenizerCard("toy", V, "0" * 64, [0]),
        machine=Machine("none", "float64", 1, 1, "simulated", "3", "none", "none", "simulated"),
        seed=7,
        max_new_tokens=64,
        eos_ids=[0],
        stop=["END"],
        prompt_text=b"".join(TOKENS[i] for i in prompt).decode(),
        prompt_ids=list(prompt),
        prompt_name=None,
    )


def sample() -> Trace:
    prompt = [ID[token] for token in (b"def", b" add", b"(", b"a", b",", b" b", b"):", b"\n")]
    text = list(prompt)
    steps = [Step(started(prompt), {str(i): entry(token) for i, token in enumerate(TOKENS)})]
    clock = decode_s = 0.0
    for index, script in enumerate(scripts()):
        this = play(index, script, text, clock)
        text += [token.token for token in this.committed.tokens]
        clock += this.seconds + HOUSEKEEPING_S
        decode_s += this.seconds
        steps.append(Step(this, {}))
    output = text[len(prompt) :]
    said = b"".join(TOKENS[i] for i in output).decode()
    finished = Finished("stop", None, output, said, TARGET_PASS_S, decode_s, HOUSEKEEPING_S * len(scripts()))
    return assemble([*steps, Step(finished, {})])


def entry(token: bytes) -> VocabEntry:
    return VocabEntry(base64.b64encode(token).decode(), token.decode(errors="replace"))


if __name__ == "__main__":
    Path(__file__).with_name("trace-1.0-sample.json").write_text(dumps(sample()) + "\n")

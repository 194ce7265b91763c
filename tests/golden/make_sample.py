"""Writes the sample traces: small runs with invented toy distributions that show every case once.

The numbers are exact consequences of the distributions below under the sequential rule (and under greedy
verification in the second sample); both are labelled simulated. Run as `python -m tests.golden.make_sample`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from specviz.trace.codec import assemble, dumps
from specviz.trace.events import VERSION, Finished, FinishReason, LaneSpan, Step, Trace
from specviz.trace.header import Machine, MethodCard, ModelCard, SamplingCard, Started, TokenizerCard
from tests.golden.toy import HOUSEKEEPING_S, ID, TARGET_PASS_S, TOKENS, Candidate, Head, Script, V, entry, play


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
    """Branching 3, 2, 1: two siblings rejected, the third accepted, then a whole path: a bonus."""
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
        [point(b"${1+1}", 0, {b"`": 0.7, b" c": 0.08}), point(b" c", 1, {b" b": 0.5}), point(b" b", 2, {b"\n": 0.5})],
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


SAMPLE = MethodCard("sample", {"branching": [3, 2, 1], "gamma": 4}, True, model("toy drafter", 1))
AMUSD = MethodCard("amusd", {"ahead": 8, "widest": 7, "drafts_per_pass": 0}, True, model("toy drafter", 1))


def started(name: str, prompt: Sequence[int], greedy: bool, drafter: MethodCard) -> Started:
    return Started(
        run_id=name,
        created="2026-01-01T00:00:00Z",
        producer="specviz tests/golden/make_sample.py",
        source="simulated",
        target=model("toy target", 1),
        drafter=drafter,
        verifier=MethodCard("greedy" if greedy else "sequential", {}, True),
        sampling=SamplingCard(0.0 if greedy else 1.0, 0, 1.0),
        tokenizer=TokenizerCard("toy", V, "0" * 64, [0]),
        machine=Machine("none", "float64", 1, 1, "simulated", "3", "none", "none", "simulated"),
        seed=7,
        max_new_tokens=64,
        eos_ids=[0],
        stop=[] if greedy else ["END"],
        prompt_text=b"".join(TOKENS[i] for i in prompt).decode(),
        prompt_ids=list(prompt),
        prompt_name=None,
    )


def run(name: str, rounds: Sequence[Script], reason: FinishReason, drafter: MethodCard = SAMPLE) -> Trace:
    prompt = [ID[token] for token in (b"def", b" add", b"(", b"a", b",", b" b", b"):", b"\n")]
    text = list(prompt)
    header = started(name, prompt, rounds[0].greedy, drafter)
    steps = [Step(header, {str(i): entry(token) for i, token in enumerate(TOKENS)})]
    clock = decode_s = 0.0
    for index, script in enumerate(rounds):
        this = play(index, script, text, clock)
        text += [token.token for token in this.committed.tokens]
        clock += this.seconds + HOUSEKEEPING_S
        decode_s += this.seconds
        steps.append(Step(this, {}))
    output = text[len(prompt) :]
    said = b"".join(TOKENS[i] for i in output if i != ID[b"<|end|>"]).decode()
    finished = Finished(reason, None, output, said, TARGET_PASS_S, decode_s, HOUSEKEEPING_S * len(rounds))
    return assemble([*steps, Step(finished, {})])


def greedy_scripts() -> list[Script]:
    """Temperature 0: a tree of the drafter's favourites, then a chain cut short by the end of the text."""
    q = {b" b": 0.5, b" a": 0.3}
    candidates = [
        favourite(b"\n", 0, q),
        favourite(b"    ", 0, {b"return": 0.7, b"def": 0.1}),
        favourite(b"`", 1),
        favourite(b"return", 2, {b" b": 0.4, b" a": 0.35}),
        favourite(b"def", 2),
        favourite(b" b", 4),
        favourite(b" c", 4),
    ]
    candidates[1].p = {b"return": 0.8, b"def": 0.05}
    candidates[3].p = {b" a": 0.45, b" b": 0.4}
    tree = Script(
        {b"    ": 0.6, b"\n": 0.3},
        {b"\n": 0.5, b"    ": 0.4},
        candidates,
        [False, True, True, False, False],
        b" a",
        greedy=True,
    )
    end = Script(
        {b"\n": 0.9},
        {b"\n": 0.8, b" #": 0.1},
        [
            favourite(b"\n", 0, {b"<|end|>": 0.6, b"\n": 0.2}, p={b"<|end|>": 0.7, b"\n": 0.1}),
            favourite(b"<|end|>", 1, {b"def": 0.5}, p={b"def": 0.6}),
            favourite(b"def", 2, p={b" add": 0.5}),
        ],
        [True, True, True],
        b" add",
        keep=2,
        cut="eos",
        greedy=True,
    )
    return [tree, end]


def favourite(token: bytes, parent: int, q: Head | None = None, p: Head | None = None) -> Candidate:
    """A candidate taken as one of the drafter's most probable, not drawn."""
    return Candidate(token, parent, p or {b"\n": 0.5, b" a": 0.2}, q, "point_mass")


def beside(token: bytes, parent: int, p: Head) -> Candidate:
    """What a drafter wrote while the target read: a point mass."""
    return Candidate(token, parent, p, None, "point_mass", "amusd")


def drafting(*milliseconds: float) -> list[LaneSpan]:
    """A token ends at each of these moments, after the drafter's pass."""
    return [LaneSpan("drafter", "draft", (end - 2) / 1000, end / 1000, 1) for end in milliseconds]


def rolled_back(milliseconds: float, tokens: int) -> LaneSpan:
    return LaneSpan("drafter", "roll back", milliseconds / 1000, milliseconds / 1000, tokens)


def beside_scripts() -> list[Script]:
    """A drafter that drafts on while the target reads: one round waits for its first token, which is rejected, and
    what was drafted behind it is thrown away; one waits again; the last finds three tokens that were drafted before."""
    rejected = Script(
        {b"return": 0.6, b"    ": 0.2},
        None,
        [beside(b"    ", 0, {b"return": 0.7})],
        [False],
        b"return",
        lanes=[*drafting(2, 4, 6, 8, 10, 12), rolled_back(13, 6)],
        waited_s=0.002,
    )
    accepted = Script(
        {b" a": 0.8, b" b": 0.1},
        None,
        [beside(b" a", 0, {b" +": 0.6, b"-": 0.2})],
        [True],
        b" +",
        lanes=drafting(16, 18, 20, 22, 24, 26),
        waited_s=0.002,
    )
    ahead = Script(
        {b" b": 0.9},
        None,
        [
            beside(b" b", 0, {b"\n": 0.8}),
            beside(b"\n", 1, {b" #": 0.3, b"<|end|>": 0.5}),
            beside(b" #", 2, {b" a": 0.4}),
        ],
        [True, True, False],
        b"<|end|>",
        lanes=[*drafting(29, 31, 33, 35), rolled_back(39.5, 6)],
    )
    return [rejected, accepted, ahead]


SAMPLES: dict[str, Callable[[], Trace]] = {
    "sample": lambda: run("sample", scripts(), "stop"),
    "greedy": lambda: run("greedy", greedy_scripts(), "eos"),
    "beside": lambda: run("beside", beside_scripts(), "eos", AMUSD),
}


if __name__ == "__main__":
    for name, make in SAMPLES.items():
        Path(__file__).with_name(f"trace-{VERSION}-{name}.json").write_text(dumps(make()) + "\n")

"""Examples are found in traces by what they show, and a visitor's own prompts are offered before the bundled ones."""

from dataclasses import replace

from specviz.app.form.fields import chosen, offer_prompts, open_prompts
from specviz.app.form.request import Limits
from specviz.app.runs.examples import FINDERS, asked_sum, found, worked_sums
from specviz.theory.speedup import FEWEST, gain
from specviz.trace.events import PlainDecoding, Trace
from tests.app.doubles import sample

FRESH = 999
"""a token id that the sample has not"""


def timed(trace: Trace, ratio: float, turns: int = FEWEST) -> Trace:
    """The run as a recorded one that is `ratio` times as fast as plain decoding."""
    tokens = len(trace.finished.output_ids)
    plain = PlainDecoding(tokens, ratio * trace.finished.decode_s, turns, True)
    return replace(
        trace, started=replace(trace.started, source="recorded"), finished=replace(trace.finished, plain=plain)
    )


def titles(trace: Trace) -> dict[str, int]:
    return {one.title: one.round for one in found({"a.json.gz": trace})}


def test_what_rounds_show_is_found_at_the_round_that_shows_it() -> None:
    assert titles(sample()) == {"all accepted": 5, "rejected at once": 3, "corrected": 0, "saved by a sibling": 1}


def test_a_gain_decides_what_pays_and_a_run_without_one_shows_neither() -> None:
    assert gain(sample()) is None
    assert gain(timed(sample(), 1.5)) == 1.5
    assert "a tree that pays" in titles(timed(sample(), 1.5))
    assert "slower than plain" not in titles(timed(sample(), 1.5))
    assert titles(timed(sample(), 0.8))["slower than plain"] == 0
    assert "a tree that pays" not in titles(timed(sample(), 0.8))
    assert not {"a tree that pays", "slower than plain"} & set(titles(timed(sample(), 1.0)))
    assert not {"a tree that pays", "slower than plain"} & set(titles(timed(sample(), 1.5, FEWEST - 1)))


def test_copying_is_a_drafter_without_a_model_that_gains() -> None:
    trace = timed(sample(), 2.0)
    drafter = replace(trace.started.drafter, name="ngram", model=None)
    rounds = [
        replace(this, nodes=[this.nodes[0], *(replace(node, kind="point_mass") for node in this.nodes[1:])])
        for this in trace.rounds
    ]
    copying = replace(trace, started=replace(trace.started, drafter=drafter), rounds=rounds)
    assert "copying wins" in titles(copying)
    assert "all accepted" not in titles(copying)
    assert "copying wins" not in titles(replace(copying, rounds=trace.rounds))


def adding(prompt: str, drafted: str, written: str, text: str | None = None, before: str = "") -> Trace:
    """The sample, all of whose tokens are empty but the one rejected in round 4 and the one in its place."""
    trace = sample()
    this = trace.rounds[3]
    wrong = replace(this.nodes[1], token=FRESH)
    rounds = [*trace.rounds[:3], replace(this, nodes=[this.nodes[0], wrong, *this.nodes[2:]]), *trace.rounds[4:]]
    texts = {FRESH: drafted, this.judged.token: written}
    texts |= {trace.rounds[0].committed.tokens[0].token: before} if before else {}
    entries = {**trace.vocab, str(FRESH): next(iter(trace.vocab.values()))}
    vocab = {name: replace(entry, text=texts.get(int(name), "")) for name, entry in entries.items()}
    return replace(
        trace,
        vocab=vocab,
        rounds=rounds,
        started=replace(trace.started, prompt_text=prompt),
        finished=replace(trace.finished, text=before + written if text is None else text),
    )


def test_the_drafter_cannot_add_where_its_digit_was_replaced_in_a_sum_that_is_right() -> None:
    title = "the drafter cannot add"
    assert titles(adding("Peter writes: 3 + 5 =", " 7", " 8"))[title] == 3
    assert title not in titles(adding("Peter writes: 3 + 5 =", " 8", " 7"))  # the target is wrong
    assert title not in titles(adding("Peter writes: 3 + 5 =", " x", " 8"))  # no digit was drafted
    assert title not in titles(adding("Peter writes: 3 and 5", " 7", " 8"))  # no sum was asked for
    assert title not in titles(adding("3 + 5 =", " 7", " 8", text=" 8. 2 + 2 = 5."))  # another sum is wrong
    assert title not in titles(adding("3 + 5 =", " 7", " 9", text=" 8. 9", before=" 8. "))  # the digit is no result's


def test_sums_are_read_with_carries_and_in_words() -> None:
    text = "What is 346 minus 183? Tens: borrow, 14 - 8 = 6. Hundreds: 3 - 1 - 1 = 1. 346 - 183 = 163. 2 + 2 is 5"
    assert asked_sum(text[:22]) == (346, -183)
    assert asked_sum("Say something.") is None
    found = worked_sums(text)
    seen = [(one.terms, one.result, one.right) for one in found]
    assert seen == [((14, -8), 6, True), ((3, -1, -1), 1, True), ((346, -183), 163, True), ((2, 2), 5, False)]
    assert [text[one.start : one.end] for one in found] == ["6", "1", "163", "5"]


def test_a_lossy_run_is_no_example_and_the_order_is_that_of_the_list() -> None:
    started = sample().started
    lossy = replace(sample(), started=replace(started, verifier=replace(started.verifier, lossless=False)))
    assert found({"a.json.gz": lossy}) == ()
    order = [one.title for one in found({"a.json.gz": timed(sample(), 0.8)})]
    assert order == [title for title in FINDERS if title in order]


def opened(tmp_path, text: str, limits: Limits | None = None):
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    return open_prompts(str(path), limits or Limits())


def test_the_prompts_are_offered_and_the_first_is_taken(tmp_path):
    offered, line, texts, prompt = opened(tmp_path, '{"id": "a", "text": "<b>x"}\n{"id": "b", "text": "y"}')
    assert [value for _, value in offered.choices] == ["a", "b"]
    assert "2 prompts of your own" in line
    assert (texts, prompt) == ({"a": "<b>x", "b": "y"}, "<b>x")
    assert chosen("b", texts) == "y"


def test_a_file_that_cannot_be_read_says_so_and_changes_nothing_else(tmp_path):
    offered, line, texts, prompt = opened(tmp_path, '{"text": "<b>"')
    assert "mine.jsonl: line 1 is not valid JSON" in line
    assert all(not isinstance(one, str | dict) or "__type__" in one for one in (offered, texts, prompt))


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    assert "The file is larger than the" in str(opened(tmp_path, "x" * 9, Limits(import_bytes=5))[1])


def test_in_a_list_of_prompts_the_visitors_own_stand_before_the_bundled_ones(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"id": "a", "text": "x"}\n{"id": "b", "text": "y"}')
    offered, line = offer_prompts(str(path), Limits(), [("code: First", "z")])
    assert [value for _, value in offered.choices] == ["x", "y", "z"]
    assert (offered.value, "2 prompts of your own are listed first" in line) == ("x", True)
    path.write_text("{")
    offered, line = offer_prompts(str(path), Limits(), [("code: First", "z")])
    assert ("__type__" in offered, "line 1 is not valid JSON" in line) == (True, True)

"""Examples are found in traces by what they show, and one that no trace shows is not offered."""

from __future__ import annotations

from dataclasses import replace

from specviz.app.parts.examples import FINDERS, found
from specviz.trace.beside import PlainDecoding
from specviz.trace.events import Trace
from specviz.trace.gain import gain
from tests.app.doubles import sample


def timed(trace: Trace, ratio: float) -> Trace:
    """The run as a recorded one that is `ratio` times as fast as plain decoding."""
    tokens = len(trace.finished.output_ids)
    plain = PlainDecoding(tokens, ratio * trace.finished.decode_s, 1, True)
    return replace(
        trace,
        started=replace(trace.started, source="recorded"),
        finished=replace(trace.finished, plain=plain),
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


def test_the_drafter_cannot_add_where_its_digit_was_replaced_by_another() -> None:
    trace = sample()
    this = trace.rounds[3]
    wrong = this.nodes[this.judged.trials[-1].node].token
    vocab = {**trace.vocab}
    for token, text in ((wrong, " 7"), (this.judged.token, "8")):
        vocab[str(token)] = replace(vocab[str(token)], text=text)
    told = replace(trace, vocab=vocab)
    assert "the drafter cannot add" not in titles(told)
    asked = replace(told, started=replace(told.started, prompt_text="What is 3 + 5?"))
    assert titles(asked)["the drafter cannot add"] == 3


def test_a_lossy_run_is_no_example_and_the_order_is_that_of_the_list() -> None:
    started = sample().started
    lossy = replace(sample(), started=replace(started, verifier=replace(started.verifier, lossless=False)))
    assert found({"a.json.gz": lossy}) == ()
    order = [one.title for one in found({"a.json.gz": timed(sample(), 0.8)})]
    assert order == [title for title in FINDERS if title in order]

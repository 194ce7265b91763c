"""Plain decoding timed beside a run: what is asked for, what is kept, when there is nothing to time."""

from dataclasses import replace

import pytest

from specviz.app.runs.gallery import card_of
from specviz.bench.plain import TURNS, in_turns, plain_beside, run_beside_plain
from specviz.errors import TraceError
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.theory.speedup import at_least, gain, interval, is_noisy, sure_gain
from specviz.trace import codec
from specviz.trace.check import check
from specviz.trace.events import PlainDecoding, Trace
from tests.app.doubles import ReplaySource, sample


def test_the_same_prompt_is_run_without_a_drafter_and_keeps_no_distributions() -> None:
    source = ReplaySource(sample())
    request = RunRequest(
        "x", drafter=Choice("model", {"gamma": 2}), temperature=0.8, seed=3, verifier=Choice("sequential")
    )
    plain = plain_beside(source, request, sample().finished)
    asked = source.requests[-1][0]
    assert (asked.prompt, asked.temperature, asked.seed, asked.drafter.name) == ("x", 0.8, 3, "none")
    assert (asked.drafter.options, asked.verifier.name, asked.record) == ({}, "auto", False)
    assert plain == PlainDecoding(20, 2 * sample().finished.decode_s, 1, True)


def test_nothing_is_timed_beside_plain_decoding_or_a_run_that_did_not_end() -> None:
    source = ReplaySource(sample())
    assert plain_beside(source, RunRequest("x", drafter=Choice("none")), sample().finished) is None
    assert plain_beside(source, RunRequest("x"), replace(sample().finished, reason="cancelled")) is None
    assert source.requests == []
    assert plain_beside(source, RunRequest("x"), sample().finished, lambda: True) is None


def test_a_recording_is_the_median_of_runs_in_turn_with_plain_decoding() -> None:
    source = ReplaySource(sample())
    trace = run_beside_plain(source, RunRequest("x"), repeats=3)
    assert [request.drafter.name for request, _ in source.requests] == ["model", "none"] * 3
    assert trace.finished.plain is not None
    assert (trace.finished.plain.runs, trace.finished.plain.ratios) == (3, pytest.approx([2.0] * 3))
    assert gain(trace) == pytest.approx(2.0)
    assert codec.loads(codec.dumps(trace)) == trace


def test_what_stands_beside_a_run_is_checked() -> None:
    def wrong(**changes: object) -> list[str]:
        plain = replace(PlainDecoding(20, 0.2, 1, True), **changes)
        trace = replace(sample(), finished=replace(sample().finished, plain=plain))
        return [one.place for one in check(trace) if one.place.startswith("finished.plain")]

    assert wrong() == []
    assert wrong(output_tokens=19) == ["finished.plain.output_tokens"]
    assert wrong(output_tokens=10_000, same_text=False) == ["finished.plain.output_tokens"]
    assert wrong(ratios=[1.2], runs=2) == ["finished.plain.ratios"]
    broken = replace(sample(), finished=replace(sample().finished, plain=PlainDecoding(20, -1.0, 1, True)))
    with pytest.raises(TraceError, match=r"finished\.plain\.decode_s"):
        codec.loads(codec.dumps(broken))


def test_a_live_run_and_plain_decoding_take_turns_a_few_times_and_each_turn_is_kept() -> None:
    source = ReplaySource(sample())
    plain = in_turns(source, RunRequest("x"), sample().finished, clock=lambda: 0.0)
    assert plain is not None
    assert [request.drafter.name for request, _ in source.requests] == ["none", *["model", "none"] * TURNS]
    assert not any(request.record for request, _ in source.requests)
    assert (plain.runs, plain.ratios) == (TURNS, pytest.approx([2.0] * TURNS))


def test_turns_end_when_their_time_is_over_and_a_drafter_that_learns_is_timed_once() -> None:
    moments = iter([0.0, 1.0, 3.9, 4.1])
    plain = in_turns(ReplaySource(sample()), RunRequest("x"), sample().finished, clock=lambda: next(moments))
    assert plain is not None
    assert plain.runs == 2
    warm = in_turns(ReplaySource(sample()), RunRequest("x", memory="warm"), sample().finished)
    assert warm is not None
    assert (warm.runs, warm.ratios) == (1, [])


def turned(*ratios: float, runs: int | None = None) -> Trace:
    """The sample, 20 tokens in 8 passes, as a recorded run with these turns."""
    plain = PlainDecoding(20, 1.5 * sample().finished.decode_s, runs or len(ratios), True, list(ratios))
    started = replace(sample().started, source="recorded")
    return replace(sample(), started=started, finished=replace(sample().finished, plain=plain))


def test_a_gain_is_the_median_of_its_turns() -> None:
    trace = turned(1.4, 1.2, 1.9, 1.5)
    assert (gain(trace), interval(trace), is_noisy(trace)) == (1.45, (1.2, 1.9), False)
    assert codec.loads(codec.dumps(trace)) == trace


def test_a_gain_that_noise_could_have_made_is_none_to_speak_of() -> None:
    assert is_noisy(turned(0.9, 1.4, 1.6)), "on both sides of 1"
    assert is_noisy(turned(2.6, 2.7, 2.8)), "no drafting gains more than its 2.5 tokens per pass"
    assert is_noisy(turned(1.4, 1.5)), "two turns show no spread"
    assert is_noisy(turned(runs=1))
    assert not is_noisy(turned(runs=3)), "a recording of before: the median of three, its spread not kept"
    assert not is_noisy(turned(0.6, 0.7, 0.8)), "slower for sure"


def test_where_a_turn_passes_the_tokens_per_pass_only_the_least_can_be_told() -> None:
    assert (is_noisy(turned(2.1, 2.2, 2.6)), at_least(turned(2.1, 2.2, 2.6))) == (False, 2.1)
    assert [at_least(turned(*ratios)) for ratios in [(2.1, 2.2, 2.5), (0.9, 1.4, 2.6), (2.1, 2.6)]] == [None] * 3


def test_one_number_for_a_gain_is_the_least_where_more_is_not_sure_and_none_where_noise_could_have_made_it() -> None:
    told = [sure_gain(turned(*ratios)) for ratios in [(1.4, 1.5, 1.9), (2.1, 2.2, 2.6), (0.9, 1.4, 1.6)]]
    assert told == [1.5, 2.1, None]
    assert [card_of(turned(*ratios), "a.json.gz").gain for ratios in [(1.4, 1.5, 1.9), (0.9, 1.4, 1.6)]] == [1.5, None]


def test_a_run_that_drafted_nothing_gains_nothing() -> None:
    trace = turned(1.04, 1.05, 1.06)
    bare = replace(trace, rounds=[replace(this, nodes=this.nodes[:1]) for this in trace.rounds])
    assert (gain(bare), interval(bare), is_noisy(bare)) == (None, None, False)

"""Plain decoding timed beside a run: what is asked for, what is kept, when there is nothing to time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specviz.errors import TraceError
from specviz.protocol.plain import plain_beside, run_beside_plain
from specviz.protocol.runs import RunRequest
from specviz.trace import codec
from specviz.trace.beside import PlainDecoding
from specviz.trace.check import check
from specviz.trace.gain import gain
from tests.app.doubles import ReplaySource, sample


def test_the_same_prompt_is_run_without_a_drafter_and_keeps_no_distributions() -> None:
    source = ReplaySource(sample())
    request = RunRequest("x", drafter_options={"gamma": 2}, temperature=0.8, seed=3, verifier="sequential")
    plain = plain_beside(source, request, sample().finished)
    asked = source.requests[-1][0]
    assert (asked.prompt, asked.temperature, asked.seed, asked.drafter) == ("x", 0.8, 3, "none")
    assert (asked.drafter_options, asked.verifier, asked.record) == ({}, "auto", False)
    assert plain == PlainDecoding(20, 2 * sample().finished.decode_s, 1, True)


def test_nothing_is_timed_beside_plain_decoding_or_a_run_that_did_not_end() -> None:
    source = ReplaySource(sample())
    assert plain_beside(source, RunRequest("x", drafter="none"), sample().finished) is None
    assert plain_beside(source, RunRequest("x"), replace(sample().finished, reason="cancelled")) is None
    assert source.requests == []
    assert plain_beside(source, RunRequest("x"), sample().finished, lambda: True) is None


def test_a_recording_is_the_median_of_runs_in_turn_with_plain_decoding() -> None:
    source = ReplaySource(sample())
    trace = run_beside_plain(source, RunRequest("x"), repeats=3)
    assert [request.drafter for request, _ in source.requests] == ["model", "none"] * 3
    assert trace.finished.plain is not None
    assert trace.finished.plain.runs == 3
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
    broken = replace(sample(), finished=replace(sample().finished, plain=PlainDecoding(20, -1.0, 1, True)))
    with pytest.raises(TraceError, match=r"finished\.plain\.decode_s"):
        codec.loads(codec.dumps(broken))

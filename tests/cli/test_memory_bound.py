"""MBSU in the summary of a run: with its cost ratio, and in words what that counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from specviz.cli.printed_run import _memory_bound
from specviz.trace.codec import read
from specviz.trace.events import Pass, Trace
from specviz.trace.header import MethodCard

SAMPLE = Path(__file__).parents[1] / "golden" / "trace-1.0-sample.json"


def with_passes(trace: Trace, *read: int | None) -> Trace:
    """A target of 800 bfloat16 numbers; in every round passes that read so many bytes."""
    passes = [Pass(rows=1, cached_rows=9, seconds=0.1, depth=1, read=one) for one in read]
    rounds = [replace(this, drafted=replace(this.drafted, passes=passes)) for this in trace.rounds]
    card = replace(trace.started.target, read_per_pass=800, dtype="bfloat16")
    drafter = MethodCard("heads", {}, True, pass_reads="all heads and the head")
    return replace(trace, started=replace(trace.started, target=card, drafter=drafter), rounds=rounds)


def test_the_summary_names_the_ratio_and_what_a_pass_reads() -> None:
    ((name, text),) = _memory_bound(with_passes(read(SAMPLE), 300, 100))
    assert name == "MBSU"
    assert "2.00 drafter passes per round, target ÷ drafter bytes c = 8.00; a drafter pass reads all heads" in text
    ((_, text),) = _memory_bound(with_passes(read(SAMPLE)))
    assert "its drafts read no weights, so tokens per target pass" in text
    assert _memory_bound(with_passes(read(SAMPLE), None)) == []

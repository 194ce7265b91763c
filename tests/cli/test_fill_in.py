"""`specviz record --fill-in`: what a recording lacks comes from the same run made again, and from no other."""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.cli.commands.record import filled_in
from specviz.trace.codec import read
from specviz.trace.events import Node, Trace

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def made() -> Trace:
    return read(GOLDEN / "trace-1.1-sample.json")


def with_nodes(trace: Trace, round_: int, nodes: list[Node]) -> Trace:
    rounds = list(trace.rounds)
    rounds[round_] = replace(rounds[round_], nodes=nodes)
    return replace(trace, rounds=rounds)


def test_an_old_recording_gets_the_numbers_and_keeps_its_own_clock(made: Trace) -> None:
    old = read(GOLDEN / "trace-1.0-sample.json")
    old = replace(old, finished=replace(old.finished, record_s=0.125))
    filled = filled_in(old, made)
    assert (filled.version, filled.finished.record_s) == ("1.3", 0.125)
    assert filled.rounds == made.rounds


def test_another_run_fills_nothing_in(made: Trace) -> None:
    old = read(GOLDEN / "trace-1.0-sample.json")
    nodes = made.rounds[2].nodes
    assert filled_in(old, with_nodes(made, 2, [*nodes[:-1], replace(nodes[-1], token=3)])) is None
    assert filled_in(old, with_nodes(made, 2, [*nodes[:-1], replace(nodes[-1], target_prob=0.51)])) is None
    assert filled_in(old, replace(made, rounds=made.rounds[:-1])) is None


def test_numbers_that_contradict_the_recording_are_not_taken(made: Trace) -> None:
    nodes = made.rounds[2].nodes
    old = read(GOLDEN / "trace-1.0-sample.json")
    assert filled_in(old, with_nodes(made, 2, [*nodes[:-1], replace(nodes[-1], rank=30)])) is None

"""The comparison of traces: times and ids may differ, everything else is found."""

from dataclasses import replace

from tests.app.doubles import sample
from tests.contracts.same_trace import difference


def test_times_and_ids_are_no_difference() -> None:
    trace = sample()
    later = replace(
        trace,
        started=replace(trace.started, run_id="another", created="2030-01-01"),
        finished=replace(trace.finished, decode_s=9.0),
    )
    assert later != trace
    assert difference(trace, later) is None


def test_a_number_deep_inside_is_a_difference_and_is_named() -> None:
    trace = sample()
    first, *rest = trace.rounds
    root, *nodes = first.nodes
    other = replace(trace, rounds=[replace(first, nodes=[replace(root, token=root.token + 1), *nodes]), *rest])
    assert difference(trace, other) == f"trace.rounds[0].nodes[0].token: {root.token} and {root.token + 1}"
    assert "trace.rounds: " in (difference(trace, replace(trace, rounds=trace.rounds[1:])) or "")

"""Ranks, entropies, KL and overlap: a false one contradicts the recorded heads, as far as heads can tell."""

import json
from pathlib import Path
from typing import Any

import pytest

from specviz.errors import TraceError
from specviz.trace.check import check
from specviz.trace.codec import loads
from specviz.trace.events import Trace
from tests.trace.changing import put

GOLDEN = Path(__file__).parents[1] / "golden"


def edited(name: str, place: str, value: Any) -> Trace:
    data: dict[str, Any] = json.loads((GOLDEN / f"trace-1.1-{name}.json").read_text())
    return loads(json.dumps(put(data, place, value)))


@pytest.mark.parametrize(
    ("name", "place", "value", "sentence"),
    [
        ("sample", "rounds[0].nodes[3].rank", 2, "is 2, but its parent's distribution leaves it 3 to 3"),
        ("sample", "rounds[1].nodes[10].rank", 2, "is 2, but its parent's distribution leaves it 3 to 32"),
        ("sample", "rounds[0].nodes[0].rank", 1, "is given, but the root was not drafted"),
        ("greedy", "rounds[0].nodes[2].rank", 2, "is 2, but its parent's distribution leaves it 1 to 1"),
        ("sample", "rounds[0].nodes[0].agreement.target_bits", 0.5, "is 0.5, but the recorded distribution makes it"),
        ("sample", "rounds[0].nodes[0].agreement.draft_bits", 4.9, "is 4.9, but the recorded distribution makes it"),
        ("sample", "rounds[0].nodes[0].agreement.overlap", 0.99, "is 0.99, but the recorded distribution makes it"),
        ("sample", "rounds[3].nodes[0].agreement.kl_bits", 0.01, "is 0.01, but distributions that overlap by 0."),
        ("sample", "rounds[0].nodes[0].agreement.overlap", None, "compares with a draft in part"),
        ("greedy", "rounds[0].nodes[0].agreement_raw.overlap", 0.99, "is 0.99, but the recorded distribution makes it"),
        (
            "greedy",
            "rounds[0].nodes[0].agreement",
            {"target_bits": 0.0},
            "is given, but at temperature 0 point masses are judged",
        ),
    ],
)
def test_a_false_number_is_found(name: str, place: str, value: Any, sentence: str) -> None:
    (problem,) = check(edited(name, place, value))
    assert problem.sentence.startswith(sentence)
    assert place.startswith(problem.place)


def test_an_infinite_divergence_is_none_and_no_number_is_not_read() -> None:
    assert check(edited("sample", "rounds[0].nodes[0].agreement.kl_bits", None)) == []
    with pytest.raises(TraceError, match="every number must be finite"):
        edited("sample", "rounds[0].nodes[0].agreement.target_bits", float("nan"))


def test_a_trace_without_them_is_sound() -> None:
    data = json.loads((GOLDEN / "trace-1.1-sample.json").read_text())
    for this in data["rounds"]:
        for node in this["nodes"]:
            del node["rank"], node["agreement"], node["agreement_raw"]
    assert check(loads(json.dumps(data))) == []

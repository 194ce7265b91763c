"""Deep edits of the sample trace, for tests that break one thing at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from specviz.trace.codec import dumps, loads
from specviz.trace.events import Trace

SAMPLE = Path(__file__).parents[1] / "golden" / "trace-1.3-sample.json"

Place = list[str | int]


def sample() -> Trace:
    return loads(SAMPLE.read_bytes())


def sample_data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(SAMPLE.read_text())
    return data


def steps_to(place: str) -> Place:
    """`rounds[3].nodes[5].parent` → ["rounds", 3, "nodes", 5, "parent"]."""
    steps: Place = []
    for word in place.split("."):
        name, *indices = word.split("[")
        steps.append(name)
        steps += [int(index.rstrip("]")) for index in indices]
    return steps


def put(data: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """Set the value at a place of JSON data, in place."""
    *path, last = steps_to(place)
    here: Any = data
    for step in path:
        here = here[step]
    here[last] = value
    return data


def get(data: Any, place: str) -> Any:
    for step in steps_to(place):
        data = data[step]
    return data


def changed(edits: dict[str, Any]) -> Trace:
    """The sample with values replaced, read back; for changes that a reader lets through."""
    data = sample_data()
    for place, value in edits.items():
        put(data, place, value)
    return loads(json.dumps(data))


def as_text(edits: dict[str, Any]) -> str:
    """The sample with values replaced, as JSON text."""
    data = sample_data()
    for place, value in edits.items():
        put(data, place, value)
    return json.dumps(data)


__all__ = ["SAMPLE", "as_text", "changed", "dumps", "get", "put", "sample", "sample_data"]

"""Deep edits of the sample trace and of recordings, for tests that break one thing at a time."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from specviz.trace.codec import loads, read, to_data
from specviz.trace.events import Trace
from specviz.trace.header import seal
from specviz.trace.summary import summary

SAMPLE = Path(__file__).parents[1] / "golden" / "trace-1.3-sample.json"

Data = dict[str, Any]
Change = Callable[[Data], None]


def sample() -> Trace:
    return loads(SAMPLE.read_bytes())


def sample_data() -> Data:
    data: Data = json.loads(SAMPLE.read_text())
    return data


def steps_to(place: str) -> list[str | int]:
    """`rounds[3].nodes[5].parent` → ["rounds", 3, "nodes", 5, "parent"]."""
    steps: list[str | int] = []
    for word in place.split("."):
        name, *indices = word.split("[")
        steps.append(name)
        steps += [int(index.rstrip("]")) for index in indices]
    return steps


def put(data: Data, place: str, value: Any) -> Data:
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


def as_text(edits: Data) -> str:
    """The sample with values replaced, as JSON text."""
    data = sample_data()
    for place, value in edits.items():
        put(data, place, value)
    return json.dumps(data)


def changed(edits: Data) -> Trace:
    """The sample with values replaced, read back; for changes that a reader lets through."""
    return loads(as_text(edits))


def at(place: str, value: Any) -> Change:
    """Another value at a place that is there; a function makes it of the one that stands there."""

    def change(data: Data) -> None:
        old = get(data, place)
        put(data, place, value(old) if callable(value) else value)

    return change


@cache
def recording(path: Path) -> Data:
    data: Data = json.loads(json.dumps(to_data(read(path))))
    return data


def refitted(what: str, data: Data, change: Change, sealed: bool = True) -> Trace:
    """A recording with one change, and with a summary and a seal (the run's id) that fit again, as a careful forger
    would have them; unless it is the summary that was changed, or the seal that is to betray the change."""
    forged = pickle.loads(pickle.dumps(data))  # a copy, in a tenth of the time of deepcopy
    change(forged)
    assert forged != data, f"{what}: nothing was changed"
    trace = loads(json.dumps(forged))
    if forged["summary"] == data["summary"]:
        trace = replace(trace, summary=summary(trace.started, trace.rounds, trace.finished))
    if sealed and not trace.started.producer.startswith("specviz tests"):
        trace = replace(trace, started=replace(trace.started, run_id=seal(trace.started)))
    return trace

"""How a class of forgeries is told, and what all of them share: a recording as data, and a trace whose sums fit again.

Summary and seal are made anew after every change, as a careful forger would.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from specviz.trace.codec import loads, read, to_data
from specviz.trace.events import Trace
from specviz.trace.header import seal
from specviz.trace.summary import summary

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "assets" / "traces"
KEPT = ROOT / "tests" / "golden" / "recorded"
"""runs of the first bundled pair, which stay as they are"""

Data = dict[str, Any]
Change = Callable[[Data], None]


@dataclass(frozen=True)
class Forged:
    what: str
    """recording, place and change"""
    trace: Trace


Maker = Callable[[], Iterator[Forged]]


@dataclass(frozen=True)
class Class:
    """One class of forgeries, and what becomes of it."""

    name: str
    make: Maker
    made: int
    """at least so many"""
    found: int
    """at least so many of them are found"""
    named: tuple[str, ...] = ()
    """how what is said to be not recomputed begins, for those that are not; empty: all are found"""


CLASSES: list[Class] = []


def forgeries(name: str, made: int, found: int, named: tuple[str, ...] = ()) -> Callable[[Maker], Maker]:
    """Registers the decorated maker of a class."""

    def register(make: Maker) -> Maker:
        CLASSES.append(Class(name, make, made, found, named))
        return make

    return register


@cache
def recording(path: Path) -> Data:
    found: Data = json.loads(json.dumps(to_data(read(path))))
    return found


def shipped(*names: str) -> list[tuple[str, Data]]:
    """(name, data) of shipped recordings; none named: every third of them."""
    paths = [SHIPPED / f"{name}.json.gz" for name in names] or sorted(SHIPPED.glob("*.json.gz"))[::3]
    return [(path.name.removesuffix(".json.gz"), recording(path)) for path in paths]


def kept(*names: str) -> list[tuple[str, Data]]:
    return [(name, recording(KEPT / f"{name}.json.gz")) for name in names]


def forged(what: str, data: Data, change: Change) -> Forged:
    """The recording with one change, and with the sums over it."""
    changed = pickle.loads(pickle.dumps(data))  # a copy, in a tenth of the time of deepcopy
    change(changed)
    assert changed != data, f"{what}: nothing was changed"
    trace = loads(json.dumps(changed))
    trace = replace(trace, summary=summary(trace.started, trace.rounds, trace.finished))
    return Forged(what, replace(trace, started=replace(trace.started, run_id=seal(trace.started))))


def options(what: str, data: Data, part: str, **values: Any) -> Forged:
    """Other options of a method in the header."""

    def change(changed: Data) -> None:
        changed["started"][part]["options"] |= values

    return forged(f"{what}: {part} {values}", data, change)

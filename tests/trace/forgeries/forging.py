"""How a class of forgeries is told, and the recordings that all of them begin with."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.trace.events import Trace
from tests.trace.changing import Change, Data, at, recording, refitted

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "assets" / "traces"
KEPT = ROOT / "tests" / "golden" / "recorded"
"""runs of the first bundled pair, which stay as they are"""


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


def shipped(*names: str) -> list[tuple[str, Data]]:
    """(name, data) of shipped recordings; none named: every third of them."""
    paths = [SHIPPED / f"{name}.json.gz" for name in names] or sorted(SHIPPED.glob("*.json.gz"))[::3]
    return [(path.name.removesuffix(".json.gz"), recording(path)) for path in paths]


def kept(*names: str) -> list[tuple[str, Data]]:
    return [(name, recording(KEPT / f"{name}.json.gz")) for name in names]


def forged(what: str, data: Data, *changes: Change) -> Forged:
    """The recording with these changes, and with sums over it that fit again."""

    def change(data: Data) -> None:
        for alter in changes:
            alter(data)

    return Forged(what, refitted(what, data, change))


def options(what: str, data: Data, part: str, **values: Any) -> Forged:
    """Other options of a method in the header."""
    return forged(f"{what}: {part} {values}", data, at(f"started.{part}.options", lambda before: before | values))

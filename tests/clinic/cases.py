"""120 cases of the clinic: 60 texts that a planted fault changed, 60 that differ by rounding alone.

A case is a prompt whose two answers differ; prompts are tried by number until each fault and each way to differ has its
share. Each case that is done is a line of a file, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from specviz.live.clinic import Target, broken_rule
from specviz.live.source import LiveSource, collect
from tests.clinic.faults import FAULTS, PlantedFault
from tests.clinic.harmless import HARMLESS, Engines, ids_of

Kind = Literal["planted", "harmless"]
PER_FAULT, PER_WAY = 3, 10
TRIED = 400
"""prompts after which a way has no more cases"""
FORMATS = ("float32", "bfloat16", "bfloat16")
"""of a fault's cases in turn"""


@dataclass(frozen=True, slots=True)
class Case:
    """One case, and what the clinic said of it."""

    kind: Kind
    what: str
    number: int
    format: str
    word: str
    confidence: str
    noise: float
    worst: float
    rule: str = ""
    """which rule the trace shows as broken; empty where it shows none, and for what is harmless"""

    @property
    def right(self) -> bool:
        """A fault is a bug; what is harmless a near tie or numerics."""
        return self.word == "bug" if self.kind == "planted" else self.word in ("near tie", "numerics")


@dataclass
class Clinic:
    """The tiny pair, its engines, and its target in every format."""

    engines: Engines
    targets: dict[str, Target]

    @classmethod
    def on(cls, folder: Path) -> Clinic:
        place = str(folder / "target")
        formats = ("float32", "bfloat16", "float16")
        return cls(Engines(folder), {name: Target.load(place, name) for name in formats})

    @property
    def places(self) -> dict[str, str]:
        """Where the models of the traces lie."""
        return {name: str(self.engines.folder / name) for name in ("target", "drafter")}

    def planted(self, fault: PlantedFault, cases: int = PER_FAULT, first: int = 0) -> Iterator[Case]:
        """As many cases of a fault; the numbers of their prompts begin at `first`."""
        source = LiveSource(load=fault.loader_of(self.engines.folder / "target"), measure=False)
        done = 0
        for number in range(first, first + TRIED):
            if done == cases:
                return
            dtype = FORMATS[done % len(FORMATS)]
            plain = self.engines.decoded(number, dtype)
            shape = {"branching": (3, 2, 1)} if fault.tree else {"gamma": 5}
            with fault.planted():
                trace = collect(source, self.engines.request(number, dtype, "model", **shape))
            answer = fault.answer(trace)
            if answer != plain:
                done += 1
                case = self._judged("planted", fault.name, number, dtype, plain, answer)
                broken = broken_rule(trace, answer, self.places)
                yield replace(case, rule=broken.rule if broken else "")

    def harmless(self, way: str, cases: int = PER_WAY, first: int = 0) -> Iterator[Case]:
        """As many cases of a way in which sound engines differ."""
        dtype, texts = HARMLESS[way]
        done = 0
        for number in range(first, first + TRIED):
            if done == cases:
                return
            left, right = texts(self.engines, number)
            if left != right:
                done += 1
                yield self._judged("harmless", way, number, dtype, left, right)

    def _judged(self, kind: Kind, what: str, number: int, dtype: str, left: list[int], right: list[int]) -> Case:
        verdict = self.targets[dtype].examine(ids_of(number), [("A", left), ("B", right)]).verdict
        return Case(kind, what, number, dtype, verdict.word, verdict.confidence, verdict.noise, verdict.worst)


def all_cases(clinic: Clinic, kept: Path) -> Iterator[Case]:
    """Every case of the table: those of the file `kept` as they stand there, the others worked out and added to it."""
    known = [Case(**json.loads(line)) for line in kept.read_text().splitlines()] if kept.exists() else []
    wanted = [(fault.name, PER_FAULT) for fault in FAULTS] + [(way, PER_WAY) for way in HARMLESS]
    for index, (what, cases) in enumerate(wanted):
        before = [case for case in known if case.what == what]
        yield from before
        if len(before) >= cases:
            continue
        first = max((case.number + 1 for case in before), default=1000 * index)
        fault = next((fault for fault in FAULTS if fault.name == what), None)
        missing = cases - len(before)
        made = clinic.planted(fault, missing, first) if fault else clinic.harmless(what, missing, first)
        for case in made:
            with kept.open("a") as file:
                file.write(json.dumps(asdict(case)) + "\n")
            yield case

"""A sweep's result: what was asked, on what it ran, who could not, and every run.

Place in the flow: assembled from warm-ups and points, stored by `sweeps/store.py`, shown by the page, continued later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from specviz.errors import BenchError
from specviz.protocol.runs import TraceSource
from specviz.protocol.sweeps.definition import (
    SweepDefinition,
    SweepDrafter,
    SweepSpec,
    fingerprint,
    prompts_of,
    run_count,
)
from specviz.protocol.sweeps.points import BASELINE, SweepPoint
from specviz.trace.header import Machine, ModelCard, Started, StepTime

KIND = "specviz-sweep"
VERSION = "1.1"


@dataclass(frozen=True, slots=True)
class StoredPoint(SweepPoint):
    """A run as the file keeps it: with the number of its step-time curve in place of the curve."""

    curve: int = 0
    """index among the result's `curves`"""


@dataclass(frozen=True, slots=True)
class Absent:
    """A drafter of the sweep that could not run here."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Worker:
    """One of several processes that measured a sweep, each of them some prompts as a whole."""

    host: str
    """name of its machine in the network"""
    process: int
    began: str
    """UTC, ISO 8601, when it had warmed up"""
    machine: Machine
    ended: str = ""
    """why it ended before the sweep did; empty: it did not"""


@dataclass(frozen=True, slots=True)
class Provenance:
    """On what the runs were made, and by whom."""

    producer: str
    """`specviz 0.1.0`"""
    command: str
    created: str
    """UTC, ISO 8601, when the first process began to measure"""
    continued: tuple[str, ...]
    """when later processes went on"""
    machine: Machine
    target: ModelCard
    drafters: dict[str, ModelCard]
    """label and policies → the drafter's own language model, of those that have one"""
    tokenizer_sha256: str
    prompts_sha256: str
    """over the ids and texts of the prompts that were run"""
    workers: tuple[Worker, ...] = ()
    """who else measured, where not `command` alone did; `machine` is then that of the first"""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """Everything a reader needs to judge the numbers. Ratios are fractions, durations end in `_s` (seconds, engine
    time)."""

    kind: str
    """`specviz-sweep`"""
    version: str
    """major.minor of this format"""
    definition: SweepDefinition
    definition_sha256: str
    """of what the definition states, its title left out"""
    provenance: Provenance
    absent: tuple[Absent, ...]
    planned_runs: int
    """how many points a complete result has"""
    curves: tuple[tuple[StepTime, ...], ...]
    """the target's measured step times, one curve per process that measured"""
    points: tuple[StoredPoint, ...]

    @property
    def complete(self) -> bool:
        return len(self.points) >= self.planned_runs


@dataclass(frozen=True, slots=True)
class WarmUp:
    """A drafter's unmeasured run."""

    drafter: SweepDrafter
    name: str
    """its label with its policies"""
    started: Started | None
    """None where it could not run"""
    reason: str = ""
    """why it could not"""


def introduce(
    source: TraceSource, definition: SweepDefinition, spec: SweepSpec, warm_ups: Sequence[WarmUp], command: str
) -> SweepResult:
    """The result before the first point. `spec` is that of the drafters that ran. Raises BenchError where plain
    decoding was not met, or where the machine has other threads than the sweep asks for."""
    headers = {warm_up.name: warm_up.started for warm_up in warm_ups if warm_up.started is not None}
    plain = headers.get(BASELINE)
    if plain is None:
        raise BenchError("plain decoding was not run, so there is nothing to compare with; start the sweep again.")
    if definition.threads not in (0, plain.machine.threads):
        raise BenchError(
            f"the sweep asks for {definition.threads} threads, but this program runs with {plain.machine.threads}; use "
            "`specviz bench sweep`, which sets them, or leave threads out."
        )
    texts = [(card.id, card.text) for card in prompts_of(source, spec)]
    return SweepResult(
        kind=KIND,
        version=VERSION,
        definition=definition,
        definition_sha256=fingerprint(definition),
        provenance=Provenance(
            producer=plain.producer,
            command=command,
            created=plain.created,
            continued=(),
            machine=plain.machine,
            target=plain.target,
            drafters={
                name: header.drafter.model for name, header in headers.items() if header.drafter.model is not None
            },
            tokenizer_sha256=plain.tokenizer.sha256,
            prompts_sha256=hashlib.sha256(json.dumps(texts).encode()).hexdigest(),
        ),
        absent=tuple(Absent(warm_up.name, warm_up.reason) for warm_up in warm_ups if warm_up.started is None),
        planned_runs=run_count(spec),
        curves=(),
        points=(),
    )


def with_points(result: SweepResult, points: Sequence[SweepPoint]) -> SweepResult:
    """The same result with these points; each step-time curve is kept once."""
    curves = tuple(dict.fromkeys(point.step_times for point in points))
    number = {curve: index for index, curve in enumerate(curves)}
    stored = tuple(
        StoredPoint(**{name: getattr(point, name) for name in _STORED}, curve=number[point.step_times])
        for point in points
    )
    return replace(result, curves=curves, points=stored)


def points_of(result: SweepResult) -> list[SweepPoint]:
    """The runs, each with its step-time curve."""
    return [
        SweepPoint(**{name: getattr(point, name) for name in _STORED}, step_times=result.curves[point.curve])
        for point in result.points
    ]


_STORED = [field.name for field in fields(SweepPoint) if field.name != "step_times"]


def check_definition(kept: SweepResult, definition: SweepDefinition) -> None:
    """Raises BenchError where the stored runs belong to another sweep."""
    if kept.definition_sha256 != fingerprint(definition):
        raise BenchError(
            "the result holds the runs of another sweep (its definition has changed); give another --out, or delete "
            "the old result."
        )


def continued(kept: SweepResult, fresh: SweepResult) -> SweepResult:
    """The header under which `kept` goes on. Raises BenchError where its runs cannot stand beside new ones."""
    check_definition(kept, fresh.definition)
    before, now = kept.provenance, fresh.provenance
    if not (before.workers and now.workers):  # runs of several workers may be of several machines, and each says which
        _same_machine(before.machine, now.machine)
    check_alike(kept, fresh)
    when, workers = (*before.continued, now.created), (*before.workers, *now.workers)
    told = replace(now, created=before.created, command=before.command, continued=when, workers=workers)
    return replace(fresh, provenance=replace(told, machine=before.machine))


def _same_machine(before: Machine, now: Machine) -> None:
    """Raises BenchError where times of the two cannot be compared."""
    for field in fields(Machine):
        old, new = getattr(before, field.name), getattr(now, field.name)
        if old != new:
            raise BenchError(
                f"the result was measured with {field.name} '{old}', but here it is '{new}', and times of two machines "
                "cannot be compared; continue it where it began, or measure anew into another file."
            )


def check_alike(kept: SweepResult, fresh: SweepResult) -> None:
    """Raises BenchError where the models or the prompts are others."""
    before, now = kept.provenance, fresh.provenance
    drafters = [name for name, card in before.drafters.items() if now.drafters.get(name, card) != card]
    other = [
        what
        for what, same in (
            ("target", before.target == now.target),
            (f"drafter ({drafters[0] if drafters else ''})", not drafters),
            ("tokenizer", before.tokenizer_sha256 == now.tokenizer_sha256),
            ("set of prompts", before.prompts_sha256 == now.prompts_sha256),
        )
        if not same
    ]
    if other:
        raise BenchError(
            f"the result was measured with another {other[0]} than is here now; measure anew into another file, or "
            "delete this one."
        )

"""The step-time curve of a model on this machine: every width of a pass, and the ceilings above them, timed in turn.

The ceilings are how fast numbers are read from memory, and how fast matrices are multiplied. Each repeat times
everything once, starting from another place, so that drift hits all alike; the first one is a warm-up. Place in the
flow: a request in, progress and a `HardwareCurve` out, which is a Markdown table for a terminal; `specviz profile` and
the page's Machine tab ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Literal

import torch

from specviz.bench.core.contest import rotated
from specviz.bench.core.passes import pass_clock
from specviz.bench.core.report import now_utc
from specviz.bench.profile.models import Loader, Timed, open_model
from specviz.core.clock import seconds_of
from specviz.errors import OptionError
from specviz.lm.step_time import Clock, machine
from specviz.protocol.profiles import MOST_ROWS, Ceiling, HardwareCurve, PassTime, Profiled, ProfileRequest
from specviz.theory.roofline import knee, overhead, passes, roofline, settings
from specviz.trace.header import Machine
from specviz.version import __version__

FEWEST = 3
"""times of one setting before it counts: quartiles need that many"""
Setting = tuple[int, int, int]
"""context, batch, n"""


@dataclass(slots=True)
class _Task:
    """One thing to time, again and again."""

    time_s: Callable[[], float]
    setting: Setting | None = None
    probe: Probe | None = None
    seconds: list[float] = field(default_factory=list)


def profile(
    request: ProfileRequest,
    load: Loader,
    cancelled: Callable[[], bool] = lambda: False,
    lane: AbstractContextManager[object] | None = None,
) -> Iterator[Profiled]:
    """Progress after every pass; a curve after every repeat from the third on, and at the end.

    `lane` is held while a pass runs, so that nothing else computes. Raises SpecVizError where it cannot be measured.
    """
    _check(request)
    lane = lane if lane is not None else nullcontext()
    with lane:
        timed = open_model(request, load)
    clock, name = pass_clock(timed.device)
    about = _about(request, timed, name)
    tasks = _tasks(request, timed, clock)
    total, done = len(tasks) * (request.repeats + 1), 0
    for repeat in range(request.repeats + 1):
        for task in rotated(tasks, repeat):
            if cancelled():
                yield Profiled(done, total, _curve(about, tasks, complete=False))
                return
            with lane:
                seconds = task.time_s()
            if repeat:
                task.seconds.append(seconds)
            done += 1
            yield Profiled(done, total, None)
        yield Profiled(done, total, _curve(about, tasks, complete=repeat == request.repeats))


def _check(request: ProfileRequest) -> None:
    counts = {"rows": request.rows, "batches": request.batches, "repeats": (request.repeats,)}
    for name, values in counts.items():
        if not values or min(values) < 1:
            raise OptionError(f"{name} is {list(values)}, but must be whole numbers from 1 on.")
    if not request.contexts or min(request.contexts) < 0:
        raise OptionError(f"contexts is {list(request.contexts)}, but must be whole numbers from 0 on.")
    if request.repeats < FEWEST:
        raise OptionError(f"repeats is {request.repeats}, but quartiles need at least {FEWEST}.")
    settings = len(set(request.rows)) * len(set(request.contexts)) * len(set(request.batches))
    if settings > MOST_ROWS:
        raise OptionError(f"that makes {settings:,} settings, but a file holds {MOST_ROWS:,}; leave some out.")


def _tasks(request: ProfileRequest, timed: Timed, clock: Clock) -> list[_Task]:
    """Every pass, the widest first as in `step_time.step_times`, and the ceilings."""
    dtype = timed.dtype
    tasks = [
        _Task(timed.pass_timer(context, batch, n, clock), setting=(context, batch, n))
        for context in sorted(set(request.contexts))
        for batch in sorted(set(request.batches))
        for n in sorted(set(request.rows), reverse=True)
    ]
    return tasks + [
        _Task(_probe_timer(probe, timed.device, clock), probe=probe) for probe in probes(timed.device, dtype)
    ]


def _probe_timer(probe: Probe, device: torch.device, clock: Clock) -> Callable[[], float]:
    @torch.inference_mode()
    def time_s() -> float:
        return seconds_of(probe.run, device, clock)

    return time_s


@dataclass(frozen=True, slots=True)
class _About:
    """What stands in the file beside the times."""

    request: ProfileRequest
    timed: Timed
    machine: Machine
    clock: Literal["wall", "thread"]
    created: str


def _about(request: ProfileRequest, timed: Timed, clock: Literal["wall", "thread"]) -> _About:
    record = machine(timed.device, str(timed.dtype).removeprefix("torch."))
    return _About(request, timed, record, clock, now_utc())


def _curve(about: _About, tasks: Sequence[_Task], complete: bool) -> HardwareCurve | None:
    """What is known so far; None before everything that a curve needs was timed often enough."""
    ready = [task for task in tasks if len(task.seconds) >= FEWEST]
    ceilings = [(task.probe, task.seconds) for task in ready if task.probe is not None]
    measured = sorted((task.setting, task.seconds) for task in ready if task.setting is not None)
    rows = tuple(_pass_time(setting, seconds) for setting, seconds in measured)
    if not rows or {probe.kind for probe, _ in ceilings} != {"reading", "arithmetic"}:
        return None
    return HardwareCurve(
        name=about.request.name or machine_name(about.machine),
        machine=about.machine,
        model=about.timed.sizes,
        way=about.timed.way,
        cuda_graphs=about.timed.cuda_graphs,
        clock=about.clock,
        reading=ceiling("reading", ceilings),
        arithmetic=ceiling("arithmetic", ceilings),
        rows=rows,
        created=about.created,
        command=command_of(about.request, about.timed.sizes.name, about.machine),
        specviz=__version__,
        complete=complete,
        dtype_why=about.timed.dtype_why,
    )


def _pass_time(setting: Setting, seconds: Sequence[float]) -> PassTime:
    context, batch, n = setting
    low, _, high = quantiles(seconds, n=4)
    return PassTime(n, context, batch, median(seconds), low, high, len(seconds))


def machine_name(record: Machine) -> str:
    """`2-core AMD EPYC, AVX-512, 1 thread`; a GPU's own name. Never the host's."""
    processor = record.processor.replace("(R)", "").replace("(TM)", "").strip()
    if record.device.partition(":")[0] != "cpu":
        return processor
    vectors = torch.backends.cpu.get_cpu_capability().replace("AVX512", "AVX-512")
    threads = "1 thread" if record.threads == 1 else f"{record.threads} threads"
    return f"{record.cores}-core {processor}, {vectors}, {threads}"


def command_of(request: ProfileRequest, model: str, record: Machine) -> str:
    """What to type for the same measurement; a model is named, never its place on this disk."""
    default = ProfileRequest()
    words = ["specviz profile", f"--shape {request.shape}" if request.shape else f"--target {model}"]
    for flag, name in (("rows", "rows"), ("contexts", "contexts"), ("batch", "batches")):
        values = getattr(request, name)
        if values != getattr(default, name):
            words.append(f"--{flag} {','.join(map(str, values))}")
    words += [f"--repeats {request.repeats}"] if request.repeats != default.repeats else []
    words += ["--bare"] if request.bare else []
    words += [f"--threads {record.threads}", f"--device {record.device}", f"--dtype {record.dtype}"]
    return " ".join(words)


def table(curve: HardwareCurve) -> str:
    """Markdown: the machine, then t(n) beside the roofline, one table for each context and batch."""
    model = curve.model
    lines = [
        f"{curve.name}: {model.name}, {model.parameters:,} parameters, {curve.machine.dtype}, {curve.machine.device}, "
        f"{'engine pass' if curve.way == 'engine' else 'bare pass'}{', CUDA graphs' if curve.cuda_graphs else ''}",
        f"reads {curve.reading.median / 1e9:.1f} GB/s ({curve.reading.how}), multiplies "
        f"{curve.arithmetic.median / 1e9:.1f} GFLOP/s ({curve.arithmetic.how})",
    ]
    for context, batch in settings(curve):
        measured = passes(curve, context, batch)
        bare = roofline(curve, context, batch)
        line = roofline(curve, context, batch, overhead(measured, bare))
        free = knee(measured)
        lines += ["", f"context {context}, batch {batch}: knee at n = {free.n}, ridge at n = {bare.ridge:.1f}", ""]
        lines += ["| n | ms, median [quartiles] | × t(1) | roofline, ms |", "|---:|---:|---:|---:|"]
        lines += [
            f"| {one.n} | {one.median_s * 1e3:.2f} [{one.low_s * 1e3:.2f}–{one.high_s * 1e3:.2f}] | "
            f"{one.median_s / measured[0].median_s:.2f} | {line.at(one.n) * 1e3:.2f} |"
            for one in measured
        ]
    return "\n".join(lines) + "\n"


READ_BYTES = {"cpu": 256 << 20, "cuda": 2 << 30}
"""by device: many times the caches, so that memory is what is measured"""
SIDE = {"cpu": 1024, "cuda": 8192}
"""by device: rows and columns of the matrices that are multiplied"""
COLUMNS = 4096
MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Probe:
    """Something to time, and how much it does."""

    kind: str
    """`reading` or `arithmetic`"""
    amount: float
    """bytes or operations"""
    how: str
    run: Callable[[], object]


def probes(device: torch.device, dtype: torch.dtype) -> list[Probe]:
    """Two ways to read, of which the faster one counts, and a product of two square matrices."""
    kind = device.type if device.type in SIDE else "cuda"
    size, side = READ_BYTES[kind], SIDE[kind]
    matrix = torch.ones(size // dtype.itemsize // COLUMNS, COLUMNS, device=device, dtype=dtype)
    vector = torch.ones(COLUMNS, device=device, dtype=dtype)
    left, right = (torch.ones(side, side, device=device, dtype=dtype) for _ in range(2))
    amount = float(matrix.numel() * dtype.itemsize)
    return [
        Probe("reading", amount, f"sum of {size // MB} MiB", matrix.sum),
        Probe("reading", amount, f"product of a matrix of {size // MB} MiB and a vector", lambda: matrix @ vector),
        Probe("arithmetic", 2.0 * side**3, f"product of two {side} × {side} matrices", lambda: left @ right),
    ]


def ceiling(kind: str, timed: Sequence[tuple[Probe, Sequence[float]]]) -> Ceiling:
    """The probe of this kind with the highest median rate; seconds of each probe, at least two."""
    rates = [_rates(probe, seconds) for probe, seconds in timed if probe.kind == kind]
    return max(rates, key=lambda rate: rate.median)


def _rates(probe: Probe, seconds: Sequence[float]) -> Ceiling:
    rates = [probe.amount / took for took in seconds]
    low, _, high = quantiles(rates, n=4)
    return Ceiling(median(rates), low, high, probe.how)

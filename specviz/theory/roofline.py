"""What a measured step-time curve means: t(n), the roofline over it, and how many nodes ride along for free.

Roofline of one pass (Williams, Waterman, Patterson, CACM 2009, applied to a decoder): B sequences of s cached rows, n
new rows each, take at least max((W + B·K(s)) / BW, B·n·(2·P + 4·L·d·s) / F), with W bytes of weights, cached keys and
values of K(s) = 2·L·d_kv·s numbers, P numbers in matrix products, L layers of attention width d; BW and F are measured
beside the times. Numbers made here are *modelled* and shown as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from specviz.errors import OptionError
from specviz.protocol import profiles as hardware
from specviz.protocol.profiles import HardwareCurve, ModelSizes, PassTime
from specviz.resources import ROOT, without
from specviz.theory.formulas import StepTimes

FOLDER = ROOT / "hardware"
SLACK = 0.10
"""a pass this much slower than one row alone still counts as free"""


@cache
def curves(folder: Path = FOLDER) -> dict[str, HardwareCurve]:
    """The shipped curves by file name without its ending, in order; a damaged one is left out. Read once."""
    read = {path.stem: without(path, hardware.read, None) for path in sorted(folder.glob("*.json"))}
    return {name: curve for name, curve in read.items() if curve is not None}


def settings(curve: HardwareCurve) -> tuple[tuple[int, int], ...]:
    """(context, batch) of every curve in the file, ascending."""
    return tuple(sorted({(row.context, row.batch) for row in curve.rows}))


def passes(curve: HardwareCurve, context: int | None = None, batch: int = 1) -> tuple[PassTime, ...]:
    """The times at one context (None: the shortest) and batch, by ascending n. Raises OptionError where it has none."""
    if context is None:
        context = min((cached for cached, other in settings(curve) if other == batch), default=-1)
    timed = sorted((row for row in curve.rows if (row.context, row.batch) == (context, batch)), key=lambda row: row.n)
    if not timed:
        there = "; ".join(f"context {cached}, batch {other}" for cached, other in settings(curve))
        wanted = f"batch {batch}" if context < 0 else f"context {context} and batch {batch}"
        raise OptionError(f"nothing was measured at {wanted} on {curve.name}; choose from: {there}.")
    return tuple(timed)


def step_times(curve: HardwareCurve, context: int | None = None, batch: int = 1) -> StepTimes:
    """t(n) at one context (None: the shortest) and batch. Raises OptionError where it was not measured."""
    timed = passes(curve, context, batch)
    return StepTimes(tuple(pass_time.n for pass_time in timed), tuple(pass_time.median_s for pass_time in timed))


@dataclass(frozen=True, slots=True)
class Roofline:
    """The least time of a pass at one context and batch, from the model's sizes and two rates."""

    bytes_read: float
    """weights, and keys and values of every sequence"""
    flops_per_row: float
    """operations that one more row of every sequence adds"""
    bytes_per_s: float
    flops_per_s: float
    overhead_s: float = 0.0
    """t0: what a pass takes beside reading and multiplying"""

    @property
    def reading_s(self) -> float:
        """Seconds to read everything once, the same at every width."""
        return self.bytes_read / self.bytes_per_s

    def arithmetic_s(self, n: float) -> float:
        return n * self.flops_per_row / self.flops_per_s

    def at(self, n: float) -> float:
        """T(n) in seconds."""
        return max(self.reading_s, self.arithmetic_s(n)) + self.overhead_s

    @property
    def ridge(self) -> float:
        """Rows at which multiplying takes as long as reading; fewer ride along for free, in this model.

        >>> Roofline(100.0, 5.0, 10.0, 20.0).ridge
        40.0
        """
        return self.reading_s * self.flops_per_s / self.flops_per_row


def roofline(curve: HardwareCurve, context: int, batch: int = 1, overhead_s: float = 0.0) -> Roofline:
    """With the ceilings measured beside the curve."""
    model = curve.model
    return Roofline(
        bytes_read=model.weight_bytes + batch * cached_bytes(model, context),
        flops_per_row=batch * row_flops(model, context),
        bytes_per_s=curve.reading.median,
        flops_per_s=curve.arithmetic.median,
        overhead_s=overhead_s,
    )


def cached_bytes(model: ModelSizes, context: int) -> int:
    """K(s): keys and values of one sequence of `context` rows."""
    return 2 * model.layers * model.kv_size * context * model.number_bytes


def row_flops(model: ModelSizes, context: int) -> int:
    """Operations of one row: two per weight, and scores and sums over `context` cached rows in every layer."""
    return 2 * model.read_parameters + 4 * model.layers * model.attention_size * context


def overhead(measured: Sequence[PassTime], line: Roofline) -> float:
    """t0: what the narrowest measured pass takes above the line; 0 where it lies below it."""
    first = measured[0]
    return max(0.0, first.median_s - line.at(first.n))


def knee(measured: Sequence[PassTime], slack: float = SLACK) -> PassTime:
    """The widest measured pass that takes at most (1 + slack) × the narrowest. Narrower ones may take longer, where a
    few rows run on other matrix kernels than one or many. `measured` ascends."""
    limit = (1 + slack) * measured[0].median_s
    return max((pass_time for pass_time in measured if pass_time.median_s <= limit), key=lambda pass_time: pass_time.n)

"""What one target pass over 1 to 61 rows takes on a small and on a large machine, side by side: for the slider with two
clocks of a lesson.

The small machine is measured: a shipped curve, between its measurements on a straight line. The large one is
*modelled*: the roofline of a data sheet's two numbers (`theory/roofline.py`), attention and overhead left out, and it
says so wherever it is shown. Knows no screen.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from specviz.protocol.profiles import HardwareCurve
from specviz.theory.roofline import Roofline, curves, passes, step_times

ROWS = 61
"""the widest pass: the root and 60 candidates, as lesson 4 counts them"""
CURVE = "cpu-2-core-amd-epyc"
"""the shipped curve of the small machine"""
DIGITS = 4
"""that count, of a time"""


@dataclass(frozen=True, slots=True)
class Clock:
    """A machine with what a pass over 1, 2, 3 … rows takes there."""

    machine: str
    model: str
    """whose pass it is"""
    times_are: str
    """`measured` or `modelled`"""
    source: str
    seconds: tuple[float, ...]
    """of a pass over 1, 2 … `ROWS` rows"""

    def ratio(self, rows: int) -> float:
        """Times as long as one row alone."""
        return self.seconds[rows - 1] / self.seconds[0]


def measured(curve: HardwareCurve) -> Clock:
    """A shipped curve's clock, at its shortest context. Raises OptionError where one text alone was not measured."""
    line = step_times(curve)
    context = passes(curve)[0].context
    return Clock(
        machine=f"A small machine: {curve.name}",
        model=f"{curve.model.parameters / 1e6:.1f} million parameters, {curve.machine.dtype}",
        times_are="measured",
        source=f"assets/hardware, at {context} rows in the cache",
        seconds=tuple(line.at(rows) for rows in range(1, ROWS + 1)),
    )


@dataclass(frozen=True, slots=True)
class DataSheet:
    """Two numbers of a machine, as its maker states them."""

    machine: str
    tb_per_s: float
    tflop_per_s: float
    said: str


H100 = DataSheet("A large GPU: H100", 3.35, 989.0, "data sheet of the H100 SXM: 3.35 TB/s, 989 TFLOP/s dense bf16")


def modelled(sheet: DataSheet, billion_parameters: float = 7, bytes_per_parameter: float = 2) -> Clock:
    """The roofline's clock: reading the weights or multiplying, whichever takes longer."""
    parameters = billion_parameters * 1e9
    line = Roofline(
        bytes_read=parameters * bytes_per_parameter,
        flops_per_row=2 * parameters,
        bytes_per_s=sheet.tb_per_s * 1e12,
        flops_per_s=sheet.tflop_per_s * 1e12,
    )
    return Clock(
        machine=sheet.machine,
        model=f"{billion_parameters:g} billion parameters, {bytes_per_parameter:g} bytes each",
        times_are="modelled",
        source=f"roofline; {sheet.said}",
        seconds=tuple(line.at(rows) for rows in range(1, ROWS + 1)),
    )


def clocks() -> list[dict[str, Any]]:
    """Both as plain data for the page's scripts, the small machine first; without it where its curve is damaged."""
    shipped = curves().get(CURVE)
    both = ([measured(shipped)] if shipped else []) + [modelled(H100)]
    return [{**asdict(clock), "seconds": [float(f"{s:.{DIGITS}g}") for s in clock.seconds]} for clock in both]

"""How often a draft for the target's verdict was ready, against how many verdicts were drafted for (SSD, 2603.03251).

Place in the flow: `measure` counts it beside the lanes, in the same turns; the study of lanes shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specviz.studies.chart import Axis, Chart, Panel, Series
from specviz.studies.study import Table

HEADS = ("tokens behind each count", "branches", "verdicts drafted for", "hit rate")
SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class FanOut:
    """All prompts at one fan-out, on two processes; or, in files written before that, simulated."""

    fan_out: int
    """likeliest tokens behind each count of accepted ones; 0: none, and so drafting in turn"""
    branches: int
    """drafted on at once, at most"""
    hits: int
    """verdicts behind which something was drafted when they came; simulated: that were drafted for"""
    verdicts: int
    ratio: float
    """tokens per second over plain decoding's: the median of all prompts; simulated: by the pass times of the case"""
    source: str = SIMULATED
    """or `measured`"""
    ready: float = 0.0
    """measured: share of the candidates that were drafted when the verdict came"""

    @property
    def rate(self) -> float:
        return self.hits / self.verdicts if self.verdicts else 0.0


def problems(fan_outs: Sequence[FanOut]) -> Iterator[str]:
    """What cannot be so."""
    for fan in fan_outs:
        if not 0 <= fan.hits <= fan.verdicts or fan.ratio <= 0:
            yield f"{fan.hits} of {fan.verdicts} verdicts were drafted for at fan-out {fan.fan_out}"


def sentence(fan_outs: Sequence[FanOut]) -> str:
    """How many are hit at best, and whether drafting ahead for them pays."""
    turn, best = fan_outs[0], max(fan_outs, key=lambda fan: fan.ratio)
    most = max(fan_outs, key=lambda fan: fan.rate)
    by = "by these pass times" if most.source == SIMULATED else "on two processes"
    ready = "their draft ready" if most.source == SIMULATED else "a draft begun when they come"
    said = (
        f"With the {most.fan_out} likeliest tokens behind each count, {most.branches} branches, {most.rate:.0%} of the "
        f"verdicts have {ready}. "
    )
    if best.fan_out == turn.fan_out:
        why = ", for passes over several branches take longer than the target's" if most.source == SIMULATED else ""
        return (
            f"{said}It does not pay {by}: nothing drafted ahead gives {turn.ratio:.2f} × plain decoding, and "
            f"{fan_outs[1].ratio:.2f} with {fan_outs[1].branches} branches{why}."
        )
    return (
        f"{said}Fastest {by} are {best.branches} branches: {best.ratio:.2f} × plain decoding, where nothing drafted "
        f"ahead gives {turn.ratio:.2f}."
    )


def chart(fan_outs: Sequence[FanOut]) -> Chart:
    """Above the share of verdicts that were drafted for, below what comes of it."""
    places = [fan.fan_out for fan in fan_outs]
    counts = [f"{fan.hits} of {fan.verdicts}" for fan in fan_outs]
    hits = Series(
        "hit rate",
        places,
        [fan.rate for fan in fan_outs],
        0,
        hover=": %{customdata} verdicts drafted for",
        extra=counts,
    )
    speed = _speed(fan_outs)
    ratios = Series("× plain", places, [fan.ratio for fan in fan_outs], 1, hover=f": %{{y:.2f}} {speed}")
    return Chart(
        Axis("likeliest tokens drafted for behind each count of accepted ones", ticks=[(at, str(at)) for at in places]),
        (
            Panel((hits,), Axis("verdicts drafted for", range=(0, 1.02), form=".0%"), 0.55),
            Panel((ratios,), Axis(speed, from_zero=True), 0.45),
        ),
        480,
    )


def _speed(fan_outs: Sequence[FanOut]) -> str:
    return "× plain, simulated" if fan_outs[0].source == SIMULATED else "× plain"


def table(fan_outs: Sequence[FanOut]) -> Table:
    """A row for each fan-out; how much of the drafts was ready where that was measured."""
    measured = fan_outs[0].source != SIMULATED
    rows = [
        (str(fan.fan_out), str(fan.branches), f"{fan.hits}/{fan.verdicts}", f"{fan.rate:.0%}",
         *([f"{fan.ready:.0%}"] if measured else []), f"{fan.ratio:.2f}")
        for fan in fan_outs
    ]  # fmt: skip
    return Table((*HEADS, *(["candidates ready"] if measured else []), _speed(fan_outs)), rows, words=0)

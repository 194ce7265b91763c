"""How often a draft for the target's verdict was ready, against how many verdicts were drafted for (SSD, 2603.03251).

Place in the flow: `measure` computes it beside the lanes, from the same pass times; the study of lanes shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specviz.studies.chart import Axis, Chart, Panel, Series
from specviz.studies.study import Table

HEADS = ("tokens behind each count", "branches", "verdicts drafted for", "hit rate", "× plain, simulated")


@dataclass(frozen=True, slots=True)
class FanOut:
    """All prompts at one fan-out. Hits are counted, from what both models say; times are simulated."""

    fan_out: int
    """likeliest tokens behind each count of accepted ones; 0: none, and so drafting in turn"""
    branches: int
    """drafted on at once, at most"""
    hits: int
    verdicts: int
    ratio: float
    """tokens per second over plain decoding's, both by the pass times of the case"""

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
    said = (
        f"With the {most.fan_out} likeliest tokens behind each count, {most.branches} branches, {most.rate:.0%} of the "
        f"verdicts have their draft ready. "
    )
    if best.fan_out == turn.fan_out:
        return (
            f"{said}It does not pay by these pass times: nothing drafted ahead gives {turn.ratio:.2f} × plain "
            f"decoding, and {fan_outs[1].ratio:.2f} with {fan_outs[1].branches} branches, for passes over several "
            "branches take longer than the target's."
        )
    return (
        f"{said}Fastest by these pass times are {best.branches} branches: {best.ratio:.2f} × plain decoding, where "
        f"nothing drafted ahead gives {turn.ratio:.2f}."
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
    ratios = Series("× plain", places, [fan.ratio for fan in fan_outs], 1, hover=": %{y:.2f} × plain, simulated")
    return Chart(
        Axis("likeliest tokens drafted for behind each count of accepted ones", ticks=[(at, str(at)) for at in places]),
        (
            Panel((hits,), Axis("verdicts drafted for", range=(0, 1.02), form=".0%"), 0.55),
            Panel((ratios,), Axis("× plain, simulated", from_zero=True), 0.45),
        ),
        480,
    )


def table(fan_outs: Sequence[FanOut]) -> Table:
    """A row for each fan-out."""
    rows = [
        (str(fan.fan_out), str(fan.branches), f"{fan.hits}/{fan.verdicts}", f"{fan.rate:.0%}", f"{fan.ratio:.2f}")
        for fan in fan_outs
    ]
    return Table(HEADS, rows, words=0)

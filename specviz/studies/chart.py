"""A chart as data: series over an axis, in one panel or several below each other. `app/studies` draws it.

Texts here are plain: whoever draws them escapes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Axis:
    """None and empty: as the drawing library has it."""

    title: str = ""
    log: bool = False
    spacing: float | None = None
    """of the ticks; where the axis is log, in decades"""
    ticks: Sequence[tuple[float | str, str]] = ()
    """(place, label); a line break in a label is a newline"""
    categories: Sequence[str] = ()
    """the words along it, in order"""
    angle: int | None = None
    """of the labels, in degrees"""
    from_zero: bool = False
    range: tuple[float, float] | None = None
    form: str = ""
    """of the labels, such as `.0%`"""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one name. `low` and `high` are the ends of their intervals; empty: none are drawn."""

    name: str
    x: Sequence[float | str]
    y: Sequence[float]
    index: int = 0
    """among the series: gives colour and mark"""
    mode: Literal["lines", "markers", "lines+markers", "markers+text"] = "lines+markers"
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    hover: str = ""
    """pattern behind the name, such as `: %{y:.3f}`"""
    hover_alone: bool = False
    """the pattern stands without the name, and is plain text"""
    extra: Sequence[Any] = ()
    """a value for each point that the pattern calls `%{customdata}`"""
    told: Sequence[tuple[str, str, str]] = ()
    """what hovering says of each point: (strong, next to it, below it)"""
    texts: Sequence[str] = ()
    """next to the points, where the mode has text"""
    text_below: bool = False
    mark: int | None = None
    """another mark than that of its place"""
    hollow: bool = False
    dash: str = ""
    """`dot` or `dash`; empty: a solid line"""
    grey: bool = False
    """a thin line for comparison, without a colour of its own"""
    size: int = 9
    """of marks, in pixels"""
    width: float = 2
    """of the line, in pixels"""
    error_width: float = 1.5
    group: bool = False
    """stands in several panels and once in the legend"""
    legend: bool | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars of one name, with intervals."""

    name: str
    x: Sequence[str]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    index: int = 0
    pattern: str = ""
    """on the bars, such as `/`: colour is never the only sign"""
    hover: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Words in a panel, at x and y; upright ones run upwards."""

    text: str
    x: float
    y: float
    upright: bool = False


@dataclass(frozen=True, slots=True)
class Upright:
    """A dotted line across the chart at x, with words at its foot; x itself, also where the axis is
    logarithmic."""

    x: float
    text: str


@dataclass(frozen=True, slots=True)
class Level:
    """A dotted line along the chart at y, with words."""

    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Panel:
    series: Sequence[Series | Bars]
    y: Axis
    share: float = 1.0
    """of the chart's height"""
    notes: Sequence[Note] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    x: Axis
    panels: Sequence[Panel]
    height: int = 420
    """pixels"""
    gap: float = 0.09
    """between panels, as a share of the height"""
    legend: Literal["above", "higher", "grown", "below"] = "above"
    """above the chart; `higher`: with the chart's own margins; `grown`: and the chart grows by a line for each name;
    `below`: below the chart"""
    uprights: Sequence[Upright] = ()
    levels: Sequence[Level] = ()

"""How much of the draft survived, as two small panels of bars below the player: by depth, and tokens accepted per
round.

SVG, light enough to stand there without loading a chart library; every text goes through `html.escape`. Reads a trace's
rounds; the numbers are defined in `metrics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from specviz.theory import metrics
from specviz.trace.events import Round


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: `height` in [0, 1] of the panel, `value` as printed above it, `explanation` for hover and readers."""

    label: str
    height: float
    value: str
    explanation: str


@dataclass(frozen=True, slots=True)
class BarPanel:
    title: str
    axis: str
    bars: tuple[Bar, ...]
    empty: str
    """what to say where there is nothing to draw"""


NOTHING_DRAFTED = "Nothing was drafted in this run, so there is nothing to accept: this is plain decoding."


def acceptance_by_depth(rounds: Sequence[Round]) -> BarPanel:
    """Per depth: rounds that accepted it / rounds that drafted to it."""
    bars = []
    for depth, (drafted, accepted) in enumerate(metrics.acceptance_by_depth(rounds), start=1):
        share = accepted / drafted if drafted else 0.0
        bars.append(
            Bar(
                str(depth),
                share,
                f"{share:.2f}",
                f"depth {depth}: accepted in {accepted} of {drafted} rounds that drafted it",
            )
        )
    return BarPanel("Accepted, by depth in the draft", "depth", tuple(bars), NOTHING_DRAFTED)


def accepted_lengths(rounds: Sequence[Round]) -> BarPanel:
    """Per number of accepted tokens: how many rounds ended with it."""
    counts, steps = metrics.acceptance_histogram(rounds), metrics.num_spec_steps(rounds)
    most = max(counts, default=0)
    bars = tuple(
        Bar(
            str(length),
            count / most if most else 0.0,
            str(count),
            f"{count} of {steps} rounds accepted {length}",
        )
        for length, count in enumerate(counts)
    )
    return BarPanel("Tokens accepted per round", "accepted tokens", bars, NOTHING_DRAFTED)


BAR = 26
GAP = 10
HEIGHT = 96
TOP = 16
BOTTOM = 18


def bar_panels(panels: list[BarPanel]) -> str:
    """All panels side by side, as one HTML string."""
    return f'<div class="sv-panels">{"".join(_panel(panel) for panel in panels)}</div>'


def _panel(panel: BarPanel) -> str:
    title = f'<figcaption class="sv-panel-title">{escape(panel.title)}</figcaption>'
    if not panel.bars:
        return f'<figure class="sv-panel">{title}<p class="sv-panel-empty">{escape(panel.empty)}</p></figure>'
    axis = f'<p class="sv-panel-axis">{escape(panel.axis)}</p>'
    return f'<figure class="sv-panel">{title}<div class="sv-panel-scroll">{_chart(panel)}</div>{axis}</figure>'


def _chart(panel: BarPanel) -> str:
    width, height, floor = GAP + len(panel.bars) * (BAR + GAP), TOP + HEIGHT + BOTTOM, TOP + HEIGHT
    label = escape(f"{panel.title}: " + "; ".join(bar.explanation for bar in panel.bars), quote=True)
    bars = "".join(_bar(index, bar) for index, bar in enumerate(panel.bars))
    return (
        f'<svg role="img" aria-label="{label}" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<line class="sv-bar-axis" x1="0" x2="{width}" y1="{floor}" y2="{floor}"/>{bars}</svg>'
    )


def _bar(place: int, bar: Bar) -> str:
    x = GAP + place * (BAR + GAP)
    height = max(1.0, HEIGHT * bar.height)
    y, middle, floor = TOP + HEIGHT - height, x + BAR / 2, TOP + HEIGHT
    return (
        f"<g><title>{escape(bar.explanation)}</title>"
        f'<rect class="sv-bar" x="{x}" y="{y:.1f}" width="{BAR}" height="{height:.1f}" rx="2"/>'
        f'<text class="sv-bar-value" x="{middle}" y="{y - 4:.1f}" text-anchor="middle">{escape(bar.value)}</text>'
        f'<text class="sv-bar-label" x="{middle}" y="{floor + 14}" text-anchor="middle">{escape(bar.label)}</text>'
        "</g>"
    )

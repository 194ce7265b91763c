"""Two small bar panels as SVG: light enough to stand under the player without loading a chart library.

Takes the view's bars; every text goes through `html.escape`. Colours and fonts come from the page's CSS classes.
"""

from __future__ import annotations

from html import escape

from specviz.app.step.acceptance import Bar, BarPanel

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
    bars = "".join(_bar(place, bar) for place, bar in enumerate(panel.bars))
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

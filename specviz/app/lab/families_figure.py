"""Winners by prompt family as a table of colours: blue is faster than plain decoding, orange slower, ★ the fastest."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import plotly.graph_objects as go

from specviz.app.lab.families import Cell, families
from specviz.app.lab.figure_parts import HEIGHT, hover, label
from specviz.app.parts.style import LOSS_GAIN, TEXT, style
from specviz.protocol.sweeps.points import SweepPoint


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    found = families(points)
    if found is None:
        return None
    cells = {(cell.series, cell.family): cell for cell in found.cells}
    table = [[cells.get((series, family)) for family in found.families] for series in found.series]
    strength = [[None if cell is None else log2(max(cell.ratio, 1e-3)) for cell in row] for row in table]
    widest = max([0.5, *(abs(value) for row in strength for value in row if value is not None)])
    drawn = go.Figure(
        go.Heatmap(
            x=list(map(label, found.families)),
            y=list(map(label, found.series)),
            z=strength,
            zmin=-widest,
            zmax=widest,
            colorscale=[(place / 2, colour) for place, colour in enumerate(LOSS_GAIN)],
            showscale=False,
            xgap=2,
            ygap=2,
            text=[[_text(cell) for cell in row] for row in table],
            texttemplate="%{text}",
            textfont={"color": TEXT},
            hovertext=[["" if cell is None else _hover(cell) for cell in row] for row in table],
            hoverinfo="text",
        )
    )
    drawn.update_yaxes(autorange="reversed", showgrid=False)
    drawn.update_xaxes(showgrid=False, side="top")
    style(drawn, HEIGHT)
    return drawn.update_layout(margin={"t": 40, "b": 16})


def _text(cell: Cell | None) -> str:
    return "–" if cell is None else f"{'★ ' if cell.winner else ''}{cell.ratio:.2f}×"


def _hover(cell: Cell) -> str:
    return hover(f"{cell.series} on {cell.family}", cell.explanation)

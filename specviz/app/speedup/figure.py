"""A sweep as a chart and a table. Speedup against speculation length: marks with whiskers are measured, dotted lines
are theory, open marks are predicted for this machine, 1 is break-even; settings without a length stand to the right of
the lengths, each in a column with its name. The table has a row per setting, with what each column is in its heading.

Takes the view model only; names may come from a stranger's file, so all of them are escaped. Classic trace types and
attributes, so that the plotly.js inside Gradio draws them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from specviz.app.lab.cases import chosen
from specviz.app.look.style import DRAWN, GRID, PRESS, TEXT, legend_above, legend_below, look, style
from specviz.app.speedup.view import Curve, Level, Measured, Series, SpeedupView, is_slower
from specviz.bench.core.report import value_of
from specviz.protocol.sweeps.points import BASELINE, title
from specviz.theory.rows import SweepRow

HEIGHT = 460
FEW = 4
"""for so many series the theory is drawn at most; with more, the legend alone would fill a phone"""
CURVED = 3
"""of more series than that, those measured at so many lengths have a theory: fewer make no curve to hold it against"""
MEASURED, THEORY, PREDICTED = ", measured", ", theory", ", predicted here"
"""how the names of traces end"""
HOVER_WIDTH = 48
NAME_WIDTH = 26


def speedup_figure(view: SpeedupView, predicted: SpeedupView | None = None) -> go.Figure:
    """The chart of a sweep; axes and break-even line only while nothing is measured yet. `predicted`: the same sweep on
    this machine's clock, beside the measured one."""
    figure = go.Figure()
    expected = predicted or SpeedupView((), (), (), "")
    beside = {series.label: series for series in expected.series}
    theories, (drawn, others) = _theories(view.series), chosen(view.series)
    for index, series in enumerate([*drawn, *others]):
        colour, mark = look(index)
        # A trace that is `legendonly` is drawn once its name is pressed; with its theory, whose group is the same.
        visible = True if index < len(drawn) else "legendonly"
        shown: dict[str, Any] = {"visible": visible, "legendgroup": series.label}
        figure.add_trace(_measured(series, colour, mark).update(shown))
        if series.label in theories:
            figure.add_trace(_theory(series.label, theories[series.label], colour).update(shown))
        if series.label in beside:
            figure.add_trace(_predicted(beside[series.label], colour, mark).update(shown))
    lengths = _lengths(view)
    columns = (
        [max(lengths) + 1.5 + index for index in range(len(view.levels))]
        if view.series
        else list(range(1, len(view.levels) + 1))
    )
    if view.levels:
        figure.add_trace(_columns(view.levels, columns))
        if expected.levels:
            figure.add_trace(_predicted_columns(view.levels, columns, expected.levels))
        if view.series:
            figure.add_vline(x=max(lengths) + 0.75, line={"color": GRID, "width": 1})
    figure.add_hline(y=1.0, line={"color": TEXT, "width": 1.5, "dash": "dash"})
    style(figure, HEIGHT)
    ticks = lengths if view.series or not view.levels else []
    names = [_shortened(level.label) for level in view.levels]
    figure.update_xaxes(
        title="speculation length γ" + (", then those without" if view.levels else ""),
        tickvals=[*ticks, *columns],
        ticktext=[*map(str, ticks), *names],
        tickangle=-60 if names else 0,
        range=[0.5, max([*ticks, *columns, 1]) + 0.5],
    )
    figure.update_yaxes(title="× plain decoding (dashed: 1)", rangemode="tozero", range=_range(view, expected))
    if others:
        _crowded(figure)
    elif names:
        legend_above(figure)
    return figure


def _crowded(figure: go.Figure) -> None:
    """Many names are short ones, at the foot."""
    for trace in figure.data:
        trace.update(name=trace.name.removesuffix(MEASURED), showlegend=not trace.name.endswith((THEORY, PREDICTED)))
    open_marks = any(trace.name.endswith(PREDICTED) for trace in figure.data)
    dotted = f"dotted: theory; {'open marks: predicted for this machine; ' if open_marks else ''}"
    legend_below(figure, f"{DRAWN}<br>{dotted}{PRESS}", len(figure.data))
    figure.update_yaxes(title="× plain decoding, measured")


def _lengths(view: SpeedupView) -> list[int]:
    return sorted({point.gamma for series in view.series for point in series.points}) or [1, 8]


def _theories(series: Sequence[Series]) -> dict[str, Curve]:
    """The theories to draw, by the label of their series."""
    least = CURVED if len(series) > FEW else 1
    longest = sorted((one for one in series if len(one.points) >= least), key=lambda line: -len(line.points))
    return dict([(one.label, one.theory) for one in longest if one.theory is not None][:FEW])


def _range(view: SpeedupView, expected: SpeedupView) -> list[float]:
    tops = [point.high for series in view.series for point in series.points]
    tops += [level.high for level in view.levels]
    tops += [point.median for series in expected.series for point in series.points]
    tops += [level.median for level in expected.levels]
    tops += [speedup for theory in _theories(view.series).values() for speedup in theory.speedups]
    return [0.0, max([1.25, *tops]) * 1.08]


def _measured(series: Series, colour: str, mark: str) -> go.Scatter:
    return go.Scatter(
        x=[point.gamma for point in series.points],
        mode="lines+markers",
        name=escape(series.label) + MEASURED,
        hovertemplate="γ = %{x}: %{y:.2f}× measured<br>%{text}<extra></extra>",
        line={"color": colour, "width": 2},
        marker={"symbol": mark, "size": 9, "color": colour},
        **_with_whiskers(series.points),
    )


def _predicted(series: Series, colour: str, mark: str) -> go.Scatter:
    """Without whiskers: how far a prediction is off is no spread over prompts."""
    return go.Scatter(
        x=[point.gamma for point in series.points],
        y=[point.median for point in series.points],
        mode="lines+markers",
        name=escape(series.label) + PREDICTED,
        hovertemplate="γ = %{x}: %{y:.2f}× predicted for this machine<extra></extra>",
        line={"color": colour, "width": 1.5, "dash": "dash"},
        marker={"symbol": f"{mark}-open", "size": 9, "color": colour},
    )


def _predicted_columns(levels: Sequence[Level], places: Sequence[float], expected: Sequence[Level]) -> go.Scatter:
    """In the columns of the measured ones."""
    by_label = {level.label: level.median for level in expected}
    both = [(x, level.label) for x, level in zip(places, levels, strict=True) if level.label in by_label]
    return go.Scatter(
        x=[x for x, _ in both],
        y=[by_label[label] for _, label in both],
        mode="markers",
        name="settings without γ" + PREDICTED,
        customdata=[escape(label) for _, label in both],
        hovertemplate="%{customdata}: %{y:.2f}× predicted for this machine<extra></extra>",
        marker={"symbol": "diamond-open", "size": 9, "color": TEXT},
    )


def _columns(levels: Sequence[Level], places: Sequence[float]) -> go.Scatter:
    return go.Scatter(
        x=places,
        mode="markers",
        name="settings without γ" + MEASURED,
        customdata=[escape(level.label) for level in levels],
        hovertemplate="%{customdata}: %{y:.2f}× measured<br>%{text}<extra></extra>",
        marker={"symbol": "diamond", "size": 9, "color": TEXT},
        **_with_whiskers(levels),
    )


def _with_whiskers(points: Sequence[Measured]) -> dict[str, Any]:
    """Medians, their intervals, and what is divided by what. A point without an interval has a whisker of no length."""
    return {
        "y": [point.median for point in points],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [point.high - point.median for point in points],
            "arrayminus": [point.median - point.low for point in points],
            "thickness": 1.5,
            "width": 5,
        },
        "text": ["<br>".join(map(escape, wrap(point.explanation, HOVER_WIDTH))) for point in points],
    }


def _theory(label: str, curve: Curve, colour: str) -> go.Scatter:
    explanation = "<br>".join(wrap(curve.explanation, HOVER_WIDTH))
    return go.Scatter(
        x=list(curve.gammas),
        y=list(curve.speedups),
        mode="lines",
        name=escape(label) + THEORY,
        hovertemplate=f"γ = %{{x}}: %{{y:.2f}}× in theory<br>{explanation}<extra></extra>",
        line={"color": colour, "width": 1.5, "dash": "dot"},
    )


def _shortened(name: str) -> str:
    return escape(name if len(name) <= NAME_WIDTH else name[: NAME_WIDTH - 1] + "…")


# --- the table -------------------------------------------------------------------------------------------------------


TABLE_HEAD = (
    ("drafter", "the method that proposes"),
    ("tree and stop policy", "how the draft grows and what may end it early, where that was chosen apart from γ"),
    ("γ", "speculation length: how deep each draft goes"),
    ("drafted", "candidates per target pass, measured"),
    ("temperature", "of sampling; 0 is greedy"),
    (
        "speedup",
        "median over the prompts of tokens per second ÷ plain decoding's, with the central 95 % of 2000 resamples of "
        "the prompts; one prompt gives no interval",
    ),
    ("acceptance rate", "accepted / drafted, bonus and correction not counted"),
    ("mean acceptance length", "1 + accepted per round that drafted"),
    (
        "MBSU",
        "speedup if reading weights were all that costs: tokens per target pass × c ÷ (drafter passes per round + c), "
        "c = target bytes ÷ drafter bytes: the weights that one pass reads, a drafter's own, those of the target that "
        "it runs, and its head's; no c: its drafts read none",
    ),
    ("tokens/s", "median, engine time only"),
    ("same text", "runs whose output equals plain decoding token for token"),
)
PREDICTED_COLUMN = (
    "predicted here",
    "the same speedup on this machine, modelled: the recorded runs with the seconds that passes take here",
)
SPEEDUP_COLUMN = [name for name, _ in TABLE_HEAD].index("speedup")


def sweep_table(rows: Sequence[SweepRow], predicted: Sequence[SweepRow] = ()) -> str:
    """The measured rows; every number is measured, none is theory. `predicted`: the same rows on this machine's clock,
    of which the speedup stands in a column of its own."""
    if not rows:
        return ""
    columns = [*TABLE_HEAD, *([PREDICTED_COLUMN] if predicted else [])]
    head = "".join(
        f'<th scope="col" title="{escape(meaning, quote=True)}">{escape(name)}</th>' for name, meaning in columns
    )
    here = {_case(row): f"{row.ratio.value:.2f}×" for row in predicted if row.drafter != BASELINE}
    body = "".join(_table_row(row, [here.get(_case(row), "–")] if predicted else []) for row in rows)
    caption = (
        "<caption>Measured, but for what says predicted. Ratios are taken against plain decoding of the same prompt in "
        "the same sweep; in brackets the central 95 % of 2000 resamples of the prompts.</caption>"
    )
    table = f'<table class="sv-table sv-blocks">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="sv-table-scroll">{table}</div>'


def _case(row: SweepRow) -> tuple[str, int | None, float]:
    return title(row), row.gamma, row.temperature


def _table_row(row: SweepRow, predicted: Sequence[str]) -> str:
    """`predicted`: the cells behind the measured ones."""
    plain = row.drafter == BASELINE
    cells = (
        "plain decoding" if plain else row.label,
        str(row.policies) or "–",
        "–" if row.gamma is None else str(row.gamma),
        "–" if plain else value_of(row.statistics.nodes_per_pass, "{:.1f}"),
        f"{row.temperature:g}",
        "1 (baseline)" if plain else _speedup(row),
        value_of(row.statistics.acceptance_rate),
        value_of(row.statistics.mean_acceptance_length),
        _mbsu(row),
        f"{row.tokens_per_s:.0f}",
        f"{row.statistics.same_output} of {row.statistics.runs}",
        *predicted,
    )
    slow = "" if plain or not is_slower(row) else ' class="sv-slower"'
    marks = [' class="sv-speedup"' if index == SPEEDUP_COLUMN else "" for index in range(len(cells))]
    names = [name for name, _ in (*TABLE_HEAD, PREDICTED_COLUMN)][: len(cells)]
    columns = [escape(name, quote=True) for name in names]  # shown beside the number where rows become blocks
    body = "".join(
        f'<td data-column="{column}"{mark}>{escape(cell)}</td>'
        for column, mark, cell in zip(columns, marks, cells, strict=True)
    )
    return f"<tr{slow}>{body}</tr>"


def _mbsu(row: SweepRow) -> str:
    """With its cost ratio, where the drafter has a model."""
    ratio = "" if row.memory_ratio is None else f" (c {row.memory_ratio:.2f})"
    return f"{value_of(row.statistics.mbsu)}{ratio if row.statistics.mbsu is not None else ''}"


def _speedup(row: SweepRow) -> str:
    interval = "" if row.statistics.prompts == 1 else f" ({row.ratio.low:.2f} to {row.ratio.high:.2f})"
    return f"{row.ratio.value:.2f}×{interval}"

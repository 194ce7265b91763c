"""One what-if setting as a page can show it: a sentence, numbers with their arithmetic, the curves around it, and its
charts: modelled speedup against γ, and over acceptance and γ together. Lines are dotted: theory.

Everything is *modelled*, from formulas alone. Reads presets and recorded runs. Classic trace types, so that the
plotly.js inside Gradio draws them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log2

import plotly.graph_objects as go

from specviz.app.look.style import GRID, SERIES, TEXT, quantity, style, took
from specviz.theory import what_if
from specviz.theory.formulas import LEVIATHAN_SETTING, PublishedSpeedup
from specviz.theory.reclock import measured_overhead, on_its_curve, reclock
from specviz.theory.what_if import ChainPoint, Clock, Shape, WhatIfResult
from specviz.trace.events import Trace

LONGEST = 16
"""chains of the charts end here"""
OTHER_ALPHAS = (0.5, 0.6, 0.7, 0.8, 0.9)
"""drawn faintly beside the chosen one"""
HEAT_ALPHAS = tuple(step / 20 for step in range(21))


@dataclass(frozen=True, slots=True)
class Setting:
    """What was chosen."""

    alphas: tuple[float, ...]
    """one, or one per depth"""
    shape: Shape
    clock: Clock
    clock_name: str
    batch: int = 1
    slower: float = 2.0
    """the other drafter, in passes of this one"""
    run: Trace | None = None
    """where the rates come from, if not from a slider"""
    run_clock: bool = False
    """the clock is the run's own, and so is the cost of its drafter passes"""
    paper: PublishedSpeedup | None = None
    """the printed row that the setting equals, if it does"""


@dataclass(frozen=True, slots=True)
class Number:
    name: str
    value: str
    arithmetic: str
    """the formula, then its numbers"""


@dataclass(frozen=True, slots=True)
class SpeedupLine:
    """Chains, modelled; [gamma], from plain decoding (0) on."""

    label: str
    points: tuple[ChainPoint, ...]


@dataclass(frozen=True, slots=True)
class WhatIfView:
    verdict: str
    notes: tuple[str, ...]
    """what the sentence leaves out: the paper's clock, the recorded run on this one"""
    numbers: tuple[Number, ...]
    chosen: SpeedupLine
    others: tuple[SpeedupLine, ...]
    best: int
    """gamma of the fastest chain"""
    point: ChainPoint
    """the setting itself, chain or tree"""
    shape: Shape
    heat: tuple[tuple[ChainPoint, ...], ...]
    """[gamma - 1][i] at HEAT_ALPHAS[i]"""


def what_if_view(setting: Setting) -> WhatIfView:
    """Everything the What-if tab shows. Raises OptionError for a setting that cannot be."""
    outcome = what_if.outcome(setting.alphas, setting.shape, setting.clock)
    chosen = tuple(what_if.chains(setting.alphas, setting.clock, LONGEST))
    best = what_if.best_gamma(setting.alphas, setting.clock, LONGEST)
    heat = [what_if.chains([alpha], setting.clock, LONGEST)[1:] for alpha in HEAT_ALPHAS]
    return WhatIfView(
        verdict=_verdict(setting, outcome, best, chosen),
        notes=tuple(_notes(setting, outcome)),
        numbers=tuple(_numbers(setting, outcome, best, chosen)),
        chosen=SpeedupLine(rates_text(setting.alphas), chosen),
        others=tuple(
            SpeedupLine(f"α {alpha:g}", tuple(what_if.chains([alpha], setting.clock, LONGEST)))
            for alpha in OTHER_ALPHAS
            if setting.alphas != (alpha,)
        ),
        best=best,
        point=ChainPoint(outcome.tokens_per_round, outcome.tie_tokens),
        shape=setting.shape,
        heat=tuple(zip(*heat, strict=True)),
    )


def rates_text(alphas: Sequence[float]) -> str:
    """`α 0.7`, or the first rates by depth."""
    if len(alphas) == 1:
        return f"α {alphas[0]:.2f}"
    shown = ", ".join(f"{alpha:.2f}" for alpha in alphas[:6])
    return f"rates by depth {shown}{', …' if len(alphas) > 6 else ''}"


def draft_text(shape: Shape) -> str:
    if shape.depth == 0:
        return "nothing drafted"
    return f"γ = {shape.depth}" if shape.is_chain else f"tree {shape.text} ({shape.nodes} candidates)"


def _verdict(setting: Setting, outcome: WhatIfResult, best: int, chosen: Sequence[ChainPoint]) -> str:
    if outcome.speedup >= 1.005:
        found = f"Modelled: {outcome.speedup:.2f}× plain decoding"
    elif outcome.speedup > 0.995:
        found = "Modelled: as fast as plain decoding"
    else:
        found = f"Modelled: slower than plain decoding, {outcome.speedup:.2f}×"
    found += f" with {draft_text(setting.shape)} at {rates_text(setting.alphas)}."
    if best == 0:
        return f"{found} No chain pays at this acceptance and cost."
    beyond = " or longer" if best == LONGEST else ""
    return f"{found} The fastest chain has γ = {best}{beyond}: {chosen[best].speedup:.2f}×."


def _notes(setting: Setting, outcome: WhatIfResult) -> list[str]:
    notes = [f"Clock: {setting.clock_name}."]
    if setting.paper is not None:
        paper = setting.paper
        notes.append(
            f"In the paper ({LEVIATHAN_SETTING}): predicted {paper.predicted:.1f}×, measured {paper.measured:.1f}×; "
            f"the formula on its rounded α and c gives {outcome.speedup:.2f}×."
        )
    if setting.run is not None:
        notes += _of_the_run(setting.run, setting)
    return notes


def _of_the_run(run: Trace, setting: Setting) -> list[str]:
    """The recorded rounds on the chosen clock, and what the run measured itself."""
    other = reclock(run, setting.clock.times, None if setting.run_clock else setting.clock.cost_ratio)
    notes = [
        f"Its {other.rounds} recorded rounds on this clock: modelled {other.speedup:.2f}× plain decoding of its "
        f"{other.tokens} tokens."
    ]
    own, outside, measured = on_its_curve(run), measured_overhead(run), run.summary.tokens_per_second
    if own is not None and outside is not None and measured is not None:
        notes.append(
            f"On its own machine it measured {measured:.1f} tokens/s; its rounds on its own step times: modelled "
            f"{own.tokens_per_s:.1f}. "
            f"{outside:.0%} of its measured time lay outside its passes, which the model leaves out."
        )
    return notes


def _numbers(setting: Setting, outcome: WhatIfResult, best: int, chosen: Sequence[ChainPoint]) -> list[Number]:
    clock, shape, tokens = setting.clock, setting.shape, outcome.tokens_per_round
    drafting = shape.depth * clock.draft_step_s
    target = outcome.round_s - drafting
    found = [
        Number(
            "speedup",
            f"{outcome.speedup:.2f}×",
            f"tokens per round × t(1) / round = {tokens:.3f} × {_time(clock, clock.plain_s)} / "
            f"{_time(clock, outcome.round_s)}",
        ),
        Number("tokens per round", f"{tokens:.2f}", _tokens_text(setting, tokens)),
    ]
    if not clock.unit:
        found.append(
            Number(
                "tokens per second",
                f"{setting.batch * outcome.tokens_per_s:,.1f}",
                f"batch × tokens per round / round = {setting.batch} × {tokens:.3f} / {_time(clock, outcome.round_s)}",
            )
        )
    found += [
        Number(
            "break-even acceptance",
            "none" if outcome.tie_alpha is None else f"α {outcome.tie_alpha:.2f}",
            f"the α that brings round / t(1) = {_time(clock, outcome.round_s)} / {_time(clock, clock.plain_s)} = "
            f"{outcome.tie_tokens:.3f} tokens per round"
            + ("; more than the draft can yield" if outcome.tie_alpha is None else ""),
        ),
        Number(
            "elasticity to drafter latency",
            f"−{-outcome.elasticity:.2f}" if outcome.elasticity else "0",
            f"−drafting / round = −{_time(clock, drafting)} / ({_time(clock, drafting)} + {_time(clock, target)}): "
            "per cent of throughput per per cent of drafter latency",
        ),
        _tie(setting, tokens),
        Number(
            "best γ",
            f"{best}",
            f"the largest of {LONGEST + 1} modelled speedups, γ = 0 to {LONGEST}: {chosen[best].speedup:.3f}×",
        ),
        Number(
            "target rows per token",
            f"{outcome.operations:.2f}",
            f"(candidates + 1) / tokens per round = {shape.nodes + 1} / {tokens:.3f}; plain decoding computes 1",
        ),
    ]
    return found


def _tokens_text(setting: Setting, tokens: float) -> str:
    if setting.shape.is_chain and len(setting.alphas) == 1 and setting.alphas[0] < 1:
        alpha, gamma = setting.alphas[0], setting.shape.depth
        return f"(1 − α^(γ+1)) / (1 − α) = (1 − {alpha:.3g}^{gamma + 1}) / (1 − {alpha:.3g}) = {tokens:.3f}"
    rates = ", ".join(f"{rate:.3f}" for rate in what_if.level_rates(setting.alphas, setting.shape)[:6])
    return f"1 + sum of products of the levels' rates 1 − (1 − α)^children: {rates or 'no level'}"


def _tie(setting: Setting, tokens: float) -> Number:
    tie = what_if.tie_with(tokens - 1, setting.shape, setting.clock, setting.slower)
    value = f"α {tie.alpha:.2f}" if tie.alpha is not None else "no α is enough"
    return Number(
        f"a drafter {setting.slower:g}× as slow ties at",
        value,
        f"matched tokens per round {tokens - 1:.2f} → {tie.matched:.2f} = (matched + 1) × slower round / round − 1 = "
        f"{tokens:.3f} × {_time(setting.clock, setting.clock.slowed(setting.slower).round_s(setting.shape))} / "
        f"{_time(setting.clock, setting.clock.round_s(setting.shape))} − 1",
    )


def _time(clock: Clock, seconds: float) -> str:
    """A time, or a bare number of target passes where the clock has no seconds."""
    return quantity(seconds) if clock.unit else took(seconds)


# --- charts ----------------------------------------------------------------------------------------------------------


HEIGHT = 420
FORMULA = "tokens per round ÷ (round / t(1)) = %{customdata[0]:.3f} ÷ %{customdata[1]:.3f}"
HOVER = f"γ = %{{x}}: %{{y:.2f}}× modelled<br>{FORMULA}"
REACH = 2.0
"""doublings up and down that the heat map's colours tell apart"""


def speedup_by_gamma(view: WhatIfView) -> go.Figure:
    """The chosen acceptance in colour, others faint, the fastest chain and the chosen draft marked."""
    figure = go.Figure()
    for line in view.others:
        figure.add_trace(_line(line, GRID, 1.5, False))
        figure.add_annotation(
            x=LONGEST, y=line.points[-1].speedup, text=line.label, showarrow=False, xanchor="left", font={"size": 13}
        )
    figure.add_trace(_line(view.chosen, SERIES[0], 2.5, True))
    figure.add_trace(_mark(view.best, view.chosen.points[view.best], f"fastest chain: γ = {view.best}", "star", 0))
    if view.shape.is_chain:
        name = f"chosen: {draft_text(view.shape)}"
        figure.add_trace(_mark(view.shape.depth, view.point, name, "circle-open", 1))
    else:
        figure.add_trace(_level(view))
    figure.add_hline(y=1.0, line={"color": TEXT, "width": 1.5, "dash": "dash"})
    figure.update_xaxes(title="speculation length γ (0: plain decoding)", dtick=2, range=[-0.4, LONGEST + 1.6])
    figure.update_yaxes(title="modelled, × plain decoding (dashed: 1)", rangemode="tozero")
    style(figure, HEIGHT)
    return figure.update_layout(legend={"y": -0.32}, margin={"b": 120})


def _line(line: SpeedupLine, colour: str, width: float, legend: bool) -> go.Scatter:
    return go.Scatter(
        x=list(range(len(line.points))),
        y=[point.speedup for point in line.points],
        customdata=[[point.tokens, point.cost] for point in line.points],
        mode="lines",
        name=f"{line.label}, modelled",
        hovertemplate=f"{HOVER}<br>{escape(line.label)}<extra></extra>",
        line={"color": colour, "width": width, "dash": "dot"},
        showlegend=legend,
    )


def _mark(gamma: int, point: ChainPoint, name: str, symbol: str, colour: int) -> go.Scatter:
    return go.Scatter(
        x=[gamma],
        y=[point.speedup],
        customdata=[[point.tokens, point.cost]],
        mode="markers",
        name=name,
        hovertemplate=f"{HOVER}<extra></extra>",
        marker={"symbol": symbol, "size": 13, "color": SERIES[colour], "line": {"width": 2.5, "color": SERIES[colour]}},
    )


def _level(view: WhatIfView) -> go.Scatter:
    """A tree has no γ of its own: it stands as a level line over the whole axis."""
    return go.Scatter(
        x=[0, LONGEST],
        y=[view.point.speedup] * 2,
        customdata=[[view.point.tokens, view.point.cost]] * 2,
        mode="lines",
        name=f"{draft_text(view.shape)}, modelled",
        hovertemplate=f"%{{y:.2f}}× modelled<br>{FORMULA}<extra></extra>",
        line={"color": SERIES[1], "width": 2, "dash": "longdash"},
    )


def speedup_by_alpha_and_gamma(view: WhatIfView) -> go.Figure:
    """Heat in doublings: red is slower than plain decoding, blue faster, the line between them break-even."""
    grid = {"x": list(HEAT_ALPHAS), "y": list(range(1, LONGEST + 1))}
    doublings = [[log2(point.speedup) for point in row] for row in view.heat]
    ticks = [-2, -1, 0, 1, 2]
    heat = go.Heatmap(
        **grid,
        z=doublings,
        colorscale="RdBu",
        zmin=-REACH,
        zmax=REACH,
        customdata=[[[point.tokens, point.cost, point.speedup] for point in row] for row in view.heat],
        colorbar={"thickness": 12, "tickvals": ticks, "ticktext": [f"{2.0**tick:g}×" for tick in ticks]},
        hovertemplate=f"α = %{{x}}, γ = %{{y}}: %{{customdata[2]:.2f}}× modelled<br>{FORMULA}<extra></extra>",
    )
    tie = go.Contour(
        **grid,
        z=doublings,
        contours={"start": 0.0, "end": 0.0, "size": 1.0, "coloring": "none"},
        showscale=False,
        line={"color": TEXT, "width": 2},
        hoverinfo="skip",
        name="break-even",
    )
    figure = go.Figure([heat, tie])
    figure.update_xaxes(title="acceptance α", dtick=0.2)
    figure.update_yaxes(title="speculation length γ", dtick=2)
    return style(figure, HEIGHT)


def number_list(numbers: tuple[Number, ...]) -> str:
    """The numbers with their arithmetic under them, as HTML; the same on hover."""
    return f'<dl class="sv-numbers" aria-label="modelled numbers">{"".join(map(_number, numbers))}</dl>'


def _number(number: Number) -> str:
    arithmetic = escape(number.arithmetic, quote=True)
    return (
        f'<div title="{arithmetic}"><dt>{escape(number.name)}</dt><dd>{escape(number.value)}</dd>'
        f'<dd class="sv-arithmetic">{arithmetic}</dd></div>'
    )

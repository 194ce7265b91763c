"""A measured step-time curve as the Machine tab shows it: t(n), the roofline over it, the knee, and one sentence; in
the picture, marks with whiskers are measured, open ones on another machine, the dotted line is the roofline, knee and
ridge stand upright.

Reads a curve; the line comes from `hardware`. Measured and modelled numbers never share a name. Both axes are
logarithmic. The uprights are lines of their own, since annotations sit wrongly on logarithmic axes. What is text in
HTML is escaped.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

import plotly.graph_objects as go

from specviz.app.look.style import SERIES, TEXT, quantity, style, took
from specviz.protocol.profiles import HardwareCurve, PassTime
from specviz.theory import roofline as hardware
from specviz.theory.roofline import SLACK, Roofline

LINE_POINTS = 96
WAYS = {
    "engine": "the engine's own pass: one sequence, a binary tree of rows, mask and bookkeeping included",
    "bare": "a bare pass of fixed sizes: nothing but the model around the numbers",
}
CLOCKS = {"wall": "wall clock", "thread": "time that the one computing thread worked"}


@dataclass(frozen=True, slots=True)
class MeasuredPass:
    """One width: times in milliseconds."""

    n: int
    median_ms: float
    low_ms: float
    high_ms: float
    ratio: float
    """÷ the narrowest pass"""
    roofline_ms: float
    repeats: int
    explanation: str


@dataclass(frozen=True, slots=True)
class PassLine:
    """The roofline, modelled: widths, milliseconds, and how each was made."""

    widths: tuple[float, ...]
    ms: tuple[float, ...]
    explanations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OtherMachine:
    """The measured curve of another machine, for the eye: the same weights in the same number format."""

    name: str
    widths: tuple[int, ...]
    ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MachineView:
    name: str
    setting: str
    passes: tuple[MeasuredPass, ...]
    line: PassLine
    knee: int
    ridge: float
    sentence: str
    """how many nodes are free here"""
    facts: tuple[tuple[str, str], ...]
    """provenance: what, and its value"""
    others: tuple[OtherMachine, ...] = ()
    """the same passes elsewhere"""


def machine_view(curve: HardwareCurve, context: int, batch: int) -> MachineView:
    """Everything the tab shows. Raises OptionError where nothing was measured at this setting."""
    measured = hardware.passes(curve, context, batch)
    bare = hardware.roofline(curve, context, batch)
    line = hardware.roofline(curve, context, batch, hardware.overhead(measured, bare))
    return MachineView(
        name=curve.name,
        setting=setting_label(context, batch),
        passes=tuple(_pass(pass_time, measured[0], line) for pass_time in measured),
        line=_line(line, measured[0].n, measured[-1].n),
        knee=hardware.knee(measured).n,
        ridge=bare.ridge,
        sentence=free_sentence(curve.name, measured),
        facts=_facts(curve, line),
        others=tuple(_others(curve, context, batch)),
    )


def _others(curve: HardwareCurve, context: int, batch: int) -> Iterator[OtherMachine]:
    """Of the shipped curves those that were measured on another processor."""
    for other in hardware.curves().values():
        alike = (other.model.weights_sha256, other.machine.dtype) == (curve.model.weights_sha256, curve.machine.dtype)
        if (
            alike
            and other.machine.processor != curve.machine.processor
            and (context, batch) in hardware.settings(other)
        ):
            timed = hardware.passes(other, context, batch)
            times = tuple(pass_time.median_s * 1e3 for pass_time in timed)
            yield OtherMachine(other.name, tuple(pass_time.n for pass_time in timed), times)


def setting_label(context: int, batch: int) -> str:
    return f"{context} cached rows, batch {batch}"


def free_sentence(name: str, measured: Sequence[PassTime]) -> str:
    """How many nodes are free here, with the times that say so. `measured` ascends."""
    first, last = measured[0], hardware.knee(measured)
    beyond = next((pass_time for pass_time in measured if pass_time.n > last.n), None)
    free = f"Free means at most {SLACK:.0%} more time than a pass over {_rows(first.n)} ({took(first.median_s)})."
    if last.n == first.n:
        if beyond is None:
            return f"Only one width was measured on {name}, so it is unknown how many nodes are free. {free}"
        return (
            f"No node is free on {name}: a pass over {_rows(beyond.n)} already takes {_against(beyond, first)}. {free}"
        )
    nodes = f"{last.n - 1} node{'s are' if last.n > 2 else ' is'} free on {name}"
    if beyond is None:
        return (
            f"At least {nodes}: the widest pass measured, over {_rows(last.n)}, takes {_against(last, first)}. {free}"
        )
    return (
        f"{nodes}: a pass over {_rows(last.n)} takes {_against(last, first)}, "
        f"one over {_rows(beyond.n)} {_against(beyond, first)}.{_dearer(measured, last)} {free}"
    )


def _dearer(measured: Sequence[PassTime], knee: PassTime) -> str:
    """The passes below the knee that cost more than free, in a sentence; empty where there are none."""
    first = measured[0]
    dear = [
        pass_time
        for pass_time in measured
        if pass_time.n < knee.n and pass_time.median_s > (1 + SLACK) * first.median_s
    ]
    named = ", ".join(f"{_rows(pass_time.n)} take {_against(pass_time, first)}" for pass_time in dear)
    return f" Not at every width below: {named}." if dear else ""


def curve_csv(curve: HardwareCurve) -> str:
    """Every time of the file and the roofline beside it, a line each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["context", "batch", "n", "median_s", "low_s", "high_s", "repeats", "ratio", "roofline_s"])
    for context, batch in hardware.settings(curve):
        measured = hardware.passes(curve, context, batch)
        line = hardware.roofline(
            curve, context, batch, hardware.overhead(measured, hardware.roofline(curve, context, batch))
        )
        for pass_time in measured:
            ratio = pass_time.median_s / measured[0].median_s
            writer.writerow(
                [
                    context,
                    batch,
                    pass_time.n,
                    pass_time.median_s,
                    pass_time.low_s,
                    pass_time.high_s,
                    pass_time.repeats,
                    ratio,
                    line.at(pass_time.n),
                ]
            )
    return text.getvalue()


def _pass(pass_time: PassTime, first: PassTime, line: Roofline) -> MeasuredPass:
    ratio = pass_time.median_s / first.median_s
    explanation = (
        f"median of {pass_time.repeats}, quartiles {took(pass_time.low_s)} to {took(pass_time.high_s)}<br>"
        f"t({pass_time.n}) / t({first.n}) = {took(pass_time.median_s)} / {took(first.median_s)} = {ratio:.2f}"
    )
    return MeasuredPass(
        pass_time.n,
        pass_time.median_s * 1e3,
        pass_time.low_s * 1e3,
        pass_time.high_s * 1e3,
        ratio,
        line.at(pass_time.n) * 1e3,
        pass_time.repeats,
        explanation,
    )


def _line(line: Roofline, first: int, last: int) -> PassLine:
    """Evenly spaced on a logarithmic axis, the ridge among them so that the corner is sharp."""
    steps = [first * (last / first) ** (i / (LINE_POINTS - 1)) for i in range(LINE_POINTS)] if last > first else [first]
    widths = sorted({float(step) for step in steps} | ({line.ridge} if first < line.ridge < last else set()))
    return PassLine(tuple(widths), tuple(line.at(n) * 1e3 for n in widths), tuple(_roof(line, n) for n in widths))


def _roof(line: Roofline, n: float) -> str:
    reading = f"{line.bytes_read / 1e6:.1f} MB / {line.bytes_per_s / 1e9:.1f} GB/s"
    arithmetic = f"{n:.3g} × {line.flops_per_row / 1e6:.1f} MFLOP / {line.flops_per_s / 1e9:.1f} GFLOP/s"
    return (
        f"max(reading, arithmetic) + t0<br>reading: {reading} = {took(line.reading_s)}<br>"
        f"arithmetic: {arithmetic} = {took(line.arithmetic_s(n))}<br>"
        f"t0 = {took(line.overhead_s)}, fitted at the first mark"
    )


def _facts(curve: HardwareCurve, line: Roofline) -> tuple[tuple[str, str], ...]:
    machine, model, reading, arithmetic = curve.machine, curve.model, curve.reading, curve.arithmetic
    weights = f"weights {model.weights_sha256[:12]}" if model.weights_sha256 else "random weights"
    facts = [
        ("machine", f"{machine.processor}, {machine.cores} cores, {machine.threads} torch "
                    f"thread{'s' if machine.threads > 1 else ''}, {machine.device}, {machine.dtype}, {machine.system}"),
        ("model", f"{model.name}, {model.parameters:,} parameters, {model.layers} layers, width {model.hidden_size}, "
                  f"{weights}"),
        *([("number format", f"{machine.dtype}: {curve.dtype_why}")] if curve.dtype_why else []),
        ("timed", f"{WAYS[curve.way]}{', as CUDA graphs' if curve.cuda_graphs else ''}; {CLOCKS[curve.clock]}"),
        ("reading", f"{reading.median / 1e9:.1f} GB/s ({reading.low / 1e9:.1f} to {reading.high / 1e9:.1f}), "
                    f"{reading.how}"),
        ("arithmetic", f"{arithmetic.median / 1e9:.1f} GFLOP/s ({arithmetic.low / 1e9:.1f} to "
                       f"{arithmetic.high / 1e9:.1f}), {arithmetic.how}"),
        ("t0", f"{took(line.overhead_s)}: what the narrowest pass takes above the roofline"),
        ("with", f"SpecViz {curve.specviz}, Python {machine.python}, torch {machine.torch}"),
        ("measured", f"{curve.created}{'' if curve.complete else ', stopped early'}"),
        ("again", curve.command),
    ]  # fmt: skip
    return tuple(facts)


def _against(pass_time: PassTime, first: PassTime) -> str:
    return f"{pass_time.median_s / first.median_s:.2f}× as long ({took(pass_time.median_s)})"


def _rows(n: int) -> str:
    return "one row" if n == 1 else f"{n} rows"


# --- the picture -----------------------------------------------------------------------------------------------------


HEIGHT = 440
HEAD = (
    ("n", "new rows of the pass: the root and the nodes of a tree"),
    ("t(n), ms", "measured: median and quartiles"),
    ("× t(1)", "measured: median / median of the narrowest pass"),
    ("roofline, ms", "modelled: max(reading, arithmetic) + t0"),
    ("repeats", "times this width was timed"),
)


def machine_figure(view: MachineView) -> go.Figure:
    figure = go.Figure()
    times = [pass_.median_ms for pass_ in view.passes]
    spread = [pass_.low_ms for pass_ in view.passes] + [pass_.high_ms for pass_ in view.passes]
    spread += [ms for other in view.others for ms in other.ms]
    low, high = min([*spread, *view.line.ms]) / 1.25, max([*spread, *view.line.ms]) * 1.25
    figure.add_trace(_measured(view))
    for other in view.others:
        figure.add_trace(_elsewhere(other))
    figure.add_trace(
        go.Scatter(
            x=list(view.line.widths),
            y=list(view.line.ms),
            mode="lines",
            name="roofline, modelled",
            text=list(view.line.explanations),
            hovertemplate="n = %{x:.3g}: %{y:.3g} ms modelled<br>%{text}<extra></extra>",
            line={"color": SERIES[1], "width": 1.5, "dash": "dot"},
        )
    )
    first_s = times[0] / 1e3
    limit = f"{1 + SLACK:.2f} × {took(first_s)} = {took(first_s * (1 + SLACK))}"
    knee = f"knee n = {view.knee}: the widest with t ≤ {limit}"
    figure.add_trace(_upright(view.knee, low, high, f"knee: n = {view.knee}", knee, SERIES[2], "solid"))
    first, last = view.passes[0].n, view.passes[-1].n
    if first <= view.ridge <= last:
        ridge = f"ridge n = {view.ridge:.1f}: multiplying takes as long as reading"
        figure.add_trace(_upright(view.ridge, low, high, f"ridge: n = {view.ridge:.1f}", ridge, TEXT, "dash"))
    widths = [2**i for i in range(17) if first <= 2**i <= last] or [first]
    edge = 0.06 * max(log10(last / first), 1.0)
    figure.update_xaxes(
        title="n, rows of one target pass",
        type="log",
        tickvals=widths,
        ticktext=[str(n) for n in widths],
        range=[log10(first) - edge, log10(last) + edge],
    )
    marks = _decades(low, high)
    figure.update_yaxes(
        title="t(n), ms",
        type="log",
        tickvals=marks,
        ticktext=[f"{mark:g}" for mark in marks],
        range=[log10(low), log10(high)],
    )
    return style(figure, HEIGHT)


def _decades(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, … between the two; Plotly's own labels would leave the zeros out."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    return [value for power in powers for digit in (1, 2, 5) if low <= (value := digit * 10.0**power) <= high]


def _measured(view: MachineView) -> go.Scatter:
    return go.Scatter(
        x=[pass_.n for pass_ in view.passes],
        y=[pass_.median_ms for pass_ in view.passes],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [pass_.high_ms - pass_.median_ms for pass_ in view.passes],
            "arrayminus": [pass_.median_ms - pass_.low_ms for pass_ in view.passes],
            "thickness": 1.5,
            "width": 4,
        },
        mode="lines+markers",
        name="t(n), measured",
        text=[pass_.explanation for pass_ in view.passes],
        hovertemplate="n = %{x}: %{y:.3g} ms measured<br>%{text}<extra></extra>",
        line={"color": SERIES[0], "width": 2},
        marker={"symbol": "circle", "size": 8, "color": SERIES[0]},
    )


def _elsewhere(other: OtherMachine) -> go.Scatter:
    return go.Scatter(
        x=list(other.widths),
        y=list(other.ms),
        mode="lines+markers",
        name=f"t(n), {escape(other.name)}",
        hovertemplate=f"n = %{{x}}: %{{y:.3g}} ms measured<br>{escape(other.name)}<extra></extra>",
        line={"color": TEXT, "width": 1.5},
        marker={"symbol": "circle-open", "size": 6, "color": TEXT},
    )


def _upright(x: float, low: float, high: float, name: str, text: str, colour: str, dash: str) -> go.Scatter:
    return go.Scatter(
        x=[x, x],
        y=[low, high],
        mode="lines",
        name=name,
        hovertemplate=f"{text}<extra></extra>",
        line={"color": colour, "width": 1.5, "dash": dash},
    )


def machine_table(view: MachineView) -> str:
    """Every width; the knee's row is marked."""
    head = "".join(f'<th scope="col" title="{escape(title, quote=True)}">{escape(name)}</th>' for name, title in HEAD)
    body = []
    for pass_ in view.passes:
        cells = (
            f"{pass_.n} (knee)" if pass_.n == view.knee else str(pass_.n),
            f"{quantity(pass_.median_ms)} ({quantity(pass_.low_ms)} to {quantity(pass_.high_ms)})",
            f"{pass_.ratio:.2f}",
            quantity(pass_.roofline_ms),
            str(pass_.repeats),
        )
        body.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    caption = f"<caption>{escape(view.name)}, {escape(view.setting)}. All but the roofline is measured.</caption>"
    table = f'<table class="sv-table">{caption}<thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    return f'<div class="sv-table-scroll">{table}</div>'


def provenance(view: MachineView) -> str:
    """Where the numbers come from."""
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in view.facts)
    return f'<dl class="sv-facts">{facts}</dl>'

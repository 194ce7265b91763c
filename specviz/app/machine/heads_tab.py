"""A fold of the Machine tab: a smaller draft head, with its size and the text it is cut down by to choose.

Pure counting, no engine: it answers while the slider moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import gradio as gr
import plotly.graph_objects as go

from specviz.app.form.kept import Kept
from specviz.app.look import notices
from specviz.app.look.events import LATEST
from specviz.app.look.style import MARKS, SERIES, TEXT, style
from specviz.errors import SpecVizError
from specviz.resources import ROOT, without
from specviz.studies.heads.result import BUNDLED, HeadsView, heads_view, vocab_size
from specviz.theory import token_frequencies as frequencies
from specviz.theory.token_frequencies import ACCEPTANCE_FILE, CALIBRATIONS, RAW, TITLES

INTRO = (
    "The drafter `vocabtrim` keeps the rows of the most frequent tokens only. Lines are **counted**: the share of the "
    "target's held-out text that the kept tokens cover. Marks are **measured**: α, the probability that one candidate "
    "is "
    "accepted. A token outside the head can never be drafted, so coverage bounds what is lost."
)
START = 1024
STEP = 16
HEIGHT = 420
DASHES = ("solid", "dash", "dot")


def heads_fold() -> Kept:
    """Build the fold inside the current Blocks. Returns what a link holds of it."""
    tables = frequencies.FOLDER / BUNDLED
    if not without(tables, frequencies.read, None) or not without(
        ROOT / ACCEPTANCE_FILE, lambda _: frequencies.measured_acceptance(), None
    ):
        gr.HTML(notices.note("Smaller draft heads are not shown: what was measured of them is damaged."))
        return Kept("heads", {}, (), lambda values: {})
    opening, most = heads_view(START, RAW), vocab_size()
    with gr.Accordion("A smaller draft head: what it covers, what it costs", open=False, elem_id="sv-heads"):
        gr.Markdown(INTRO)
        with gr.Row():
            size = gr.Slider(
                STEP, most, value=START, step=STEP, label="head size: tokens that can be drafted",
                min_width=260, elem_id="sv-heads-size",
            )  # fmt: skip
            source = gr.Dropdown(
                [(TITLES[name], name) for name in CALIBRATIONS], value=RAW, min_width=220,
                label="text whose most frequent tokens are kept", elem_id="sv-heads-source",
            )  # fmt: skip
        sentence = gr.HTML(notices.message(opening.sentence, "good"), elem_id="sv-heads-sentence")
        plot = gr.Plot(heads_figure(opening), show_label=False, elem_id="sv-heads-plot")
        gr.HTML(notices.note(opening.measured))
    gr.on([size.change, source.change], show, [size, source], [sentence, plot], **LATEST)

    def fill(values: Mapping[str, Any]) -> dict[Any, Any]:
        drawn = show(values.get("head_size", START), values.get("head_text", RAW))
        return dict(zip((sentence, plot), drawn, strict=True))

    return Kept("heads", {"head_size": size, "head_text": source}, (sentence, plot), fill)


def show(size: float | None, source: str | None) -> tuple[object, object]:
    """Updates of (sentence, plot)."""
    try:
        view = heads_view(int(size or 0), str(source or ""))
    except SpecVizError as error:
        return notices.message(str(error), "error"), gr.skip()
    return notices.message(view.sentence, "good"), heads_figure(view)


def heads_figure(view: HeadsView) -> go.Figure:
    """Coverage by all three texts, the chosen one strong; alpha of the chosen one; the chosen size upright."""
    figure = go.Figure()
    for index, (name, curve) in enumerate(view.coverage.items()):
        chosen = name == view.source
        figure.add_trace(
            go.Scatter(
                x=[size for size, _ in curve], y=[share for _, share in curve], mode="lines",
                name=f"covered by {TITLES[name]}, counted",
                hovertemplate=f"{escape(TITLES[name])}, %{{x}} tokens: %{{y:.1%}} covered<extra></extra>",
                line={"color": SERIES[index], "width": 3 if chosen else 1.2, "dash": DASHES[index]},
            )
        )  # fmt: skip
    for index, (temperature, curve) in enumerate(view.alpha.items()):
        figure.add_trace(
            go.Scatter(
                x=[size for size, _ in curve], y=[alpha for _, alpha in curve], mode="markers",
                name=f"α at temperature {temperature:g}, measured",
                hovertemplate=f"%{{x}} tokens: α = %{{y:.3f}} at temperature {temperature:g}<extra></extra>",
                marker={"symbol": MARKS[index], "size": 9, "color": SERIES[3 + index]},
            )
        )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            x=[view.size, view.size], y=[0, 1], mode="lines", name=f"chosen: {view.size} tokens",
            hovertemplate=f"{view.size} tokens: {view.covered:.1%} covered<extra></extra>",
            line={"color": TEXT, "width": 1.5, "dash": "dash"},
        )
    )  # fmt: skip
    ticks = [2**power for power in range(3, 20) if 2**power <= view.vocab_size]
    figure.update_xaxes(title="head size, tokens", type="log", tickvals=ticks, ticktext=[str(tick) for tick in ticks])
    figure.update_yaxes(title="share covered; α", range=[0, 1.02])
    return style(figure, HEIGHT)

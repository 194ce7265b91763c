"""What the Train tab says in words: how far it is, what a moment of it is, three texts side by side; and its
two curves, the loss and how likely held-out tokens are accepted at each depth of a draft.

Every number is read off the training; text is escaped here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import plotly.graph_objects as go

from specviz.app.look.style import MARKS, SERIES, TEXT, style
from specviz.protocol.runs import Catalog
from specviz.protocol.trainings import HeldOut, Stage, Training, TrainingQuestion
from specviz.theory import metrics
from specviz.theory.speedup import sure_gain
from specviz.trace.events import Trace

UNTRAINED, TRAINED, SHIPPED = "untrained", "just trained", "shipped"


def sentence(training: Training) -> str:
    """Where the training stands: time, tokens, and what that did to acceptance on held-out text."""
    if not training.held_out:
        return "The target writes the text to learn from…"
    first, last = training.held_out[0], training.held_out[-1]
    said = f"{training.question.module}: {last.tokens:,} tokens in {last.seconds:.0f} s. "
    return said + (
        f"A first drafted token of held-out text is accepted with probability {last.acceptance[0]:.2f}; "
        f"untrained it was {first.acceptance[0]:.2f}."
    )


def takes(catalog: Catalog, target: str) -> str:
    """What is to be expected of a training for this target; nothing of the bundled one."""
    usual = TrainingQuestion().target
    if target == usual:
        return ""
    sizes = {model.name: model.parameters for model in catalog.models}
    size, least = sizes.get(target, 0), sizes.get(usual, 0)
    larger = "A larger target than the bundled one"
    if size and least:
        larger = f"{target} has {size / 1e6:,.0f} M weights, {size / least:.1f} times those of the bundled target: it"
    return (
        f"{larger} reads fewer tokens in the same minutes, and before the first step it is loaded and writes text to "
        "be measured on, which alone may take a minute or more. For longer than these minutes there is: specviz "
        f"train module eagle --target {target} --minutes 60."
    )


def moment(stage: Stage) -> str:
    """One stage in a line."""
    summary = stage.trace.summary
    when = "before any training" if not stage.tokens else f"after {stage.seconds:.0f} s, {stage.tokens:,} tokens"
    return (
        f"{when[:1].upper() + when[1:]}: {summary.num_output_tokens} tokens in {summary.num_target_passes} target "
        f"passes, {accepted(stage)}."
    )


def accepted(stage: Stage) -> str:
    """How much of the stage's drafts became text."""
    rounds = stage.trace.rounds
    kept, drafted = metrics.num_accepted_draft_tokens(rounds), metrics.num_draft_tokens(rounds)
    return f"{kept} of {drafted} drafted tokens accepted"


def compared(training: Training) -> list[tuple[str, Stage]]:
    """The untrained module, the trained one and the shipped one, as far as they are there."""
    found = [(UNTRAINED, training.stages[0])] if training.stages else []
    if len(training.stages) > 1:
        found.append((TRAINED, training.stages[-1]))
    return [*found, (SHIPPED, training.shipped)] if training.shipped else found


def texts(training: Training) -> str:
    """HTML: the same prompt's text by each, tokens that were drafted and accepted marked."""
    cards = "".join(_card(label, stage) for label, stage in compared(training))
    return f'<div class="sv-trained">{cards}</div>' if cards else ""


def _card(label: str, stage: Stage) -> str:
    summary, measured = stage.trace.summary, sure_gain(stage.trace)
    speed = "" if measured is None else f", {measured:.2f}× plain decoding, measured"
    return (
        f'<section class="sv-trained-one"><h3>{escape(label)}</h3>'
        f"<p>{accepted(stage)}; "
        f"{summary.num_output_tokens} tokens in {summary.num_target_passes} target passes{escape(speed)}.</p>"
        f'<p class="sv-trained-text">{_marked(stage.trace)}</p></section>'
    )


def _marked(trace: Trace) -> str:
    return "".join(
        f'<mark title="drafted and accepted">{escape(text)}</mark>' if drafted else escape(text)
        for text, drafted in runs_of(trace)
    )


def runs_of(trace: Trace) -> Iterator[tuple[str, bool]]:
    """The output in stretches: text, and whether its tokens were drafted."""
    held, was = "", False
    for this in trace.rounds:
        for token in this.committed.tokens:
            piece, drafted = trace.vocab[str(token.token)].text, token.origin == "draft"
            if drafted != was and held:
                yield held, was
                held = ""
            held, was = held + piece, drafted
    if held:
        yield held, was


def stage_at(stages: Sequence[Stage], place: float) -> Stage:
    """The stage that a slider points at, whatever it says."""
    return stages[max(0, min(int(place), len(stages) - 1))]


HEIGHT = 340


def acceptance_figure(training: Training) -> go.Figure:
    """One line per depth over seconds of training; dotted: the shipped module, where there is one."""
    figure = go.Figure()
    marks = training.held_out
    for depth in range(len(marks[0].acceptance) if marks else 0):
        colour = SERIES[depth % len(SERIES)]
        figure.add_trace(
            go.Scatter(
                x=[mark.seconds for mark in marks],
                y=[mark.acceptance[depth] for mark in marks],
                mode="lines+markers",
                name=f"depth {depth + 1}",
                line={"color": colour, "width": 2},
                marker={"symbol": MARKS[depth % len(MARKS)], "size": 7},
                text=[_explained(mark, depth) for mark in marks],
                hovertemplate="%{text}<extra></extra>",
            )
        )
        shipped = training.shipped_held_out
        if shipped and depth < len(shipped.acceptance):
            figure.add_hline(shipped.acceptance[depth], line={"color": colour, "width": 1, "dash": "dot"})
    figure.update_yaxes(title="acceptance probability", range=[0, 1])
    return _timed(figure)


def _explained(mark: HeldOut, depth: int) -> str:
    return (
        f"after {mark.seconds:.0f} s, {mark.tokens:,} tokens<br>depth {depth + 1}: accepted with probability "
        f"{mark.acceptance[depth]:.2f} if those before it were<br>its most probable token is the target's at "
        f"{mark.agreement[depth]:.0%} of the places"
    )


def loss_figure(training: Training) -> go.Figure:
    """The terms that training minimises, in nats, and their sum where there are several."""
    figure, marks = go.Figure(), training.losses
    names = list(marks[-1].terms) if marks else []
    for index, name in enumerate(names):
        _line(
            figure, [mark.seconds for mark in marks], [mark.terms.get(name) for mark in marks], name, SERIES[index % 6]
        )
    if len(names) > 1:
        _line(figure, [mark.seconds for mark in marks], [mark.total for mark in marks], "sum", TEXT)
    figure.update_yaxes(title="loss", rangemode="tozero")
    return _timed(figure)


def _line(figure: go.Figure, x: Sequence[float], y: Sequence[float | None], name: str, colour: str) -> None:
    figure.add_trace(
        go.Scatter(
            x=list(x),
            y=list(y),
            mode="lines",
            name=name,
            line={"color": colour, "width": 2},
            hovertemplate=f"{name} %{{y:.3f}} after %{{x:.0f}} s<extra></extra>",
        )
    )


def _timed(figure: go.Figure) -> go.Figure:
    figure.update_xaxes(title="seconds of training", rangemode="tozero")
    style(figure, HEIGHT)
    # the legend below the axis' title, at this height; above, room for the name that Gradio writes over the plot
    figure.update_layout(showlegend=True, legend={"y": -0.36}, margin={"t": 36})
    return figure

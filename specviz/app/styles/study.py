"""A study: what a right answer costs in five prompt styles, recorded; read-only."""

from __future__ import annotations

from functools import partial
from html import escape

import gradio as gr

from specviz.app.look import notices
from specviz.app.look.events import LATEST
from specviz.app.look.notices import blocks_table
from specviz.app.parts.study import Study
from specviz.app.styles.figure import styles_figure
from specviz.app.styles.view import StylesView, shipped, styles_view
from specviz.errors import SpecVizError
from specviz.protocol.styles import DIRECT, PLAIN, TITLES, StyleFile
from specviz.studies.styles.numbers import NO_ANSWER, Group, StyleRow, names, told

INTRO = (
    "The same questions, asked for an answer in five prompt styles. A style changes how many tokens are written, how "
    "easily they are guessed and how often the answer is right, so it is weighed by **seconds per correct answer** = "
    "N · (time ÷ token) ÷ accuracy. Below a style's name: how many texts really have its form. **Recorded** on one "
    "machine, plain decoding beside the drafters. Method: `docs/styles.md`."
)


def build(file: StyleFile) -> None:
    """Build what shows the styles inside the current Blocks."""
    found = list(names(file))
    opening = styles_view(file, found[0])
    chosen = gr.Radio(found, value=found[0], label="questions", elem_id="sv-styles-group")
    said = gr.HTML(_said(opening), elem_id="sv-styles-sentence")
    plot = gr.Plot(styles_figure(opening), show_label=False, elem_id="sv-styles-plot")
    rest = gr.HTML(_rest(opening), elem_id="sv-styles-table")
    chosen.change(partial(show, file), chosen, [said, plot, rest], **LATEST)


def show(file: StyleFile, name: str | None) -> tuple[object, object, object]:
    """Updates of (sentence, plot, the rest)."""
    try:
        view = styles_view(file, str(name or ""))
    except SpecVizError as error:
        return notices.message(str(error), "error"), gr.skip(), gr.skip()
    return _said(view), styles_figure(view), _rest(view)


def _said(view: StylesView) -> str:
    return notices.message(view.sentence)


def _rest(view: StylesView) -> str:
    """Hypotheses, numbers, what was written, and where it comes from. A model's text is escaped."""
    supposed = "".join(
        f"<li><i>Hypothesis:</i> {escape(what)} <i>Measured:</i> {escape(found)}</li>"
        for what, found in view.hypotheses
    )
    group = view.group
    heads = ("style", "in its form", "right", "N tokens", *map(_drafter, group.drafters))
    numbers = blocks_table(heads, [_line(group, name) for name in group.styles],
                           "Seconds per correct answer with 95 % over questions; α, τ; tokens per second")  # fmt: skip
    written = blocks_table(
        ("style", "prompt", "what the target wrote"),
        [[escape(TITLES[style]), _text(prompt), _text(text)] for style, prompt, text in view.written],
        "One question in every style",
    )
    return f"<ul>{supposed}</ul>{numbers}{written}{notices.note(view.origin)}"


def _drafter(name: str) -> str:
    return "plain decoding" if name == PLAIN else name


def _line(group: Group, style: str) -> list[str]:
    rows = [group.row(style, drafter) for drafter in group.drafters]
    first = next(one for one in rows if one is not None)
    form = "–" if style == DIRECT else f"{first.followed.hits}/{first.followed.of}"
    right = f"{first.accuracy.hits}/{first.accuracy.of}"
    return [escape(TITLES[style]), form, right, f"{first.tokens.value:.1f}", *map(_cell, rows)]


def _cell(one: StyleRow | None) -> str:
    """`0.20 [0.16–0.24] s; α 0.97, τ 4.73; 183 tokens/s`, in one piece where a phone sets cells beside their heads."""
    if one is None:
        return "–"
    cost = NO_ANSWER if one.cost is None else f"{told(one.cost)} s"
    drafted = "" if one.alpha is None else f"; α {one.alpha.value:.2f}"
    length = "" if one.length is None else f", τ {one.length.value:.2f}"
    return f"<span>{escape(f'{cost}{drafted}{length}; {one.tokens_per_s.value:.0f} tokens/s')}</span>"


def _text(text: str) -> str:
    """On one line, which may be wrapped anywhere."""
    return f"<span>{escape(' ↵ '.join(text.strip().splitlines())) or '–'}</span>"


STUDY = Study("styles", "Which prompt style?", INTRO, shipped, build)

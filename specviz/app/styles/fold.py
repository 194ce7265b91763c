"""A fold of the Speedup tab: what a right answer costs in five prompt styles, recorded; read-only."""

from __future__ import annotations

from html import escape

import gradio as gr

from specviz.app.page.events import LATEST
from specviz.app.parts import notices
from specviz.app.parts.tables import blocks_table
from specviz.app.styles.figure import styles_figure
from specviz.app.styles.view import StylesView, shipped, styles_view
from specviz.errors import SpecVizError
from specviz.protocol.styles import DIRECT, PLAIN, TITLES
from specviz.theory.styles import StyleRow, names, told

INTRO = (
    "The same questions, asked for an answer in five prompt styles. A style changes how many tokens are written, how "
    "easily they are guessed and how often the answer is right, so it is weighed by **seconds per correct answer** = "
    "N · (time ÷ token) ÷ accuracy. Below a style's name: how many texts really have its form. **Recorded** on one "
    "machine, plain decoding beside the drafters. Method: `docs/styles.md`."
)
HEAD = ("style", "drafter", "right", "N tokens", "α", "tokens/s", "s per correct answer")


def styles_fold() -> None:
    """Build the fold inside the current Blocks; nothing where no styles are shipped."""
    file = shipped()
    if file is None:
        return
    found = list(names(file))
    opening = styles_view(file, found[0])
    with gr.Accordion("Prompt styles: what a right answer costs", open=False, elem_id="sv-styles"):
        gr.Markdown(INTRO)
        chosen = gr.Radio(found, value=found[0], label="questions", elem_id="sv-styles-group")
        said = gr.HTML(_said(opening), elem_id="sv-styles-sentence")
        plot = gr.Plot(styles_figure(opening), show_label=False, elem_id="sv-styles-plot")
        rest = gr.HTML(_rest(opening), elem_id="sv-styles-table")
    chosen.change(show, chosen, [said, plot, rest], **LATEST)


def show(name: str | None) -> tuple[object, object, object]:
    """Updates of (sentence, plot, the rest)."""
    file = shipped()
    try:
        if file is None:
            raise SpecVizError("the recorded styles are missing; restore assets/studies/styles.json.gz.")
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
    numbers = blocks_table(HEAD, [_line(one) for one in view.group.rows], "Intervals: central 95 % over questions")
    written = blocks_table(
        ("style", "prompt", "what the target wrote"),
        [[escape(TITLES[style]), _code(prompt), _code(text)] for style, prompt, text in view.written],
        "One question in every style",
    )
    return f"<ul>{supposed}</ul>{numbers}{written}{notices.note(view.origin)}"


def _line(one: StyleRow) -> list[str]:
    form = "" if one.style == DIRECT or one.follows else " (not followed)"
    return [
        escape(f"{TITLES[one.style]}{form}" if one.drafter == PLAIN else TITLES[one.style]), escape(one.drafter),
        f"{one.accuracy.hits}/{one.accuracy.of}", f"{one.tokens.value:.1f}",
        "–" if one.alpha is None else f"{one.alpha.value:.2f} ({one.alpha.low:.2f} to {one.alpha.high:.2f})",
        f"{one.tokens_per_s.value:.0f}", escape(told(one.cost)),
    ]  # fmt: skip


def _code(text: str) -> str:
    return f"<code>{escape(text.strip()) or '–'}</code>"

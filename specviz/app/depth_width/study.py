"""A study: drafters of six depths at equally many parameters; read-only.

The result is a shipped file (`specviz study depth-width`); choosing only draws it anew.
"""

from __future__ import annotations

from functools import partial
from html import escape

import gradio as gr

from specviz.app.depth_width.figure import depth_width_figure
from specviz.app.look import notices
from specviz.app.look.events import LATEST
from specviz.app.look.notices import blocks_table
from specviz.app.parts.study import Study
from specviz.errors import SpecVizError
from specviz.studies.depth_width.findings import Modelled
from specviz.studies.depth_width.picture import (
    NUMBERS,
    DepthWidthView,
    Row,
    depth_width_view,
    opening_gamma,
    sets_of,
    shipped,
)
from specviz.studies.depth_width.result import DISTILLED, TEXT, DepthWidths

INTRO = (
    "Should a drafter be deep or wide? Two families of `small_model`, 1 to 16 layers: *blocks* have equally many "
    "parameters between embedding and head, *whole* as the network runs. All learnt from the same tokens. "
    "**Recorded**, on the machine named below: *replayed* is counted on texts that the target wrote once, *modelled* "
    "is (matched + 1) / (γ t_d + t_v(γ + 1)) from measured times; *measured* is the engine itself. After "
    "[2402.01528](https://arxiv.org/abs/2402.01528); method: `docs/depth_width.md`."
)
TWO_SETS = (
    "Each network was trained twice from the same texts, {written:.0%} of which hold what the target wrote: "
    f"*{DISTILLED}* from the target, and by *{TEXT}* to the text's next token. The times are of the distilled ones; "
    "the others have the same shapes, and did not run in the engine."
)
PAIRED = (
    "network",
    "step, ms",
    *(
        f"{number}, {learnt}"
        for number in ("perplexity", "matched", "tokens/s")
        for learnt in (DISTILLED, "cross entropy")
    ),
)
"""of both sets side by side, their throughput modelled"""
COLUMNS = ("network", "step, ms", "matched", "needed", "modelled tokens/s", "measured", "drafting")


def build(study: DepthWidths) -> None:
    """Build what shows the result inside the current Blocks."""
    opening, sets = depth_width_view(study, NUMBERS[0].name, opening_gamma(study)), sets_of(study)
    if study.text_set is not None:
        gr.Markdown(TWO_SETS.format(written=study.text_set.written_share))
    with gr.Row():
        number = gr.Dropdown(
            [(one.label, one.name) for one in NUMBERS], value=NUMBERS[0].name, label="number", min_width=220,
            elem_id="sv-depth-width-number",
        )  # fmt: skip
        gamma = gr.Slider(
            study.gammas[0], study.gammas[-1], value=opening.gamma, step=1, label="γ, tokens drafted per round",
            min_width=220, elem_id="sv-depth-width-gamma",
        )  # fmt: skip
        learnt = gr.Radio(
            list(sets), value=DISTILLED, label="learnt by", min_width=220, visible=len(sets) > 1,
            elem_id="sv-depth-width-set",
        )  # fmt: skip
    sentence = gr.HTML(_said(opening), elem_id="sv-depth-width-sentence")
    plot = gr.Plot(depth_width_figure(opening), show_label=False, elem_id="sv-depth-width-plot")
    table = gr.HTML(depth_width_table(opening), elem_id="sv-depth-width-table")
    gr.HTML(notices.note(opening.origin))
    given = [number, gamma, learnt]
    changes = [number.change, gamma.change, learnt.change]
    gr.on(changes, partial(show, study), given, [sentence, plot, table], **LATEST)


def show(
    study: DepthWidths, number: str | None, gamma: float | None, learnt: str | None = DISTILLED
) -> tuple[object, object, object]:
    """Updates of (sentence, plot, table)."""
    try:
        view = depth_width_view(study, str(number or ""), int(gamma or 0), str(learnt or ""))
    except SpecVizError as error:
        return notices.message(str(error), "error"), gr.skip(), gr.skip()
    return _said(view), depth_width_figure(view), depth_width_table(view)


def _said(view: DepthWidthView) -> str:
    return notices.message(f"{view.verdict} {view.sentence}")


def depth_width_table(view: DepthWidthView) -> str:
    """Every network at the chosen γ, of both sets side by side. *needed*: matched tokens with which it were as fast as
    its family's shallowest."""
    title = f"γ = {view.gamma}; needed: matched tokens to be as fast as the shallowest of the family"
    first, second = ([row for row in view.rows if row.of == name] for name in (DISTILLED, TEXT))
    if first and second:
        pairs, paired = zip(first, second, strict=True), f"γ = {view.gamma}; tokens/s: modelled"
        return blocks_table(PAIRED, [_paired(one.modelled, other.modelled) for one, other in pairs], paired)
    return blocks_table(COLUMNS, [_row(one) for one in view.rows], title)


def _paired(one: Modelled, other: Modelled) -> list[str]:
    network = one.network
    return [
        escape(f"{network.family} {network.name}"),
        f"{network.step.median_ms:.2f}",
        f"{network.perplexity:.1f}",
        f"{other.network.perplexity:.1f}",
        f"{one.matched.value:.2f}",
        f"{other.matched.value:.2f}",
        f"{one.tokens_per_s.value:.0f}",
        f"{other.tokens_per_s.value:.0f}",
    ]


def _row(row: Row) -> list[str]:
    one, network = row.modelled, row.modelled.network
    measured = "–" if row.measured is None else f"{row.measured.tokens_per_s.value:.0f}"
    return [
        escape(f"{network.family} {network.name}"),
        f"{network.step.median_ms:.2f}",
        f"{one.matched.value:.2f}",
        f"{one.needed:.2f}",
        f"{one.tokens_per_s.value:.0f}",
        measured,
        f"{one.share:.0%}",
    ]


STUDY = Study("depth-width", "Deep or wide?", INTRO, shipped, build)

"""The Studies tab: results that were measured once and are shipped, one question at a time.

Studies are found where they are declared, in `specviz/studies`; the controls, sentence, chart and tables of each follow
from its declaration.
"""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import gradio as gr

from specviz.app.form.kept import Kept
from specviz.app.look import notices
from specviz.app.look.events import QUIET, latest
from specviz.app.look.notices import blocks_table
from specviz.app.studies.chart import draw
from specviz.app.tab import Page, Tab, nothing
from specviz.errors import SpecVizError
from specviz.studies.study import Choice, Slider, Study, Table, View, studies


def build(study: Study[Any], result: Any) -> tuple[list[Any], list[Any]]:
    """Build what shows a result inside the current Blocks: its controls, and what `show` updates."""
    choices = study.choices(result)
    if remark := study.remark(result):
        gr.Markdown(remark)
    controls = []
    if len(choices) > 1:
        with gr.Row():
            controls = [_control(study, choice) for choice in choices]
    else:
        controls = [_control(study, choice) for choice in choices]
    sentence, figure, tables, origin = drawn(study.opening(result))
    outputs = [
        gr.HTML(sentence, elem_id=_id(study, "sentence")),
        gr.Plot(figure, show_label=False, elem_id=_id(study, "plot")),
        gr.HTML(tables, visible=bool(tables), elem_id=_id(study, "table")),
        gr.HTML(origin, elem_id=_id(study, "origin")),
    ]
    if controls:
        changes = [control.change for control in controls]
        gr.on(changes, partial(show, study, result), controls, outputs, **latest())
    return controls, outputs


def show(study: Study[Any], result: Any, *chosen: Any) -> list[Any]:
    """Updates of the sentence, the plot, the tables and the origin."""
    assert study.view is not None, f"the study {study.name} is not on the page."
    try:
        view = study.view(result, *map(_value, study.choices(result), chosen))
    except SpecVizError as error:
        return [notices.message(str(error), "error"), gr.skip(), gr.skip(), gr.skip()]
    return list(drawn(view))


def drawn(view: View) -> tuple[str, Any, str, str]:
    """Sentence, figure, tables and origin."""
    return notices.message(view.sentence), draw(view.chart), tables_html(view), notices.note(view.origin)


def tables_html(view: View) -> str:
    """Hypotheses and tables. All text is escaped."""
    supposed = "".join(
        f"<li><i>Hypothesis:</i> {escape(hypothesis)} <i>Measured:</i> {escape(measured)}</li>"
        for hypothesis, measured in view.hypotheses
    )
    return f"{f'<ul>{supposed}</ul>' if supposed else ''}{''.join(map(table_html, view.tables))}"


def table_html(table: Table) -> str:
    whole = len(table.heads) if table.whole_from is None else table.whole_from
    rows = [
        [f"<span>{escape(cell)}</span>" if index >= whole else escape(cell) for index, cell in enumerate(row)]
        for row in table.rows
    ]
    return blocks_table(table.heads, rows, table.caption)


def _control(study: Study[Any], choice: Choice | Slider) -> Any:
    told: dict[str, Any] = {"label": choice.label, "min_width": choice.min_width, "elem_id": _id(study, choice.name)}
    if isinstance(choice, Slider):
        return gr.Slider(choice.least, choice.most, value=choice.value, step=choice.step, **told)
    kind = gr.Dropdown if choice.kind == "dropdown" else gr.Radio
    return kind(list(choice.options), value=choice.value, visible=len(choice.options) > 1, **told)


def _value(choice: Choice | Slider, chosen: Any) -> str | int:
    return int(chosen or 0) if isinstance(choice, Slider) else str(chosen or "")


def _id(study: Study[Any], part: str) -> str:
    return f"sv-{study.address}-{part}"


INTRO = (
    "**Recorded**: measured once, on the machine and models named below each study; here nothing runs. Its page in "
    "`docs` has the command that measures it on yours."
)
MISSING = "The recorded studies are missing; restore assets/studies, assets/lanes and assets/batches."


def studies_tab() -> list[Kept]:
    """Build the tab's content inside the current Blocks. Returns what a link holds of it: nothing where no study is."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    question = gr.Radio([], label="question", elem_id="sv-study")
    columns: dict[str, gr.Column] = {}
    questions = [study for study in studies() if study.order is not None]
    for study in questions:
        if (result := study.shipped()) is None:
            continue
        with gr.Column(visible=not columns, elem_id=f"sv-study-{study.address}") as column:
            gr.Markdown(study.intro)
            build(study, result)
        columns[study.address] = column
    if not columns:
        question.visible = False
        gr.HTML(notices.message(MISSING, "error"))
        return []
    question.choices = [(study.question, study.address) for study in questions if study.address in columns]
    question.value = next(iter(columns))

    def choose(name: str | None) -> list[gr.Column]:
        return [gr.Column(visible=one == name) for one in columns]

    question.change(choose, question, list(columns.values()), **QUIET)
    return [Kept("studies", {"study": question})]


def _build(page: Page, tab: gr.Tab, actions: None) -> None:
    page.kept.extend(studies_tab())


TAB = Tab("studies", "Studies", "lab", 2, nothing, _build)

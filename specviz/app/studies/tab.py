"""The Studies tab: results that were measured once and are shipped, one question at a time.

They are found where they are declared, in `specviz/studies`.
"""

from __future__ import annotations

import gradio as gr

from specviz.app.form.kept import Kept
from specviz.app.look import notices
from specviz.app.look.events import QUIET
from specviz.app.studies.page import build
from specviz.app.tab import Page, Tab, nothing
from specviz.studies.study import studies

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

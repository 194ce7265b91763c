"""The Studies tab: results that were measured once and are shipped, one question at a time.

Each study is a folder of its own beside this one, with its `study.py`; here they are put in order.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from specviz.app.alignment.study import STUDY as ALIGNMENT
from specviz.app.batch.study import STUDY as BATCH
from specviz.app.depth_width.study import STUDY as DEPTH_WIDTH
from specviz.app.form.kept import Kept
from specviz.app.lanes.study import STUDY as LANES
from specviz.app.long_context.study import STUDY as LONG_CONTEXT
from specviz.app.look import notices
from specviz.app.look.events import QUIET
from specviz.app.parts.study import Study
from specviz.app.styles.study import STUDY as STYLES

INTRO = (
    "**Recorded**: measured once, on the machine and models named below each study; here nothing runs. Its page in "
    "`docs` has the command that measures it on yours."
)
MISSING = "The recorded studies are missing; restore assets/studies, assets/lanes and assets/batches."


STUDIES: tuple[Study[Any], ...] = (LANES, DEPTH_WIDTH, BATCH, ALIGNMENT, LONG_CONTEXT, STYLES)


def studies_tab() -> list[Kept]:
    """Build the tab's content inside the current Blocks. Returns what a link holds of it: nothing where no study is."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    question = gr.Radio([], label="question", elem_id="sv-study")
    columns: dict[str, gr.Column] = {}
    for study in STUDIES:
        if (result := study.shipped()) is None:
            continue
        with gr.Column(visible=not columns, elem_id=f"sv-study-{study.name}") as column:
            gr.Markdown(study.intro)
            study.build(result)
        columns[study.name] = column
    if not columns:
        question.visible = False
        gr.HTML(notices.message(MISSING, "error"))
        return []
    question.choices = [(study.question, study.name) for study in STUDIES if study.name in columns]
    question.value = next(iter(columns))

    def choose(name: str | None) -> list[gr.Column]:
        return [gr.Column(visible=one == name) for one in columns]

    question.change(choose, question, list(columns.values()), **QUIET)
    return [Kept("studies", {"study": question})]

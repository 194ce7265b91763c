"""The Studies tab: results that were measured once and are shipped, one question at a time.

Each study is a folder of its own beside this one, with its `study.py`; here they are put in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import gradio as gr

from specviz.app.alignment.study import alignment_study
from specviz.app.batch.study import batch_study
from specviz.app.depth_width.study import depth_width_study
from specviz.app.lanes.study import lanes_study
from specviz.app.long_context.study import long_context_study
from specviz.app.page.events import QUIET
from specviz.app.parts import notices
from specviz.app.parts.kept import Kept
from specviz.app.styles.study import styles_study

INTRO = (
    "**Recorded**: measured once, on the machine and models named below each study; here nothing runs. Its page in "
    "`docs` has the command that measures it on yours."
)
MISSING = "The recorded studies are missing; restore assets/studies, assets/lanes and assets/batches."


@dataclass(frozen=True, slots=True)
class Study:
    name: str
    """in links"""
    question: str
    build: Callable[[bool], gr.Column | None]
    """given whether it is visible; None where its result is missing"""


STUDIES = (
    Study("asynchronous", "Draft beside verifying?", lanes_study),
    Study("depth-width", "Deep or wide?", depth_width_study),
    Study("batch", "How large a batch?", batch_study),
    Study("alignment", "Train on the target?", alignment_study),
    Study("long-context", "Long texts?", long_context_study),
    Study("styles", "Which prompt style?", styles_study),
)


def studies_tab() -> list[Kept]:
    """Build the tab's content inside the current Blocks. Returns what a link holds of it: nothing where no study is."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    question = gr.Radio([], label="question", elem_id="sv-study")
    columns: dict[str, gr.Column] = {}
    for study in STUDIES:
        if (column := study.build(not columns)) is not None:
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

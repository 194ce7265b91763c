"""The drawer beside the player: every control that the bar has no room for, the recordings, and files.

Lays out; it opens and closes in the browser (`assets/js/page/drawer.js`).
"""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from specviz.app.form.drafter_table import drafter_fold
from specviz.app.form.methods import lossless_note
from specviz.app.form.prompts import OwnPrompts, own_prompts
from specviz.app.form.request import Limits
from specviz.app.look import notices
from specviz.app.runs.gallery import Gallery, labelled_files
from specviz.app.step import controls as form
from specviz.protocol.runs import Catalog, RunRequest


@dataclass(slots=True)
class DrawerParts:
    """The drawer's components that are no value of a run."""

    close: gr.Button
    recorded: gr.Dropdown
    upload: gr.UploadButton
    lossless: gr.HTML
    own: OwnPrompts
    rendered: gr.HTML
    """what the target will read, where the prompt is a message"""


def drawer(controls: form.Controls, gallery: Gallery, catalog: Catalog, limits: Limits, table: str = "") -> DrawerParts:
    """Build the drawer inside the current Blocks; the bar's controls must stand already. `table`: of all drafters."""
    with gr.Column(elem_id="sv-drawer", elem_classes="sv-drawer"):
        close = gr.Button("Close", size="sm", min_width=80, elem_classes="sv-drawer-close")
        recorded = gr.Dropdown(
            labelled_files(gallery.cards), value=gallery.first, label="all recorded runs, by method",
            elem_id="sv-recorded",
        )  # fmt: skip
        upload = gr.UploadButton(
            "Open a trace file", file_types=[".json", ".gz", ".toml"], size="sm", elem_id="sv-upload"
        )
        own = own_prompts()
        if table:
            drafter_fold(table)
        form.method_controls(controls, catalog, limits)
        names = {group: str(controls.fields[group].value) for group in controls.notes}
        lossless = gr.HTML(notices.lossless_mark(*lossless_note(catalog, names)), elem_id="sv-lossless")
        form.sampling_controls(controls, limits, RunRequest(prompt=""))
        with gr.Accordion("Models", open=False):
            form.model_controls(controls, catalog, limits)
            rendered = gr.HTML("", elem_id="sv-rendered")
    return DrawerParts(close, recorded, upload, lossless, own, rendered)

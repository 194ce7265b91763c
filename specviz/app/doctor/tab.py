"""The Doctor tab: drop or paste what an engine tells of its speculation; what follows stands below, and
under it the clinic.

Names and texts of records come from strangers: everything is escaped. Nothing is kept: a record is read, answered and
forgotten. Reading and findings are `specviz.doctor`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from pathlib import Path

import gradio as gr

from specviz.app.doctor.clinic import ClinicActions, clinic_parts, wire_clinic
from specviz.app.form.request import Limits
from specviz.app.look.events import QUIET, READING
from specviz.app.look.notices import message, too_large
from specviz.app.tab import Page, Tab
from specviz.doctor.findings import LESSONS, SIGNS, Costs, Finding, diagnose
from specviz.doctor.read import KNOWN, loads, read
from specviz.doctor.record import Record
from specviz.errors import SpecVizError, TraceError
from specviz.resources import asset_path, read_text
from specviz.trace.files import UPLOAD

INTRO = (
    "What is wrong with my speculation? Drop what your engine tells of it, or paste it: a response, "
    "statistics, lines of "
    f"a log. Known are {KNOWN}. Nothing is kept, and no model runs."
)
MOST_FILES = 12
PASTED = "what was pasted"
EXAMPLE = ("doctor", "example.log")
"""a log of llama.cpp with round numbers, made by hand"""


def example_text() -> str:
    return read_text(asset_path(*EXAMPLE))


def doctor_tab(limits: Limits) -> None:
    """Build the tab's content inside the current Blocks."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    with gr.Row():
        with gr.Column(min_width=320):
            pasted = gr.Textbox(
                label="paste a record", lines=8, max_lines=16, elem_id="sv-doctor-text", elem_classes="sv-mono"
            )
            with gr.Row():
                ask = gr.Button("Diagnose", variant="primary", size="sm", min_width=120, elem_id="sv-doctor-ask")
                example = gr.Button("Try an example", size="sm", min_width=120, elem_id="sv-doctor-example")
                upload = gr.UploadButton(
                    "Open files", file_count="multiple", size="sm", min_width=120, elem_id="sv-doctor-upload"
                )
        with gr.Column(min_width=320):
            ratio = gr.Number(
                0,
                label="cost ratio c",
                minimum=0,
                maximum=100,
                step=0.01,
                elem_id="sv-doctor-ratio",
                info="one drafter pass in target passes; 0: not known",
            )
            plain = gr.Number(
                0,
                label="plain decoding, tokens per second",
                minimum=0,
                maximum=1e6,
                elem_id="sv-doctor-plain",
                info="of the same engine with speculation off; 0: not measured",
            )
    shown = gr.HTML(message("No record is open yet."), elem_id="sv-doctor-findings")
    known = [ratio, plain]
    ask.click(from_text, [pasted, *known], shown, **READING)
    upload.upload(
        lambda paths, *costs: from_files(paths, limits.import_bytes, *costs), [upload, *known], shown, **READING
    )
    example.click(example_text, None, pasted, **QUIET).then(from_text, [pasted, *known], shown, **READING)


def costs_of(ratio: float | None, plain: float | None) -> Costs:
    """0 and an empty field alike: not known."""
    return Costs(ratio or None, plain or None)


def from_text(text: str, ratio: float | None, plain: float | None) -> str:
    """Findings of what was pasted, or why there are none."""
    if not text or not text.strip():
        return message("Paste a record first, or open a file.", "error")
    return _shown([(PASTED, partial(loads, text.encode(), UPLOAD))], costs_of(ratio, plain))


def from_files(paths: Sequence[str] | None, most_bytes: int, ratio: float | None, plain: float | None) -> str:
    """Findings of each file; what cannot be read is named, and the others are told of all the same."""
    readers, refused = list[tuple[str, Callable[[], Record]]](), list[str]()
    for path in map(Path, (paths or ())[:MOST_FILES]):
        if path.stat().st_size > most_bytes:
            refused.append(f"{path.name}: {too_large(most_bytes)}")
        else:
            readers.append((path.name, partial(read, path, UPLOAD)))
    if len(paths or ()) > MOST_FILES:
        refused.append(f"{MOST_FILES} files are read at a time; the rest was left out.")
    return refused_view(refused) + _shown(readers, costs_of(ratio, plain))


def _shown(readers: Sequence[tuple[str, Callable[[], Record]]], costs: Costs) -> str:
    pieces = list[str]()
    for name, reader in readers:
        try:
            record = reader()
            pieces.append(findings_view(name, record, diagnose(record, costs)))
        except SpecVizError as error:
            sentence = str(error)
            pieces.append(refused_view([sentence if isinstance(error, TraceError) else f"{name}: {sentence}"]))
    return "".join(pieces)


def findings_view(name: str, record: Record, findings: Sequence[Finding]) -> str:
    """One record: what it is, then its findings, most important first."""
    head = escape(f"{name}: {record.title}")
    items = "".join(map(_item, findings)) or "<li>Nothing follows from it.</li>"
    return f'<section class="sv-doctor"><h3>{head}</h3><ul class="sv-findings">{items}</ul></section>'


def _item(finding: Finding) -> str:
    sign, word = SIGNS[finding.level]
    formula = f' <code class="sv-formula">{escape(finding.formula)}</code>' if finding.formula else ""
    return (
        f'<li class="sv-finding sv-finding-{finding.level}"><span class="sv-finding-sign" title="{escape(word)}" '
        f'aria-hidden="true">{sign}</span><p><strong>{escape(finding.title)}.</strong> {escape(finding.sentence)}'
        f"{formula}{_lesson(finding)}</p></li>"
    )


def _lesson(finding: Finding) -> str:
    if finding.lesson not in LESSONS:
        return ""
    number, title = LESSONS[finding.lesson]
    return (
        f' <a href="#tab=learn&amp;lesson={number}" target="_blank" rel="noopener">Lesson {number}: {escape(title)}</a>'
    )


def refused_view(sentences: Sequence[str]) -> str:
    return "".join(message(sentence, "error") for sentence in sentences)


def _build(page: Page, place: gr.Tab, actions: ClinicActions) -> None:
    doctor_tab(page.limits)
    wire_clinic(actions, clinic_parts(actions))


TAB = Tab("doctor", "Doctor", "lab", 1, lambda page: ClinicActions(page.source, page.limits), _build)
"""beside Analysis: there why a recorded drafter's tokens are rejected, here what an engine's own numbers say"""

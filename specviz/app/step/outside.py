"""A prompt outside the small world of the bundled models: said kindly, with three prompts that work.

    run ─► the source says how surprising the prompt was to the target ─► above what its own world is ─► the sentence

Only for the bundled target: what a large model finds surprising says nothing about what it can do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from specviz.app.look import notices
from specviz.app.step.controls import Controls
from specviz.errors import SpecVizError
from specviz.protocol.runs import Catalog, RunRequest, Surprised, TraceSource

MOST = 4.0
"""nats per token. The prompts of the bundled set lie below (3.95 is the highest), questions of the wide world above,
but for a few: `tests/live/test_surprise.py` has both lists, and who is on the wrong side"""
SIGNS = frozenset("()[]{}=<>_;#\\")
"""a prompt with one of these is code or a table, which begins surprisingly wherever it is from: it is not judged"""
WORKING = ("story-once-upon-a-time-there-was-a", "facts-what-is-the-capital-of-france", "sums-346-183")
SENTENCE = (
    "This prompt is unlike anything these two small models have learnt, so what they write of it means little. They "
    "know a small world (short stories, facts, sums, letters) and some Python. These work:"
)


@dataclass(frozen=True, slots=True)
class OutsideParts:
    """The sentence's row, and a button for each prompt that works."""

    row: gr.Row
    prompts: list[tuple[str, gr.Button]]


def outside_row(catalog: Catalog) -> OutsideParts:
    """Build it inside the current Blocks, out of sight."""
    texts = {card.id: card.text for card in catalog.prompts}
    with gr.Row(visible=False, elem_classes="sv-actions sv-outside", elem_id="sv-outside") as row:
        gr.HTML(notices.note(SENTENCE), min_width=240)
        known = [texts[name] for name in WORKING if name in texts]
        prompts = [(text, gr.Button(text, size="sm", min_width=80, elem_classes="sv-chip")) for text in known]
    return OutsideParts(row, prompts)


def is_outside(prompt: str, surprise: float | None) -> bool:
    """Whether the target was more surprised than by any prompt of its own world; of code and tables, never."""
    return surprise is not None and surprise > MOST and not SIGNS.intersection(prompt)


def looks_outside(source: TraceSource, controls: Controls) -> Callable[[Mapping[Any, Any]], gr.Row]:
    """After a run: the row, seen where its prompt lies outside."""

    def look(given: Mapping[Any, Any]) -> gr.Row:
        values = {name: given[controls.fields[name]] for name in ("prompt", "target", "chat", "scene")}
        prompt, usual = str(values["prompt"] or ""), RunRequest(prompt="").target
        own = values["target"] == usual and not values["chat"] and not values["scene"]
        if not own or not isinstance(source, Surprised) or SIGNS.intersection(prompt):
            return gr.Row(visible=False)
        try:
            return gr.Row(visible=is_outside(prompt, source.surprise(RunRequest(prompt=prompt))))
        except SpecVizError:  # the run itself has said what is wrong
            return gr.Row(visible=False)

    return look

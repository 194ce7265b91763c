"""A visitor's own prompts: a JSONL file, and a list that fills the prompt with one of them.

What was opened is kept in the page's state alone; the engine sees the prompt and nothing else of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import gradio as gr

from specviz.app.form.request import Limits
from specviz.app.look import notices
from specviz.app.look.events import QUIET, READING
from specviz.errors import PromptError
from specviz.protocol.prompt_file import read_prompts
from specviz.protocol.runs import PromptCard

Texts = dict[str, str]
"""prompt id → text"""


@dataclass(frozen=True, slots=True)
class OwnPrompts:
    """The components."""

    upload: gr.UploadButton
    choice: gr.Dropdown
    line: gr.HTML
    texts: gr.State


def own_prompts(tab: str = "") -> OwnPrompts:
    """Draw them inside the current Blocks; `tab` tells the elements of several tabs apart, such as `race-`."""
    upload = upload_button(tab)
    choice = gr.Dropdown([], value=None, label="own prompt", visible=False, elem_id=f"sv-{tab}own-prompt")
    return OwnPrompts(upload, choice, gr.HTML("", elem_id=f"sv-{tab}own-prompts-line"), gr.State({}))


def upload_button(tab: str) -> gr.UploadButton:
    return gr.UploadButton(
        "Open your own prompts (JSONL)", file_types=[".jsonl"], size="sm", min_width=160,
        elem_id=f"sv-{tab}own-prompts",
    )  # fmt: skip


def wire_own_prompts(parts: OwnPrompts, prompt: gr.Textbox, limits: Limits) -> None:
    """Opening a file offers its prompts and takes the first; choosing one fills the prompt."""

    def opened(path: str | None) -> tuple[object, ...]:
        return open_prompts(path, limits)

    parts.upload.upload(opened, parts.upload, [parts.choice, parts.line, parts.texts, prompt], **READING)
    parts.choice.input(chosen, [parts.choice, parts.texts], prompt, **QUIET)


def open_prompts(path: str | None, limits: Limits) -> tuple[object, ...]:
    """(list, line, texts, prompt); with a file that cannot be read everything but the line stays as it is."""
    try:
        cards = _read(path, limits)
    except PromptError as error:
        return gr.skip(), notices.message(str(error), "error"), gr.skip(), gr.skip()
    choices = [(_label(card), card.id) for card in cards]
    line = notices.message(f"{len(cards)} prompts of your own; the first stands in the prompt.")
    texts = {card.id: card.text for card in cards}
    return gr.Dropdown(choices, value=cards[0].id, visible=True), line, texts, cards[0].text


def offer_prompts(path: str | None, limits: Limits, bundled: Sequence[tuple[str, str]]) -> tuple[object, object]:
    """(the list of prompts by their texts, line): the visitor's own before the `bundled` (label, text) ones, the first
    of them chosen; with a file that cannot be read the list stays as it is."""
    try:
        cards = _read(path, limits)
    except PromptError as error:
        return gr.skip(), notices.message(str(error), "error")
    offered = [*((_label(card), card.text) for card in cards), *bundled]
    return gr.Dropdown(offered, value=cards[0].text), notices.message(f"{len(cards)} prompts of your own stand first.")


def _read(path: str | None, limits: Limits) -> Sequence[PromptCard]:
    """Raises PromptError for a file that is none, too large, or damaged."""
    if path is None:
        raise PromptError("no file arrived; choose a .jsonl file.")
    if Path(path).stat().st_size > limits.import_bytes:
        raise PromptError(f"the file is larger than the {limits.import_bytes / 1e6:g} MB this machine takes.")
    return read_prompts(Path(path))


def _label(card: PromptCard) -> str:
    return f"{card.family} · {card.id}: {card.title}"


def chosen(name: str | None, texts: Texts) -> object:
    """The prompt of this id."""
    return texts.get(name or "", gr.skip())

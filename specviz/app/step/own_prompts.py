"""A visitor's own prompts in the drawer: a JSONL file, and a list that fills the prompt with one of them.

What was opened is kept in the page's state alone; the engine sees the prompt and nothing else of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gradio as gr

from specviz.app.page.events import QUIET
from specviz.app.parts import notices
from specviz.app.parts.request import Limits
from specviz.errors import PromptError
from specviz.protocol.prompt_file import read_prompts

Texts = dict[str, str]
"""prompt id → text"""


@dataclass(frozen=True, slots=True)
class OwnPrompts:
    """The components."""

    upload: gr.UploadButton
    choice: gr.Dropdown
    line: gr.HTML
    texts: gr.State


def own_prompts() -> OwnPrompts:
    """Draw them inside the current Blocks."""
    upload = gr.UploadButton(
        "Open your own prompts (JSONL)", file_types=[".jsonl"], size="sm", elem_id="sv-own-prompts"
    )
    choice = gr.Dropdown([], value=None, label="own prompt", visible=False, elem_id="sv-own-prompt")
    return OwnPrompts(upload, choice, gr.HTML("", elem_id="sv-own-prompts-line"), gr.State({}))


def wire_own_prompts(parts: OwnPrompts, prompt: gr.Textbox, limits: Limits) -> None:
    """Opening a file offers its prompts and takes the first; choosing one fills the prompt."""

    def opened(path: str | None) -> tuple[object, ...]:
        return open_prompts(path, limits)

    parts.upload.upload(opened, parts.upload, [parts.choice, parts.line, parts.texts, prompt], **QUIET)
    parts.choice.input(chosen, [parts.choice, parts.texts], prompt, **QUIET)


def open_prompts(path: str | None, limits: Limits) -> tuple[object, ...]:
    """(list, line, texts, prompt); with a file that cannot be read everything but the line stays as it is."""
    try:
        if path is None:
            raise PromptError("no file arrived; choose a .jsonl file.")
        if Path(path).stat().st_size > limits.import_bytes:
            raise PromptError(f"the file is larger than the {limits.import_bytes / 1e6:g} MB this machine takes.")
        cards = read_prompts(Path(path))
    except PromptError as error:
        return gr.skip(), notices.message(str(error), "error"), gr.skip(), gr.skip()
    choices = [(f"{card.family} · {card.id}: {card.title}", card.id) for card in cards]
    line = notices.message(f"{len(cards)} prompts of your own; the first stands in the prompt.")
    texts = {card.id: card.text for card in cards}
    return gr.Dropdown(choices, value=cards[0].id, visible=True), line, texts, cards[0].text


def chosen(name: str | None, texts: Texts) -> object:
    """The prompt of this id."""
    return texts.get(name or "", gr.skip())

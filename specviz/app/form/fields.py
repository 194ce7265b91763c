"""Controls that several tabs draw: which models a run is of, and prompts to choose from: a chip per family, each press
of which shows the family's next one, and a visitor's own, of a JSONL file, in a list that fills the prompt.

Stateless: which prompt comes next is read off the prompt box itself, and what was opened is kept in the page's state
alone; the engine sees the prompt and nothing else of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.app.form.request import Limits
from specviz.app.look import notices
from specviz.app.look.events import CHOSEN, READING
from specviz.errors import PromptError
from specviz.protocol.prompt_file import read_prompts
from specviz.protocol.runs import Catalog, ModelDescription, PromptCard, RunRequest

ANY = "bundled name, local folder, or hub id as owner/model@revision"
CHAT = (
    "for instruct models: the prompt is wrapped in their chat template, which the player folds away and shows on "
    "request. The bundled target has no template."
)


def model_choices(models: Sequence[ModelDescription], role: str) -> list[tuple[str, str]]:
    """Models of a role first, the others after them: any pair with one vocabulary is legal."""
    ordered = sorted(models, key=lambda model: (model.role != role, not model.available))
    return [(_model_label(model), model.name) for model in ordered]


def _model_label(model: ModelDescription) -> str:
    size = f"{model.parameters / 1e6:.1f} M" if model.parameters else "size unknown"
    if model.licence:
        return f"{model.name} ({model.parameters / 1e6:,.0f} M, {model.summary})"
    return f"{model.name} ({size})" if model.available else f"{model.name} (not installed)"


def model_fields(
    catalog: Catalog,
    limits: Limits,
    begin: Callable[[str, Any], Any] = lambda name, otherwise: otherwise,
    tab: str = "",
) -> dict[str, Any]:
    """The controls by the names of their values: `target`, `drafter_model`, `chat`. `begin`: the value that a control
    opens with, by its name and what it is otherwise; `tab` tells the elements of several tabs apart."""
    defaults, fields = RunRequest(prompt=""), dict[str, Any]()
    for name, label, role, value in (
        ("target", "target model", "target", defaults.target),
        ("drafter_model", "drafter's model", "drafter", defaults.drafter_model),
    ):
        offered = model_choices(catalog.models, role)
        listed, value = [name for _, name in offered], begin(name, value)
        start = value if value in listed or limits.any_model else next(iter(listed), None)
        fields[name] = gr.Dropdown(
            offered,
            value=start,
            label=label,
            info=ANY if limits.any_model else None,
            allow_custom_value=limits.any_model,
            min_width=200,
            elem_id=f"sv-{tab}{name.replace('_', '-')}",
        )
    fields["chat"] = gr.Checkbox(
        bool(begin("chat", defaults.chat)),
        label="the prompt is a message",
        info=CHAT,
        min_width=260,
        elem_id=f"sv-{tab}chat",
    )
    return fields


# --- prompts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Family:
    """Prompts of one kind."""

    name: str
    title: str
    line: str
    """what to expect of them"""


def described(catalog: Catalog) -> list[Family]:
    """The families in their order, each with its title and line; a set that does not say them lends those of its first
    prompts."""
    titles = {card.name: card.title for card in catalog.families}
    first = {name: next(card for card in catalog.prompts if card.family == name) for name in families(catalog)}
    return [
        Family(name, titles.get(name) or chip_label(name), expectation(catalog, name) or card.description)
        for name, card in first.items()
    ]


def families(catalog: Catalog) -> list[str]:
    """Families in the order of the prompt set."""
    return list(dict.fromkeys(card.family for card in catalog.prompts))


def expectation(catalog: Catalog, family: str) -> str:
    """What to expect of a family's texts and why, in one line; empty where the set does not say it."""
    cards = (f"{card.expect} {card.measured}".strip() for card in catalog.families if card.name == family)
    return next(cards, "")


def next_prompt(catalog: Catalog, family: str, current: str) -> tuple[PromptCard, str]:
    """The family's prompt after `current` (its first, if `current` is none of them) and a line about it."""
    cards = [card for card in catalog.prompts if card.family == family]
    at = next((index for index, card in enumerate(cards) if card.text == current), -1)
    place = (at + 1) % len(cards)
    return cards[
        place
    ], f"{chip_label(family)}, {place + 1} of {len(cards)}: {cards[place].title}. {cards[place].description}"


def family_choices(names: Sequence[str]) -> list[tuple[str, str]]:
    """(label, name) pairs."""
    return [(chip_label(name), name) for name in names]


def chip_label(family: str) -> str:
    """Capitalised: Gradio looks labels up among its own translations, where `code` is a group of texts, not a text."""
    return family[:1].upper() + family[1:]


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
        "Open your own prompts (JSONL)",
        file_types=[".jsonl"],
        size="sm",
        min_width=160,
        elem_id=f"sv-{tab}own-prompts",
    )


def wire_own_prompts(parts: OwnPrompts, prompt: gr.Textbox, limits: Limits) -> None:
    """Opening a file offers its prompts and takes the first; choosing one fills the prompt."""

    def opened(path: str | None) -> tuple[object, ...]:
        return open_prompts(path, limits)

    parts.upload.upload(opened, parts.upload, [parts.choice, parts.line, parts.texts, prompt], **READING)
    parts.choice.input(chosen, [parts.choice, parts.texts], prompt, **CHOSEN)


def open_prompts(path: str | None, limits: Limits) -> tuple[object, ...]:
    """(list, line, texts, prompt); with a file that cannot be read everything but the line stays as it is."""
    try:
        cards = _read(path, limits)
    except PromptError as error:
        return gr.skip(), notices.message(str(error), "error"), gr.skip(), gr.skip()
    choices = [(_label(card), card.id) for card in cards]
    line = notices.message(f"{len(cards)} prompts of your own; the first is filled in.")
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
    return gr.Dropdown(offered, value=cards[0].text), notices.message(
        f"{len(cards)} prompts of your own are listed first."
    )


def _read(path: str | None, limits: Limits) -> Sequence[PromptCard]:
    """Raises PromptError for a file that is none, too large, or damaged."""
    if path is None:
        raise PromptError("no file arrived; choose a .jsonl file.")
    if Path(path).stat().st_size > limits.import_bytes:
        raise PromptError(notices.too_large(limits.import_bytes))
    return read_prompts(Path(path))


def _label(card: PromptCard) -> str:
    return f"{card.family} · {card.id}: {card.title}"


def chosen(name: str | None, texts: Texts) -> object:
    """The prompt of this id."""
    return texts.get(name or "", gr.skip())

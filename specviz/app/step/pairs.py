"""The pair of models, chosen as one in the bar, and what of the tab follows it: prompts by families, drafters on offer,
recorded runs and examples, what a class asks, and what gets a model that is not on this machine.

    pair chosen ─┐
    run opened ──┼─► its target ─► `following`: every list of the tab as it is for that target
    target typed ┘

Nothing of one pair is listed under another's name. A target of no pair, such as a folder, has every drafter, its own
recorded runs and no prompts. Fills no values: those of a run that is opened come with it (`opening`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from specviz.app.form.fields import Family, described
from specviz.app.form.methods import choices, kinds
from specviz.app.form.request import Limits
from specviz.app.look import notices
from specviz.app.look.events import Answer
from specviz.app.look.notices import NO_CHOICE
from specviz.app.runs.gallery import Gallery, labelled_files
from specviz.app.step.asked import QUESTIONS, Question
from specviz.protocol.pairs import for_pair, is_here, pair_of
from specviz.protocol.runs import Catalog, ModelPair, TraceSource

OTHERS = "others"
"""the choice that stands where the target belongs to no pair"""
OTHERS_TITLE = "another, as in Settings"
OTHERS_KNOWS = "A target of your own: what it knows is its own"
PROMPTS = "Prompts to choose from"
"""said of them where there are no pairs to choose between"""


@dataclass(frozen=True, slots=True)
class FamilyChip:
    """A button that fills the prompt with the family's next one."""

    pair: ModelPair | None
    family: Family
    button: gr.Button


@dataclass(slots=True)
class PairParts:
    """The components that follow the pair, beside the lists of recorded runs."""

    choice: gr.Dropdown
    knows: gr.Accordion
    note: gr.HTML
    """what is said of the prompt that a chip filled in"""
    columns: dict[str, gr.Column]
    """name of a pair → its families"""
    chips: list[FamilyChip]

    def named(self) -> dict[str, Any]:
        """What `following` answers, by name."""
        columns = {column_name(name): column for name, column in self.columns.items()}
        return {"models": self.choice, "knows": self.knows, **columns} if columns else {}


def column_name(pair: str) -> str:
    return f"families-{pair}"


def question_name(label: str) -> str:
    """Of a chip under the player, among what `following` answers."""
    return f"question-{label}"


def fetch_name(model: str) -> str:
    """Of what gets a model, among what `following` answers."""
    return f"fetch-{model}"


def title_of(pair: ModelPair | None) -> str:
    return OTHERS if pair is None else pair.name


def pair_choice(catalog: Catalog, limits: Limits, target: str) -> gr.Dropdown:
    """The control, inside the current Blocks; out of sight where there is nothing to choose between."""
    listed = [(pair.title, pair.name) for pair in catalog.pairs]
    others = [(OTHERS_TITLE, OTHERS)] if limits.any_model else []
    return gr.Dropdown(
        [*listed, *others],
        value=title_of(pair_of(catalog, target)) if listed else None,
        label="models",
        show_label=False,
        container=False,
        visible=len(listed) > 1,
        min_width=220,
        elem_id="sv-models",
    )


def pair_families(catalog: Catalog, choice: gr.Dropdown, target: str) -> PairParts:
    """The fold of prompts, inside the current Blocks: a column per pair, one of which is seen."""
    shown = pair_of(catalog, target)
    with gr.Accordion(knows_of(catalog, shown), open=False, elem_classes="sv-knows") as knows:
        columns, chips = dict[str, gr.Column](), list[FamilyChip]()
        for pair in catalog.pairs or (None,):
            with gr.Column(elem_classes="sv-families", visible=pair is None or pair == shown) as column:
                chips += [FamilyChip(pair, family, _family(family)) for family in described(for_pair(catalog, pair))]
            if pair is not None:
                columns[pair.name] = column
        note = gr.HTML("", elem_id="sv-prompt-note")
    return PairParts(choice, knows, note, columns, chips)


def _family(family: Family) -> gr.Button:
    """A row: the button, and what to expect of the family's texts."""
    with gr.Row(elem_classes="sv-family"):
        button = gr.Button(family.title, size="sm", min_width=110, scale=0, elem_classes="sv-chip")
        gr.HTML(notices.note(family.line), min_width=160)
    return button


def knows_of(catalog: Catalog, pair: ModelPair | None) -> str:
    if pair is not None:
        return pair.knows
    return OTHERS_KNOWS if catalog.pairs else PROMPTS


def is_asked(pair: ModelPair | None, question: Question) -> bool:
    """Whether a class's question can be asked of the pair: its drafters are on offer."""
    return pair is None or question.drafters.issubset(pair.drafters)


@dataclass(frozen=True, slots=True)
class Following:
    """What of the tab follows a target."""

    catalog: Catalog
    gallery: Gallery

    def answer(self, target: str, held: Mapping[str, Any]) -> Answer:
        """Every list as it is for `target`. `held`: by name, what the lists are to hold."""
        if not self.catalog.pairs:
            return dict(held)
        pair, shown = pair_of(self.catalog, target), recorded_for(self.catalog, self.gallery, target)
        held = {"example": NO_CHOICE, "recorded": None, **held}
        lists = {
            "drafter": drafters_for(self.catalog, pair, held.get("drafter")),
            "example": listed_examples(shown),
            "recorded": labelled_files(shown.cards),
        }
        filled = {name: gr.Dropdown(offered, **_value(held, name)) for name, offered in lists.items()}
        seen: Answer = {column_name(one.name): gr.Column(visible=one == pair) for one in self.catalog.pairs}
        seen |= {question_name(one.label): gr.Button(visible=is_asked(pair, one)) for one in self._questions()}
        seen |= {fetch_name(model.name): gr.Column(visible=model.name == target) for model in self.catalog.fetchable}
        knows = gr.Accordion(label=knows_of(self.catalog, pair))
        return {**held, **filled, **seen, "models": title_of(pair), "knows": knows}

    def _questions(self) -> list[Question]:
        known = {drafter.name for drafter in self.catalog.drafters}
        return [question for question in QUESTIONS if question.drafters <= known]


def recorded_for(catalog: Catalog, gallery: Gallery, target: str) -> Gallery:
    """The recorded runs of the target's pair, or of a target of no pair; all of them where there are no pairs."""
    if not catalog.pairs:
        return gallery
    pair = pair_of(catalog, target)
    return gallery.of((target,) if pair is None else pair.targets)


def listed_examples(gallery: Gallery) -> list[tuple[str, str]]:
    return [("choose one to watch", NO_CHOICE), *((example.title, example.title) for example in gallery.examples)]


def drafters_for(catalog: Catalog, pair: ModelPair | None, held: object) -> list[tuple[str, str]]:
    """(label, name) of those on offer; a run that is shown may have another one."""
    whole, there = (
        next(choices(kind) for kind in kinds(part) if kind.group == "drafter")
        for part in (catalog, for_pair(catalog, pair))
    )
    names = {name for _, name in there}
    return [*there, *((label, name) for label, name in whole if name == held and name not in names)]


def _value(held: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {"value": held[name]} if name in held else {}


def absence(known: Catalog, source: TraceSource, limits: Limits, target: str) -> str:
    """What is to be said of a pair whose target is not on this machine, as a sentence with the cure; empty: it is.
    `known`: what there was when the page was built."""
    pair = pair_of(known, target)
    if pair is None or pair.target != target or is_here(known, pair) or is_here(source.catalog(), pair):
        return ""
    model = pair.title.partition(" ")[0]
    cure = f"press Get {model}" if limits.any_model else f"to run something, choose {known.pairs[0].title}"
    return f"{model} is not on this machine, only recorded runs of it; {cure}."

"""The prompt chips: one per family, each press shows the next prompt of the family.

Stateless: which prompt comes next is read off the prompt box itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from specviz.protocol.runs import Catalog, PromptCard


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
    return next((card.expect for card in catalog.families if card.name == family), "")


def next_prompt(catalog: Catalog, family: str, current: str) -> tuple[PromptCard, str]:
    """The family's prompt after `current` (its first, if `current` is none of them) and a line about it."""
    cards = [card for card in catalog.prompts if card.family == family]
    at = next((place for place, card in enumerate(cards) if card.text == current), -1)
    place = (at + 1) % len(cards)
    return cards[
        place
    ], f"{chip_label(family)}, {place + 1} of {len(cards)}: {cards[place].title}. {cards[place].description}"


def chip_label(family: str) -> str:
    """Capitalised: Gradio looks labels up among its own translations, where `code` is a group of texts, not a text."""
    return family[:1].upper() + family[1:]

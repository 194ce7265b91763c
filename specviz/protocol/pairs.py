"""Which pair of models a target belongs to, and the catalog as it stands for one of them: its prompts and families, and
the drafters that can draft for it.

    catalog ─► pair_of(target) ─► for_pair: its prompts, its families, its drafters

Whoever shows or runs something of a target asks here, so that nothing of one pair is offered under another's name. A
target of no pair, such as a folder of the user's own, has the whole catalog. What pairs there are, and whether they can
be had, is the catalog's to say (`specviz/live/catalog.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from specviz.protocol.runs import Catalog, ModelPair, PromptCard


def pair_of(catalog: Catalog, target: str) -> ModelPair | None:
    """The pair of this target, whichever of its names that goes by; None: it belongs to none."""
    return next((pair for pair in catalog.pairs if target in pair.targets), None)


def pair_named(catalog: Catalog, name: str) -> ModelPair | None:
    """None where no pair is called that."""
    return next((pair for pair in catalog.pairs if pair.name == name), None)


def for_pair(catalog: Catalog, pair: ModelPair | None) -> Catalog:
    """What there is for this pair; None: everything. Models, verifiers and policies go with any target."""
    if pair is None:
        return catalog
    return replace(
        catalog,
        prompts=pair.prompts,
        families=pair.families,
        drafters=tuple(drafter for drafter in catalog.drafters if drafter.name in pair.drafters),
    )


def for_target(catalog: Catalog, target: str) -> Catalog:
    """What there is for this target."""
    return for_pair(catalog, pair_of(catalog, target))


def all_prompts(catalog: Catalog) -> tuple[PromptCard, ...]:
    """Of every pair, each once: a prompt's id says which pair it was made for."""
    return tuple({card.id: card for card in chain(catalog.prompts, *_prompts(catalog.pairs))}.values())


def _prompts(pairs: Iterable[ModelPair]) -> Iterable[tuple[PromptCard, ...]]:
    return (pair.prompts for pair in pairs)


def is_here(catalog: Catalog, pair: ModelPair) -> bool:
    """Whether its target is on this machine.

    Asked of the catalog as it was made: a model may have come since."""
    return any(model.available for model in catalog.models if model.name == pair.target)

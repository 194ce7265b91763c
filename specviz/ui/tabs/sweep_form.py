"""From the Speedup tab's controls to a sweep: drafters at lengths, trees and node budgets, each with every stop policy.

Knows no method by name: what can be varied is read off the option cards. Knows nothing about running.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradio.components import Component

from specviz.bench.sweep import BASELINE, Policies, SweepDrafter, SweepSpec
from specviz.errors import OptionError
from specviz.trace.source import Catalog, MethodDescription
from specviz.ui.request import Limits, parse_option, within

LENGTH = "gamma"
"""the option that is a speculation length, in every drafter that has one"""
MOST_LENGTHS = 12
MOST_LENGTH = 64


@dataclass(frozen=True, slots=True)
class SweepForm:
    """The tab's controls, as they stand."""

    drafters: list[str]
    families: list[str]
    gammas: str
    trees: str
    growths: list[str]
    budgets: str
    stoppings: list[str]
    temperature: float
    per_family: int
    repeats: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SweepControls:
    """The tab's components by the form's field names."""

    fields: Mapping[str, Any]

    def form(self, given: Mapping[Component, Any]) -> SweepForm:
        return SweepForm(**{name: given[component] for name, component in self.fields.items()})


def sweepable(catalog: Catalog) -> list[MethodDescription]:
    """Every drafter but plain decoding, which is the baseline of them all."""
    return [method for method in catalog.drafters if method.name != BASELINE]


def early_stops(catalog: Catalog) -> list[MethodDescription]:
    """Every stop policy but the one that a sweep always measures."""
    return [method for method in catalog.stoppings if method.name != Policies().stopping]


def sweep_spec(form: SweepForm, catalog: Catalog, limits: Limits) -> SweepSpec:
    """The controls as a sweep. Raises OptionError with a sentence naming what is missing."""
    lengths = whole_numbers(form.gammas, "speculation lengths", MOST_LENGTH)
    drafters = [drafter for name in form.drafters for drafter in _cases(_drafter(name, catalog), form, catalog, limits)]
    prompts = [
        card.id
        for family in form.families
        for card in [card for card in catalog.prompts if card.family == family][: int(form.per_family)]
    ]
    if not drafters:
        raise OptionError("no drafter is chosen; tick at least one.")
    if not prompts:
        raise OptionError("no prompt family is chosen; tick at least one.")
    if (form.growths or form.stoppings) and not any(_drafter(name, catalog).grows for name in form.drafters):
        raise OptionError(
            f"{' and '.join(form.drafters)} can have no growth or stop policy; tick a drafter that grows its drafts, "
            "or untick the policies."
        )
    return SweepSpec(
        drafters=tuple(drafters),
        gammas=lengths,
        prompt_ids=tuple(prompts),
        temperature=float(form.temperature),
        repeats=max(1, int(form.repeats)),
        max_new_tokens=min(int(form.tokens), limits.max_new_tokens),
    )


def _drafter(name: str, catalog: Catalog) -> MethodDescription:
    return _named(name, sweepable(catalog), "drafter")


def _named(name: str, known: Sequence[MethodDescription], kind: str) -> MethodDescription:
    for method in known:
        if method.name == name:
            return method
    raise OptionError(f"there is no {kind} '{name[:40]}' to measure; tick one of the list.")


def _cases(method: MethodDescription, form: SweepForm, catalog: Catalog, limits: Limits) -> Iterator[SweepDrafter]:
    """Every shape with the full length and, where the drafter can end a draft early, with every chosen stop policy."""
    stops = [_named(name, early_stops(catalog), "stop policy") for name in form.stoppings] if method.grows else []
    for shape in _shapes(method, form, catalog, limits):
        yield shape
        for stop in stops:
            yield replace(shape, policies=replace(shape.policies, stopping=stop.name))


def _shapes(method: MethodDescription, form: SweepForm, catalog: Catalog, limits: Limits) -> Iterator[SweepDrafter]:
    """A chain at each length, the trees, and each chosen growth policy at each node budget."""
    has_length = any(card.name == LENGTH for card in method.options)
    yield SweepDrafter(method.name, {}, LENGTH if has_length else None)
    shape = next((card for card in method.options if card.type == "ints"), None)
    for tree in filter(None, (part.strip() for part in form.trees.split(";"))):
        if shape is not None:
            options = within(limits, method, {shape.name: parse_option(shape, tree)})
            yield SweepDrafter(method.name, options, None, f"{method.name} tree {tree}")
    if not method.grows or not form.growths:
        return
    budgets = whole_numbers(form.budgets, "node budgets", limits.max_tree_nodes)
    for name in form.growths:
        growth = _named(name, catalog.growths, "growth policy")
        budget = next((card.name for card in growth.options if card.counts == "candidates"), None)
        for given in [{budget: nodes} for nodes in budgets] if budget else [{}]:
            yield SweepDrafter(method.name, {}, None, policies=Policies(growth.name, within(limits, growth, given)))


def whole_numbers(text: str, what: str, most: int) -> tuple[int, ...]:
    """`1,2,4` → (1, 2, 4), each once and in order. Raises OptionError."""
    try:
        numbers = sorted({int(part) for part in text.split(",") if part.strip()})
    except ValueError as error:
        raise OptionError(
            f"the {what} are {text[:40]!r}, but must be whole numbers with commas, such as 1,2,4."
        ) from error
    if not numbers or numbers[0] < 1 or numbers[-1] > most or len(numbers) > MOST_LENGTHS:
        raise OptionError(f"give 1 to {MOST_LENGTHS} {what} between 1 and {most}, such as 1,2,4.")
    return tuple(numbers)

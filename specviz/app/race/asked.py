"""A race as its controls ask for it: a prompt, the pair of models, who stands in which place and how far ahead each
drafts.

Knows no method by name but for who stands there first: whether a drafter has a length is read off its option card.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.app.form.request import Limits, option_key, parse_option, read_options, request_from, within
from specviz.bench.race import MOST_DRAFTERS, Racer, RaceSpec
from specviz.errors import OptionError
from specviz.protocol.pairs import for_pair, pair_named
from specviz.protocol.runs import Catalog, MethodDescription, OptionCard, RunRequest
from specviz.protocol.sweeps.points import BASELINE
from specviz.trace.events import Option

LENGTH = "gamma"
"""the option that is a speculation length, in every drafter that has one"""
NOBODY = ""
"""the choice that leaves a place empty"""
FIRST_CHOICE = ("ngram", "model", "amusd")
"""who stands at the start when the tab is opened, where the catalog has them"""
FURTHER = ("token_recycling", "lookahead")
"""who takes the places of those that do not draft for the pair"""
PAIR = "models"
"""the control that holds the pair's name"""
SETTINGS = ("temperature", "seed", "max_new_tokens")


def drafters(catalog: Catalog) -> list[MethodDescription]:
    """Everyone who can run against plain decoding."""
    return [method for method in catalog.drafters if method.name != BASELINE]


def length_card(catalog: Catalog, drafter: str) -> OptionCard | None:
    """The card of a drafter's speculation length; None: it has none."""
    cards = [card for method in catalog.drafters if method.name == drafter for card in method.options]
    return next((card for card in cards if card.name == LENGTH), None)


def racers(catalog: Catalog) -> list[tuple[str, str]]:
    """(label, name) of who can take a place, nobody first."""
    return [("nobody", NOBODY), *((method.name, method.name) for method in drafters(catalog))]


def first_choice(catalog: Catalog) -> list[str]:
    """One name per place, of those that stand in the catalog of the pair."""
    known = [method.name for method in drafters(catalog)]
    chosen = [name for name in (*FIRST_CHOICE, *FURTHER) if name in known]
    return [*chosen, *(NOBODY,) * MOST_DRAFTERS][:MOST_DRAFTERS]


def place_key(place: int, what: str) -> str:
    """Name of one place's control among the form's values: `0.drafter`, `0.gamma`."""
    return f"{place}.{what}"


def race_spec(values: Mapping[str, Any], catalog: Catalog, limits: Limits) -> RaceSpec:
    """The controls as a race. Raises OptionError with a sentence naming what is missing or too much."""
    standard = RunRequest(prompt="")
    pair = pair_named(catalog, str(values.get(PAIR) or ""))
    common = {
        "prompt": values.get("prompt"),
        "drafter": BASELINE,
        "target": standard.target if pair is None else pair.target,
        "chat": pair is not None and pair.chat,
        "drafter_model": standard.drafter_model,
        "top_k": standard.top_k,
        "top_p": standard.top_p,
        **{name: values.get(name) for name in SETTINGS},
    }
    chosen = [(index, str(values.get(place_key(index, "drafter")) or NOBODY)) for index in range(MOST_DRAFTERS)]
    racers = [
        _racer(name, values.get(place_key(index, LENGTH)), for_pair(catalog, pair), limits)
        for index, name in chosen
        if name != NOBODY
    ]
    if not racers:
        raise OptionError("no drafter is chosen; choose one to race against plain decoding.")
    return RaceSpec(request_from(common, catalog, limits), tuple(racers), max(1, int(values.get("repeats") or 1)))


def _racer(name: str, length: object, catalog: Catalog, limits: Limits) -> Racer:
    method = next((method for method in drafters(catalog) if method.name == name), None)
    if method is None:
        raise OptionError(f"there is no drafter '{name[:40]}' to race; choose one from the list.")
    card = length_card(catalog, name)
    options: dict[str, Option] = {}
    if card is not None and length not in (None, ""):
        wanted = parse_option(card, length)
        options = {} if wanted == card.default else {LENGTH: wanted}
    given = {option_key("drafter", name, key): value for key, value in options.items()}
    within(limits, method, read_options("drafter", method, given))
    return Racer(name, options)

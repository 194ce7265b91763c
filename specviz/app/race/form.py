"""From the Race tab's controls to a race: a prompt, up to three drafters with their lengths, settings for all.

Knows no method by name: whether a drafter has a length is read off its option card.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.app.form.request import Limits, option_key, parse_option, read_options, request_from, within
from specviz.bench.race import MOST_DRAFTERS, Racer, RaceSpec
from specviz.errors import OptionError
from specviz.protocol.runs import Catalog, MethodDescription, OptionCard, RunRequest
from specviz.protocol.sweeps.points import BASELINE
from specviz.trace.events import Option

LENGTH = "gamma"
"""the option that is a speculation length, in every drafter that has one"""
NOBODY = ""
"""the choice that leaves a place empty"""
FIRST_CHOICE = ("ngram", "model", "amusd")
"""who stands at the start when the tab is opened, where the catalog has them"""
SETTINGS = ("temperature", "seed", "max_new_tokens")


def drafters(catalog: Catalog) -> list[MethodDescription]:
    """Everyone who can run against plain decoding."""
    return [method for method in catalog.drafters if method.name != BASELINE]


def length_card(catalog: Catalog, drafter: str) -> OptionCard | None:
    """The card of a drafter's speculation length; None: it has none."""
    cards = [card for method in catalog.drafters if method.name == drafter for card in method.options]
    return next((card for card in cards if card.name == LENGTH), None)


def first_choice(catalog: Catalog) -> list[str]:
    """One name per place."""
    known = [method.name for method in drafters(catalog)]
    chosen = [name for name in FIRST_CHOICE if name in known]
    return [*chosen, *(NOBODY,) * MOST_DRAFTERS][:MOST_DRAFTERS]


def place_key(place: int, what: str) -> str:
    """Name of one place's control among the form's values: `0.drafter`, `0.gamma`."""
    return f"{place}.{what}"


def race_spec(values: Mapping[str, Any], catalog: Catalog, limits: Limits) -> RaceSpec:
    """The controls as a race. Raises OptionError with a sentence naming what is missing or too much."""
    standard = RunRequest(prompt="")
    common = {
        "prompt": values.get("prompt"), "drafter": BASELINE, "target": standard.target,
        "drafter_model": standard.drafter_model, "top_k": standard.top_k, "top_p": standard.top_p,
        **{name: values.get(name) for name in SETTINGS},
    }  # fmt: skip
    chosen = [(index, str(values.get(place_key(index, "drafter")) or NOBODY)) for index in range(MOST_DRAFTERS)]
    racers = [
        _racer(name, values.get(place_key(place, LENGTH)), catalog, limits) for place, name in chosen if name != NOBODY
    ]
    if not racers:
        raise OptionError("no drafter is chosen; plain decoding needs someone to run against.")
    return RaceSpec(request_from(common, catalog, limits), tuple(racers), max(1, int(values.get("repeats") or 1)))


def _racer(name: str, length: object, catalog: Catalog, limits: Limits) -> Racer:
    method = next((method for method in drafters(catalog) if method.name == name), None)
    if method is None:
        raise OptionError(f"there is no drafter '{name[:40]}' to race; choose one of the list.")
    card = length_card(catalog, name)
    options: dict[str, Option] = {}
    if card is not None and length not in (None, ""):
        wanted = parse_option(card, length)
        options = {} if wanted == card.default else {LENGTH: wanted}
    given = {option_key("drafter", name, key): value for key, value in options.items()}
    within(limits, method, read_options("drafter", method, given))
    return Racer(name, options)

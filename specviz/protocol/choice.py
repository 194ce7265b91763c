"""A method that was chosen, and how settings name the four choices of a run: as now, and as in earlier releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specviz.trace import header
from specviz.trace.events import Option


@dataclass(frozen=True, slots=True)
class Choice:
    """A method by its name, with the options that it is given; those left out have their defaults."""

    name: str
    options: Mapping[str, Option] = field(default_factory=dict)


STANDARD: Mapping[str, Choice] = {
    "drafter": Choice("model"),
    "tree_policy": Choice("auto"),
    "stop_policy": Choice("fixed"),
    "verifier": Choice("auto"),
}
"""the four roles → what a run has that says nothing of them"""

FORMER_NAMES = {
    **{
        f"{former}{end}": f"{name}{end}"
        for name, former in header.FORMER_NAMES.items()
        for end in ("", "_options", "_weights")
    },
    "growths": "tree_policies",
    "stoppings": "stop_policies",
}
"""what requests, sweeps and links of earlier releases called a setting → what it is called now"""


def renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a link, a sweep or a list of recordings, those of earlier releases by the names of now."""
    return {FORMER_NAMES.get(name, name): value for name, value in settings.items()}


def with_choices(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same settings with one choice for each role that they name. Calls, lists of recordings and links of earlier
    releases give a method and its options apart: `drafter` and `drafter_options`."""
    made = renamed(settings)
    for role, standard in STANDARD.items():
        name, options = made.get(role), made.pop(f"{role}_options", None)
        if not isinstance(name, Choice) and (role in made or options is not None):
            made[role] = Choice(standard.name if name is None else name, {} if options is None else options)
    return made

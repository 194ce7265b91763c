"""From a run back to the controls that ask for it: opening a recording fills the bar and the drawer.

The inverse of `request_from`: what stands in the controls afterwards asks for the very run that is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.app.components.framed import held
from specviz.app.form.methods import AUTO, kinds
from specviz.app.form.request import Limits, option_key, options_name
from specviz.protocol.choice import Choice
from specviz.protocol.runs import Catalog, RunRequest, request_of
from specviz.trace.events import Option
from specviz.trace.header import Started

GAMMA = "gamma"
"""the drafters' option that stands in the bar"""
AUTO_VERIFIERS = {True: "greedy", False: "sequential"}
"""what `auto` stands for, as `RunRequest.verifier` says: at temperature 0, above"""


SIMPLE = (
    "prompt",
    "chat",
    "scene",
    "target",
    "drafter_model",
    "temperature",
    "top_k",
    "top_p",
    "seed",
    "max_new_tokens",
)
GROUPS = ("drafter", "tree_policy", "stop_policy", "verifier")


def asked_values(request: RunRequest) -> dict[str, Any]:
    """A request as the form holds it, value by name; `request_from` reads it back."""
    values = _simple_values(request)
    for group in GROUPS:
        choice: Choice = getattr(request, group)
        values[group] = choice.name
        values |= _option_values(choice, group, choice.name)
    return values


def by_control(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same by the name of the control: the options of a kind of method are together, as their form holds them, and
    the chosen drafter's γ is in the bar."""
    found = {name: value for name, value in values.items() if "." not in name}
    for group in GROUPS:
        if group not in values:
            continue
        start = f"{group}."
        options = {name.removeprefix(start): value for name, value in values.items() if name.startswith(start)}
        found[options_name(group)] = held(str(values[group]), options)
    gamma = values.get(option_key("drafter", str(values.get("drafter")), GAMMA))
    return found if gamma is None else {GAMMA: gamma, **found}


def _simple_values(request: RunRequest) -> dict[str, Any]:
    """What belongs to no method."""
    stop = "\n".join(one.replace("\n", "\\n") for one in request.stop)
    return {name: getattr(request, name) for name in SIMPLE} | {"stop": stop}


def _option_values(choice: Choice, group: str, method: str) -> dict[str, Any]:
    return {option_key(group, method, name): _shown(value) for name, value in choice.options.items()}


def values_of(started: Started, catalog: Catalog, limits: Limits) -> dict[str, Any]:
    """Value by control name: prompt, sampling, models, methods and the options of the methods chosen. What the run does
    not say (options of other methods) is left out."""
    request = request_of(started)
    values = _simple_values(request)
    values["max_new_tokens"] = min(request.max_new_tokens, limits.max_new_tokens)
    for kind in kinds(catalog):
        choice: Choice = getattr(request, kind.group)
        name = choice.name
        if all(method.name != name for method in kind.methods):
            name = kind.default
        values[kind.group] = AUTO if kind.auto and _is_auto(kind.group, name, request) else name
        values |= _option_values(choice, kind.group, name)
    gamma = request.drafter.options.get(GAMMA)
    return values if gamma is None else {**values, GAMMA: gamma}


def _is_auto(group: str, name: str, request: RunRequest) -> bool:
    """Whether `auto` chooses this anyway: then it goes on to fit when the visitor changes the temperature."""
    if group == "verifier":
        return name == AUTO_VERIFIERS[request.temperature == 0] and not request.verifier.options
    return name == AUTO


def _shown(value: Option) -> Any:
    """As a control holds it: children per level are a text."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value

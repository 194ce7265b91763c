"""From a run back to the controls that ask for it: opening a recording fills the bar and the drawer.

The inverse of `request_from`: what stands in the controls afterwards asks for the very run that is shown.
"""

from __future__ import annotations

from typing import Any

from specviz.app.parts.methods import AUTO, kinds
from specviz.app.parts.request import Limits, option_key
from specviz.protocol.runs import Catalog, RunRequest, request_of
from specviz.trace.events import Option, Started

GAMMA = "gamma"
"""the drafters' option that stands in the bar"""
AUTO_VERIFIERS = {True: "greedy", False: "sequential"}
"""what `auto` stands for, as `RunRequest.verifier` says: at temperature 0, above"""


def values_of(started: Started, catalog: Catalog, limits: Limits) -> dict[str, Any]:
    """Value by control name: prompt, sampling, models, methods and the options of the methods chosen. What the run does
    not say (options of other methods) is left out."""
    request = request_of(started)
    values: dict[str, Any] = {
        "prompt": request.prompt,
        "target": request.target,
        "drafter_model": request.drafter_model,
        "temperature": request.temperature,
        "top_k": request.top_k,
        "top_p": request.top_p,
        "seed": request.seed,
        "max_new_tokens": min(request.max_new_tokens, limits.max_new_tokens),
        "stop": "\n".join(one.replace("\n", "\\n") for one in request.stop),
    }
    for kind in kinds(catalog):
        name = str(getattr(request, kind.group))
        if all(method.name != name for method in kind.methods):
            name = kind.default
        values[kind.group] = AUTO if kind.auto and _is_auto(kind.group, name, request) else name
        for option, value in getattr(request, f"{kind.group}_options").items():
            values[option_key(kind.group, name, option)] = _shown(value)
    gamma = request.drafter_options.get(GAMMA)
    return values if gamma is None else {**values, GAMMA: gamma}


def _is_auto(group: str, name: str, request: RunRequest) -> bool:
    """Whether `auto` chooses this anyway: then it goes on to fit when the visitor changes the temperature."""
    if group == "verifier":
        return name == AUTO_VERIFIERS[request.temperature == 0] and not request.verifier_options
    return name == AUTO


def _shown(value: Option) -> Any:
    """As a control holds it: children per level are a text."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value

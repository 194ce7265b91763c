"""A request in words becomes a plan: methods, options and limits that are known to go together.

Nothing is loaded for it, so everything that can be refused is refused at once. Knows nothing about models or runs. A
notebook, unlike a form or a flag, may give anything: whether the settings are of the kinds they must be comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS, Drafter, DraftPolicies
from specviz.drafters.capabilities import Remembers, policies_of, retrieves
from specviz.engine.pairing import check_pairing, follow
from specviz.engine.termination import Limits
from specviz.errors import OptionError
from specviz.options import Options, describe, idle_among, to_mapping
from specviz.protocol.choice import STANDARD, Choice
from specviz.protocol.runs import MEMORY_WAYS, RunRequest
from specviz.registry import PlugIn
from specviz.stop_policies.base import STOP_POLICIES
from specviz.trace.files import MAX_INTEGER
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS, Verifier


def check_types(request: RunRequest) -> None:
    """Raises OptionError with the setting, its value and what it must be."""
    for names, right, expected in _KINDS:
        for name in names:
            _check(name, getattr(request, name), right, expected)
    for role in STANDARD:
        choice = getattr(request, role)
        _check(role, choice, lambda value: isinstance(value, Choice), "a Choice of a name and options")
        _check(role, choice.name, _text, "text")
        _check(f"{role}_options", choice.options, _options, _OPTIONS)


def _check(name: str, value: object, right: Callable[[object], bool], expected: str) -> None:
    if not right(value):
        raise OptionError(f"{name} is {_shown(value)}, but must be {expected}.")


def _shown(value: object) -> str:
    """Like `repr`, cut, on one line."""
    text = repr(value) if isinstance(value, str) else ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _seed(value: object) -> bool:
    """A trace holds it, and its readers hold no larger integers."""
    return isinstance(value, int) and _whole(value) and abs(value) <= MAX_INTEGER


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object) -> bool:
    """Half of a surrogate pair is no text: neither a trace nor a page could hold it."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _option(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(_whole(one) for one in value)
    return value is None or isinstance(value, int | float) or _text(value)


def _options(value: object) -> bool:
    return isinstance(value, Mapping) and all(_text(name) and _option(one) for name, one in value.items())


def _texts(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_text, value))


_OPTIONS = "a mapping of option names to numbers, text or lists of whole numbers"
_Kind = tuple[tuple[str, ...], Callable[[object], bool], str]
_KINDS: tuple[_Kind, ...] = (
    (
        ("prompt", "target", "drafter_model", "memory", "memory_file", "datastore", "scene", "dtype", "device"),
        _text,
        "text",
    ),
    (("temperature", "top_p"), _number, "a number"),
    (("top_k", "max_new_tokens", "top"), _whole, "a whole number"),
    (("seed",), _seed, "a whole number within ±(2^53 - 1)"),
    (("stop",), _texts, "a list of texts"),
    (("prompt_name",), lambda value: value is None or _text(value), "text or None"),
    (("stop_policy_weights",), lambda value: value is None or isinstance(value, Mapping), "a mapping or None"),
    (("record", "recorded", "stepwise", "chat"), lambda value: isinstance(value, bool), "True or False"),
)
"""by kind: the fields of `RunRequest` but its choices, whether a value is right, and what it must be"""


AUTO_VERIFIER = {True: "greedy", False: "sequential"}
"""by whether the temperature is zero"""
OWN_TREES = "auto"
"""trees grow as the drafter's own options say"""
MOST_TOP = 64


@dataclass(frozen=True, slots=True)
class Plan:
    """A request whose names and options are known to be good; nothing is loaded yet. Its drafter is for one run."""

    drafter: Drafter[Options]
    verifier: Verifier[Options]
    sampling: Sampling
    limits: Limits


def make_plan(request: RunRequest) -> Plan:
    """Raises OptionError or PairingError where the request cannot be run."""
    check_types(request)
    sampling = Sampling(request.temperature, request.top_k, request.top_p)
    if request.recorded:
        request = without_idle(request)
    kind = DRAFTERS.get(request.drafter.name)
    drafter = kind.of(request.drafter.options)
    name = AUTO_VERIFIER[sampling.greedy] if request.verifier.name == "auto" else request.verifier.name
    verifier = VERIFIERS.get(name)
    follow(drafter, make_policies(request))
    _check_shape(drafter)
    check_pairing(drafter, verifier, sampling)
    _check_memory(request, drafter)
    if request.datastore and not retrieves(drafter):
        raise OptionError(
            f"the drafter '{request.drafter.name}' retrieves nothing with these options; leave out datastore."
        )
    if not 1 <= request.top <= MOST_TOP:
        raise OptionError(f"top is {request.top}, but must lie between 1 and {MOST_TOP}.")
    judge = verifier.of(request.verifier.options)
    limits = Limits(request.max_new_tokens, frozenset(), request.stop)
    return Plan(drafter, judge, sampling, limits)


def without_idle(request: RunRequest) -> RunRequest:
    """The request without options that do nothing beside the others. Raises OptionError for a method there is not."""

    def kept(kind: type[PlugIn[Options]], given: Choice, has_policy: bool = False) -> Choice:
        idle = idle_among(describe(kind.options_type), given.options, has_policy)
        return replace(given, options={name: value for name, value in given.options.items() if name not in idle})

    has_policy = request.tree_policy.name != OWN_TREES
    changed: dict[str, Any] = {
        "drafter": kept(DRAFTERS.get(request.drafter.name), request.drafter, has_policy),
        "stop_policy": kept(STOP_POLICIES.get(request.stop_policy.name), request.stop_policy),
    }
    if has_policy:
        changed["tree_policy"] = kept(TREE_POLICIES.get(request.tree_policy.name), request.tree_policy)
    if request.verifier.name != "auto":
        changed["verifier"] = kept(VERIFIERS.get(request.verifier.name), request.verifier)
    return replace(request, **changed)


def _check_shape(drafter: Drafter[Options]) -> None:
    """Raises OptionError where a shape is asked of the drafter that its tree policy decides."""
    tree_policy, values = policies_of(drafter).tree_policy, to_mapping(drafter.options)
    if tree_policy is None:
        return
    default = to_mapping(type(drafter.options)())
    for name in (
        option_description.name for option_description in describe(type(drafter.options)) if option_description.shape
    ):
        if values[name] != default[name]:
            raise OptionError(
                f"{name} of the drafter '{drafter.name}' is {values[name]}, but the tree policy '{tree_policy.name}' "
                f"decides the shape of its drafts; leave {name} out and use the policy's own options "
                f"({', '.join(to_mapping(tree_policy.options))}), or leave tree_policy at '{OWN_TREES}'."
            )


def _check_memory(request: RunRequest, drafter: Drafter[Options]) -> None:
    """Raises OptionError where a memory is asked for in a way there is not, or of a drafter that has none."""
    if request.memory not in MEMORY_WAYS:
        raise OptionError(f"memory is {request.memory!r}, but must be one of {', '.join(MEMORY_WAYS)}.")
    if not isinstance(drafter, Remembers) and (request.memory != "cold" or request.memory_file):
        raise OptionError(
            f"the drafter '{request.drafter.name}' learns nothing that would outlast a run; leave memory at 'cold' and "
            "memory_file empty."
        )
    if request.memory_file and request.memory == "cold":
        raise OptionError("memory_file needs memory 'warm' or 'reset'; with 'cold' nothing is read or kept.")


def make_policies(request: RunRequest) -> DraftPolicies:
    """The tree and stop policy that a request names. Raises OptionError where there is none, or for bad options."""
    stop = STOP_POLICIES.get(request.stop_policy.name)
    stop_policy = stop.of(request.stop_policy.options)
    if request.stop_policy_weights is not None:
        stop_policy.use(request.stop_policy_weights)
    if request.tree_policy.name == OWN_TREES:
        if request.tree_policy.options:
            raise OptionError(
                f"the tree policy is '{OWN_TREES}', which has no options, but "
                f"{', '.join(request.tree_policy.options)} was given; choose a tree policy or use the drafter's own "
                "options."
            )
        return DraftPolicies(stop_policy=stop_policy)
    tree_policy = TREE_POLICIES.get(request.tree_policy.name)
    return DraftPolicies(tree_policy.of(request.tree_policy.options), stop_policy)

"""Whether the settings of a run are of the kinds they must be: a notebook, unlike a form or a flag, may give anything.

Place in the flow: the engine's plan asks before it looks at any value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from specviz.errors import OptionError
from specviz.protocol.choice import STANDARD, Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.files import MAX_INTEGER


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
        _text, "text",
    ),
    (("temperature", "top_p"), _number, "a number"),
    (("top_k", "max_new_tokens", "top"), _whole, "a whole number"),
    (("seed",), _seed, "a whole number within ±(2^53 - 1)"),
    (("stop",), _texts, "a list of texts"),
    (("prompt_name",), lambda value: value is None or _text(value), "text or None"),
    (("stop_policy_weights",), lambda value: value is None or isinstance(value, Mapping), "a mapping or None"),
    (("record", "recorded", "chat"), lambda value: isinstance(value, bool), "True or False"),
)  # fmt: skip
"""by kind: the fields of `RunRequest` but its choices, whether a value is right, and what it must be"""

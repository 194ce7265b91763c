"""Options of plug-ins: one frozen dataclass each, from which flags, controls, links and trace headers follow.

Knows nothing about command lines, pages or any plug-in.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from specviz.errors import OptionError

Value = int | float | bool | str | tuple[int, ...]
O = TypeVar("O", bound="Options")


@dataclass(frozen=True, slots=True)
class OptionDescription:
    """One option as plain data: enough to draw a control or a flag."""

    name: str
    type: str
    """`int`, `float`, `bool`, `str`, `ints` (such as 3,2,1)"""
    default: Value
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


def option(
    default: Value,
    *,
    help: str,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """A dataclass field with what a person needs to know about it. Bounds are inclusive; for `ints` they hold for each."""
    return field(default=default, metadata={"help": help, "minimum": minimum, "maximum": maximum, "choices": choices})


@dataclass(frozen=True)
class Options:
    """Base of every plug-in's options: validated when built."""

    def __post_init__(self) -> None:
        for description in describe(type(self)):
            _check(description, getattr(self, description.name))


def describe(options: type[Options]) -> list[OptionDescription]:
    """The options of a class in the order they were declared."""
    hints = get_type_hints(options)
    described = []
    for entry in dataclasses.fields(options):
        meta = entry.metadata
        described.append(
            OptionDescription(
                entry.name,
                _type_name(hints[entry.name]),
                entry.default,
                meta.get("help", ""),
                meta.get("minimum"),
                meta.get("maximum"),
                meta.get("choices", ()),
            )
        )
    return described


def from_mapping(options: type[O], mapping: Mapping[str, Any]) -> O:
    """Build options from values or strings (command line, link, trace). Raises OptionError on unknown names or bad values."""
    known = {description.name: description for description in describe(options)}
    values: dict[str, Value] = {}
    for name, value in mapping.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known) or 'none'}."
            raise OptionError(f"there is no option '{name}' here; {hint}")
        values[name] = _parse(known[name], value)
    return options(**values)


def to_mapping(options: Options) -> dict[str, int | float | bool | str | None | list[int]]:
    """Plain JSON data, tuples as lists."""
    return {
        entry.name: list(value) if isinstance(value := getattr(options, entry.name), tuple) else value
        for entry in dataclasses.fields(options)
    }


def _type_name(hint: Any) -> str:
    if get_origin(hint) is tuple and get_args(hint) == (int, Ellipsis):
        return "ints"
    names = {int: "int", float: "float", bool: "bool", str: "str"}
    if hint not in names:
        raise OptionError(f"an option may be int, float, bool, str or tuple[int, ...], not {hint}.")
    return names[hint]


def _parse(description: OptionDescription, value: Any) -> Value:
    try:
        return _PARSERS[description.type](value)
    except (TypeError, ValueError, KeyError):
        raise OptionError(f"{description.name} is {value!r}, but must be {_WANTED[description.type]}.") from None


def _parse_int(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError
    return int(value)


def _parse_bool(value: Any) -> bool:
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    return value if isinstance(value, bool) else words[str(value).strip().lower()]


def _parse_ints(value: Any) -> tuple[int, ...]:
    parts = value.replace(" ", "").strip(",").split(",") if isinstance(value, str) else list(value)
    return tuple(_parse_int(part) for part in parts if part != "")


_PARSERS: dict[str, Any] = {"int": _parse_int, "float": float, "bool": _parse_bool, "str": str, "ints": _parse_ints}
_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "ints": "whole numbers separated by commas, such as 3,2,1",
}


def _check(description: OptionDescription, value: Value) -> None:
    if description.choices and value not in description.choices:
        raise OptionError(f"{description.name} is '{value}', but must be one of {', '.join(description.choices)}.")
    numbers = value if isinstance(value, tuple) else () if isinstance(value, (str, bool)) else (value,)
    for number in numbers:
        low, high = description.minimum, description.maximum
        if (low is not None and not number >= low) or (high is not None and not number <= high):
            nearest = low if low is not None and not number >= low else high
            limits = (
                f"at least {low}" if high is None else f"at most {high}" if low is None else f"between {low} and {high}"
            )
            raise OptionError(
                f"{description.name} is {number}, but must be {limits}; the nearest legal value is {nearest}."
            )

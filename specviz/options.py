"""Options of plug-ins: one frozen dataclass each, from which flags, controls, links and trace headers follow."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Protocol, TypeVar, get_args, get_origin, get_type_hints

from specviz.errors import OptionError, shown

Value = int | float | bool | str | tuple[int, ...]
T = TypeVar("T")
OptionsT = TypeVar("OptionsT", bound="Options")
LARGEST_INTEGER = 2**53 - 1
"""what every reader of JSON holds exactly"""


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
    counts: str = ""
    """what it counts of a draft: `candidates` (all of them; 0 leaves it to the shape), `levels`, `per_level` or
    `listed` (a text that lists one path per candidate, see `trace.tree_shape`). Machines with a limit on the size of
    trees read it; options of type `ints` are children per node, level by level"""
    unless: str = ""
    """another option of the same method that replaces this one where it is set"""
    needs: str = ""
    """another option of the same method without which this one does nothing"""
    shape: bool = False
    """it describes the shape of a draft, which a tree policy decides where the run has one"""


def option(
    default: Value,
    *,
    help: str,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
    counts: str = "",
    unless: str = "",
    needs: str = "",
    shape: bool = False,
) -> Any:
    """A dataclass field and what a person needs to know about it. Bounds are inclusive and hold for each of `ints`;
    the other arguments are those of `OptionDescription`."""
    limits = {"minimum": minimum, "maximum": maximum, "choices": choices}
    role = {"counts": counts, "unless": unless, "needs": needs, "shape": shape}
    return field(default=default, metadata={"help": help, **limits, **role})


@dataclass(frozen=True, slots=True)
class Options:
    """Base of every plug-in's options: validated when built."""

    former: ClassVar[Mapping[str, str]] = {}
    """names that options had once → their names now; traces and links made with the old ones are still read"""

    def __post_init__(self) -> None:
        """Raises OptionError for a value of the wrong type, out of range, or without effect beside the others."""
        described = describe(type(self))
        for description in described:
            _check(description, getattr(self, description.name))
        for description in described:
            value = getattr(self, description.name)
            if value != description.default and (reason := why_idle(description, self)):
                cure = f"leave it at {_text(description.default)}"
                if description.unless:
                    off = type(getattr(self, description.unless))()
                    cure += f", or {description.unless} " + ("empty" if off == () else f"at {off}")
                raise OptionError(f"{description.name} is {_text(value)}, but {reason}; {cure}.")


def describe(options: type[Options]) -> list[OptionDescription]:
    """The options of a class, as declared. Raises OptionError for a field that cannot be an option."""
    return list(_described(options))  # type: ignore[arg-type]  # a class is hashable, whatever its instances are


@cache
def _described(options: type[Options]) -> tuple[OptionDescription, ...]:
    """Worked out once per class: reading annotations costs more than a round of decoding."""
    hints = get_type_hints(options)
    described = []
    for entry in dataclasses.fields(options):
        if entry.default is dataclasses.MISSING:
            raise OptionError(
                f"{options.__name__}.{entry.name} has no default; declare it with option(default, help=…)."
            )
        default: Any = entry.default
        described.append(
            OptionDescription(entry.name, _type_name(hints[entry.name]), default, **_details(entry.metadata))
        )
    return tuple(described)


def why_idle(description: OptionDescription, options: Options) -> str:
    """Why this option does nothing with the values of the others, as a clause; empty where it counts."""
    if description.unless and (other := getattr(options, description.unless)):
        return f"{description.unless} {_text(other)} replaces it"
    if description.needs and is_off(getattr(options, description.needs)):
        return f"without {description.needs} it does nothing"
    return ""


class Role(Protocol):
    """What `idle_among` reads of an option; `OptionDescription` and a catalogue's card both are one."""

    @property
    def name(self) -> str: ...
    @property
    def default(self) -> Any: ...
    @property
    def unless(self) -> str: ...
    @property
    def needs(self) -> str: ...
    @property
    def shape(self) -> bool: ...


def idle_among(options: Iterable[Role], given: Mapping[str, Any], has_policy: bool = False) -> dict[str, str]:
    """Which of the given values do nothing beside the others, and why, as a clause. `has_policy`: a tree policy decides
    the shape. Traces of releases that did not refuse such values hold them."""
    roles = list(options)
    values = {**{role.name: role.default for role in roles}, **given}
    found = dict[str, str]()
    for role in roles:
        if role.name not in given:
            continue
        if has_policy and role.shape:
            found[role.name] = "the tree policy decides the shape"
        elif role.unless and values[role.unless]:
            found[role.name] = f"{role.unless} replaces it"
        elif role.needs and is_off(values[role.needs]):
            found[role.name] = f"without {role.needs} it does nothing"
    return found


def is_off(value: object) -> bool:
    """Whether an option with this value does nothing of its own: it is false, zero or empty, or the choice `none`."""
    return not value or value == "none"


def from_mapping(options: type[OptionsT], mapping: Mapping[str, Any]) -> OptionsT:
    """Options from values or strings (command line, link, trace). Raises OptionError on unknown names or bad values."""
    known = {description.name: description for description in describe(options)}
    values: dict[str, Value] = {}
    for given, value in mapping.items():
        name = options.former.get(given, given)
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known) or 'none'}."
            raise OptionError(f"there is no option {name[:60]!r} here; {hint}")
        values[name] = _parse(known[name], value)
    return options(**values)


def to_mapping(options: Options) -> dict[str, int | float | bool | str | list[int] | None]:
    """Plain JSON data, tuples as lists."""
    return {
        entry.name: list(value) if isinstance(value := getattr(options, entry.name), tuple) else value
        for entry in dataclasses.fields(options)
    }


def in_effect(options: Options, has_policy: bool = False) -> dict[str, int | float | bool | str | list[int] | None]:
    """The same without the options that do nothing: those that others replace, and, where a tree policy decides the
    shape (`has_policy`), those that describe it."""
    idle = {
        option_description.name
        for option_description in describe(type(options))
        if why_idle(option_description, options) or (has_policy and option_description.shape)
    }
    return {name: value for name, value in to_mapping(options).items() if name not in idle}


def _text(value: Value) -> str:
    """As a flag takes it."""
    return ",".join(map(str, value)) or "nothing" if isinstance(value, tuple) else str(value)


def _details(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {"help": "", **metadata}


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
    except (TypeError, ValueError, KeyError, OverflowError):
        raise _wrong_type(description, value) from None


def _wrong_type(description: OptionDescription, value: Any) -> OptionError:
    return OptionError(f"{description.name} is {shown(value)}, but must be {_WANTED[description.type]}.")


def _parse_int(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError
    return int(value)


def _parse_float(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError
    return float(value)


def _parse_bool(value: Any) -> bool:
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    return value if isinstance(value, bool) else words[str(value).strip().lower()]


def _parse_ints(value: Any) -> tuple[int, ...]:
    if isinstance(value, str):
        text = value.strip().removesuffix(",")
        value = text.split(",") if text else []
    return tuple(_parse_int(part) for part in value)


_PARSERS: dict[str, Callable[[Any], Value]] = {
    "int": _parse_int,
    "float": _parse_float,
    "bool": _parse_bool,
    "str": str,
    "ints": _parse_ints,
}
_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "ints": "whole numbers separated by commas, such as 3,2,1",
}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# A value given in Python is held to its type as well: gamma="3" would otherwise slip past the range.
_IS: dict[str, Callable[[Any], bool]] = {
    "int": _is_whole,
    "float": lambda value: _is_whole(value) or (isinstance(value, float) and math.isfinite(value)),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "ints": lambda value: isinstance(value, tuple) and all(_is_whole(part) for part in value),
}


def _check(description: OptionDescription, value: Any) -> None:
    if not _IS[description.type](value):
        raise _wrong_type(description, value)
    if description.choices and value not in description.choices:
        near = difflib.get_close_matches(str(value), description.choices, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else "."
        raise OptionError(
            f"{description.name} is {shown(value)}, but must be one of {', '.join(description.choices)}{hint}"
        )
    if not isinstance(value, (bool, str)):
        for number in value if isinstance(value, tuple) else (value,):
            check_range(description.name, description.minimum, description.maximum, number)
            if description.type != "float":
                check_range(description.name, -LARGEST_INTEGER, LARGEST_INTEGER, number)


def check_range(called: str, low: float | None, high: float | None, number: int | float) -> None:
    """Raises OptionError for a number outside its limits, naming the option as whoever gave it calls it."""
    if low is not None and number < low:
        nearest = low
    elif high is not None and number > high:
        nearest = high
    else:
        return
    limits = f"at least {low}" if high is None else f"at most {high}" if low is None else f"between {low} and {high}"
    raise OptionError(f"{called} is {shown(number)}, but must be {limits}; the nearest legal value is {nearest}.")


def several_numbers(flag: str, text: str, kind: Callable[[str], T], example: str) -> tuple[T, ...]:
    """A flag's numbers, separated by commas; empty where it is empty. Raises OptionError where they are none."""
    try:
        return tuple(kind(number) for number in text.split(",")) if text else ()
    except ValueError:
        raise OptionError(f"{flag} is '{text}', but must be numbers like {example}.") from None


def minutes(text: str) -> float:
    """A flag's time to measure in. Raises OptionError where that is none."""
    value = float(text)
    if not value > 0:
        raise OptionError(f"{text} minutes are no time to measure in; give a number above 0.")
    return value

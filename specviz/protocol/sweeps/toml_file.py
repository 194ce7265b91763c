"""Sweep files: TOML in, a `SweepDefinition` out, and back. Strict: a key that means nothing is refused.

Place in the flow: read by `specviz bench sweep` and by the page, which also writes its form as such a file. Whether a
name exists is asked when the definition is expanded.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import TypeAdapter, ValidationError

from specviz.errors import BenchError, OptionError, PromptError
from specviz.protocol.choice import STANDARD, Choice, renamed
from specviz.protocol.prompt_file import read_prompts
from specviz.protocol.sweeps.definition import DrafterEntry, SweepDefinition, nearest, stated
from specviz.trace.guard import sentence_of

MOST_BYTES = 100_000
MOST_OF_AN_AXIS = 64
MOST_NUMBER = 100_000
"""no count of a sweep is meant to be larger"""

POLICIES = ("tree_policy", "stop_policy")
_ADAPTER = TypeAdapter(SweepDefinition)
_COUNTS = ("gammas", "budgets", "trees", "prompts_per_family", "repeats", "max_new_tokens")


def read_definition(path: str | Path) -> SweepDefinition:
    """A sweep file. Raises BenchError; the sentence begins with the file's name."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BenchError(f"{path.name}: cannot be read ({error.strerror}); check the path.") from None
    if len(raw) > MOST_BYTES:
        raise BenchError(f"{path.name}: is longer than {MOST_BYTES:,} bytes, but a sweep file is a page at most.")
    try:
        return _with_prompts(definition_of(raw.decode("utf-8")), path.parent)
    except UnicodeDecodeError as error:
        raise BenchError(f"{path.name}: byte {error.start} is not valid UTF-8; a sweep file is TOML text.") from None
    except BenchError as error:
        raise BenchError(f"{path.name}: {error}") from None


def _with_prompts(definition: SweepDefinition, folder: Path) -> SweepDefinition:
    """The definition with the prompts of the file that it names, which lies beside it. Raises BenchError."""
    if not definition.prompt_file:
        return definition
    if Path(definition.prompt_file).name != definition.prompt_file:  # a visitor's sweep file must not name any other
        raise BenchError("prompt_file must be the name of a file beside the sweep file, without a path.")
    try:
        return replace(definition, own_prompts=read_prompts(folder / definition.prompt_file), prompt_file="")
    except PromptError as error:
        raise BenchError(f"prompt_file: {error}") from None


def definition_of(text: str) -> SweepDefinition:
    """TOML text as a definition. Raises BenchError for a key that there is not, with the nearest one, for a value of
    the wrong type, and for counts below one."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BenchError(f"this is no valid TOML: {error}.") from None
    except RecursionError:
        raise BenchError("this is nested too deeply for a sweep file; lists of lists are the most it needs.") from None
    except ValueError:  # the reader takes no decimal number of so many digits
        raise BenchError(f"this holds a number of thousands of digits; {MOST_NUMBER:,} is the largest taken.") from None
    data = of_today(data)
    entries = data.get("drafters")
    if isinstance(entries, list):
        data["drafters"] = [{"name": entry} if isinstance(entry, str) else entry for entry in entries]
    try:
        _check_keys(data, SweepDefinition, "key of a sweep file called")
        _check_keys(data.get("verifier", {}), Choice, "key of a choice called")
        for one in data["drafters"] if isinstance(entries, list) else ():
            if isinstance(one, dict):
                _check_keys(one, DrafterEntry, "key of a drafter called")
                for role in POLICIES:
                    _check_keys(one.get(role, {}), Choice, "key of a choice called")
        return checked(_ADAPTER.validate_json(_as_json(data), strict=True))
    except OptionError as error:
        raise BenchError(str(error)) from None
    except ValidationError as error:
        raise BenchError(sentence_of(error, "sweep file")) from None


def of_today(data: Mapping[str, Any]) -> dict[str, Any]:
    """A definition as data, one of format 1.0 by the names of today, and every choice with a name and options."""
    data = in_choices(data, ("verifier",))
    if isinstance(entries := data.get("drafters"), list):
        data["drafters"] = [in_choices(entry, POLICIES) if isinstance(entry, dict) else entry for entry in entries]
    return data


def in_choices(settings: Mapping[str, Any], roles: Sequence[str]) -> dict[str, Any]:
    """Settings as data, with `{"name": …, "options": {…}}` for each of these roles that they name: a file may give the
    name alone, and in format 1.0 the options stood apart."""
    made = renamed(settings)
    for role in roles:
        options = made.pop(f"{role}_options", {})
        if not isinstance(made.get(role), dict) and (role in made or options):
            made[role] = {"name": made.get(role, STANDARD[role].name), "options": options}
    return made


def _as_json(data: Mapping[str, Any]) -> str:
    """Raises BenchError for a number that TOML has in other digits than ten and that nobody writes in ten."""
    try:
        return json.dumps(data, default=str)
    except ValueError:
        raise BenchError(f"this holds a number of thousands of digits; {MOST_NUMBER:,} is the largest taken.") from None


def checked(definition: SweepDefinition) -> SweepDefinition:
    """The definition again. Raises BenchError for counts, temperatures and axes out of bounds."""
    for name in _COUNTS:
        for value in _flat(getattr(definition, name)):
            _check_count(name, value)
    for entry in definition.drafters:
        for value in entry.lengths or ():
            _check_count("lengths", value)
    for temperature in definition.temperatures:
        if not 0.0 <= temperature <= 10.0:
            raise BenchError(f"temperatures has {temperature:g}, but each must lie between 0 and 10.")
    for field in fields(definition):
        values = getattr(definition, field.name)
        if isinstance(values, tuple) and field.name != "own_prompts" and len(values) > MOST_OF_AN_AXIS:
            raise BenchError(f"{field.name} has {len(values)} entries, but at most {MOST_OF_AN_AXIS} are taken.")
        if (
            isinstance(values, tuple)
            and field.name not in ("drafters", "own_prompts")
            and len(set(values)) < len(values)
        ):
            raise BenchError(f"{field.name} has an entry twice; leave one of them out.")
    if not definition.temperatures:
        raise BenchError("temperatures is empty; give at least one, such as 0.")
    if not definition.gammas:
        raise BenchError("gammas is empty; give at least one speculation length.")
    return definition


def _check_count(name: str, value: int) -> None:
    if not 1 <= value <= MOST_NUMBER:
        raise BenchError(f"{name} has {value}, but it must be at least 1 and at most {MOST_NUMBER:,}.")


def _flat(value: Any) -> list[int]:
    return [one for part in value for one in _flat(part)] if isinstance(value, tuple) else [value]


def _check_keys(data: Mapping[str, Any], kind: type, what: str) -> None:
    known = [field.name for field in fields(kind)]
    for name in data:
        nearest(name, known, what)


def to_toml(definition: SweepDefinition) -> str:
    """The definition as a sweep file; only what differs from the defaults is written."""
    content = stated(definition)
    drafters = [one["name"] if set(one) == {"name"} else one for one in content.pop("drafters", ())]
    return tomli_w.dumps(content | ({"drafters": drafters} if drafters else {}), indent=2)

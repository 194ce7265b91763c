"""What is wrong with data that does not have its type, as one sentence: place, value, and what it must be."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from specviz.errors import shown

Path = tuple[int | str, ...]
"""of a value in JSON data: keys and indices"""


def sentence_of(error: ValidationError, whole: str) -> str:
    """All missing fields, or else the first problem. `whole` is what was read, such as `trace`; safe to print, whatever
    the data holds."""
    problems = error.errors(include_url=False, include_context=False)
    missing = [one["loc"] for one in problems if one["type"] == "missing"]
    if missing:
        return _missing(missing, whole)
    first = problems[0]
    place = place_of(first["loc"]) or f"the {whole}"
    message = first["msg"].removeprefix("Input ").replace("should be", "must be")
    return f"{place} is {shown(first['input'])}, but {message[0].lower()}{message[1:]}."


def _missing(places: Sequence[Path], whole: str) -> str:
    """Each field once, however many rounds and nodes lack it."""
    fields: dict[Path, list[Path]] = {}
    for place in places:
        fields.setdefault(tuple(step for step in place if isinstance(step, str)), []).append(place)
    told = [place_of(found[0]) + (f" (and {len(found) - 1} more)" if found[1:] else "") for found in fields.values()]
    if len(told) == 1:
        return f"{told[0]} is missing; every {whole} has it."
    return f"{len(told)} fields are missing, and every {whole} has them: {', '.join(told)}."


def place_of(path: Path) -> str:
    """("rounds", 3, "nodes") → `rounds[3].nodes`."""
    place = ""
    for step in path:
        if isinstance(step, int):
            place += f"[{step}]"
        else:
            place += f".{shown(step, quote=False)}"
    return place.lstrip(".")

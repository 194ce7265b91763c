"""What is wrong with data that does not have its type, as one sentence: place, value, and what it must be."""

from __future__ import annotations

from pydantic import ValidationError

from specviz.trace.guard import shown


def sentence_of(error: ValidationError, whole: str) -> str:
    """The first problem. `whole` is what was read, such as `trace`; safe to print, whatever the data holds."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = place_of(first["loc"]) or f"the {whole}"
    if first["type"] == "missing":
        return f"{place} is missing; every {whole} has it."
    message = first["msg"].removeprefix("Input ").replace("should be", "must be")
    return f"{place} is {shown(first['input'])}, but {message[0].lower()}{message[1:]}."


def place_of(path: tuple[int | str, ...]) -> str:
    """("rounds", 3, "nodes") → `rounds[3].nodes`."""
    place = ""
    for step in path:
        if isinstance(step, int):
            place += f"[{step}]"
        else:
            place += f".{shown(step, quote=False)}"
    return place.lstrip(".")

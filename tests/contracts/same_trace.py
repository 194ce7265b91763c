"""Two traces of the same seed: equal but for what may differ from run to run."""

from dataclasses import fields, is_dataclass
from typing import Any

TIMES = {"seconds", "start_s", "end_s", "prefill_s", "decode_s", "record_s", "run_id", "created", "tokens_per_second"}


def difference(first: Any, second: Any, place: str = "trace") -> str | None:
    """Where the two differ first, with both values; None where they are the same but for times and ids."""
    if first == second:
        return None
    if type(first) is type(second) and is_dataclass(first):
        names = [field.name for field in fields(first) if field.name not in TIMES]
        parts = [(f"{place}.{name}", getattr(first, name), getattr(second, name)) for name in names]
    elif isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        parts = [(f"{place}[{key!r}]", first[key], second[key]) for key in first if key not in TIMES]
    elif isinstance(first, list | tuple) and isinstance(second, list | tuple) and len(first) == len(second):
        parts = [(f"{place}[{index}]", *pair) for index, pair in enumerate(zip(first, second, strict=True))]
    else:
        return f"{place}: {first!r} and {second!r}"
    found = (difference(one, other, where) for where, one, other in parts)
    return next((told for told in found if told is not None), None)

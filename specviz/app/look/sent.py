"""What an event of the page's own scripts carries, read as something anybody may have written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import gradio as gr

from specviz.errors import OptionError, shown
from specviz.trace.limits import MAX_INTEGER

T = TypeVar("T", bool, int, str)
WANTED = {bool: "true or false", int: "a whole number", str: "text"}


def carried(event: gr.EventData, name: str) -> object:
    """Whatever it has as a field; None where it has none."""
    data = event._data
    return data.get(name) if isinstance(data, Mapping) else None


def sent(event: gr.EventData, name: str, kind: type[T]) -> T:
    """One field. Raises OptionError where it is missing or of another type."""
    value = carried(event, name)
    if type(value) is not kind or (isinstance(value, int) and abs(value) > MAX_INTEGER):
        raise OptionError(
            f"the page's event has {shown(value)} as its '{name}', but must have {WANTED[kind]}; reload the page."
        )
    return value


def sent_texts(event: gr.EventData, name: str) -> list[str]:
    """A field that is a list of texts. Raises OptionError where it is anything else."""
    value = carried(event, name)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise OptionError(
            f"the page's event has {shown(value)} as its '{name}', but must have a list of texts; reload the page."
        )
    return value

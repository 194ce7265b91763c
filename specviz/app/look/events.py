"""How the page's events behave: small answers skip the queue, everything that computes shares one lane. And what an
event of the page's own scripts carries, read as something anybody may have written.

None of them is a public endpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from inspect import isgeneratorfunction
from itertools import count
from typing import Any, TypeVar

import gradio as gr

from specviz.errors import OptionError, shown
from specviz.trace.files import MAX_INTEGER

QUIET: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
"""small answers that skip the queue"""
QUEUED: dict[str, Any] = {**QUIET, "queue": True}
"""small answers that change a `gr.State`: outside the queue Gradio tells nobody who listens for that"""
ENGINE: dict[str, Any] = {
    "concurrency_id": "engine",
    "concurrency_limit": 1,
    "show_progress": "hidden",
    "api_visibility": "private",
}
"""everything that computes: two runs at once would spoil each other's times"""
TRAINING: dict[str, Any] = {**ENGINE, "concurrency_id": "training"}
"""one training at a time, beside the engine's lane: it takes turns with runs step by step"""
FETCHING: dict[str, Any] = {**ENGINE, "concurrency_id": "fetching"}
"""one download at a time, beside the engine's lane"""
READING: dict[str, Any] = {**ENGINE, "concurrency_id": "reading", "concurrency_limit": 2}
"""reads many traces: seconds of counting, beside the engine's lane"""

_numbers = count()
"""by which a page knows one event from another"""


def latest() -> dict[str, Any]:
    """Small answers of which only the last one matters, such as while somebody types, or as a link fills in several
    controls. Events that share what is returned supersede each other."""
    only_last = f"(...values) => SpecViz.lastCall({next(_numbers)}, values)"
    return {**QUIET, "trigger_mode": "always_last", "js": only_last}


CHOSEN: dict[str, Any] = {**QUIET, "js": "(...values) => SpecViz.onlyChosen(values)"}
"""small answers to `input` of a list, which Gradio sends too where a list got the focus and was left as it was: the
values are then None, and nothing is to be changed"""

Answer = dict[str, object]
"""what an event changes, by the names of the components that show it; what is not named stays as it is"""


def by_name(work: Callable[..., Any], parts: Mapping[str, Any]) -> Callable[..., Any]:
    """The `work` of an event, which answers by name, as Gradio takes it: by component. Its outputs are all `parts`."""

    def shown(answer: Answer) -> dict[Any, object]:
        return {parts[name]: update for name, update in answer.items()} or {next(iter(parts.values())): gr.skip()}

    @wraps(work)
    def once(*given: Any) -> dict[Any, object]:
        return shown(work(*given))

    @wraps(work)
    def often(*given: Any) -> Iterator[dict[Any, object]]:
        yield from map(shown, work(*given))

    return often if isgeneratorfunction(work) else once


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

"""Blocks that answer whoever posts to them in a sentence: values that no control of the page can have are refused
before they reach a function, and only a fault of SpecViz's own leaves a traceback in the log.

Gradio hands a function whatever was posted in its control's place, and writes a traceback for every error. Written
against Gradio 6.31, which is pinned; a test holds what is relied on. Knows no tab and no control by name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr
from gradio.block_function import BlockFunction
from gradio.state_holder import SessionState

from specviz.errors import SpecVizError, shown
from specviz.trace.limits import MAX_INTEGER

log = logging.getLogger(__name__)


class Guarded(gr.Blocks):
    """A page whose events come from anywhere."""

    async def preprocess_data(
        self, block_fn: BlockFunction, inputs: list[Any], state: SessionState | None, explicit_call: bool = False
    ) -> list[Any]:
        """What Gradio makes of the posted values. Raises gr.Error in a sentence for values that no control has."""
        held = checked(block_fn.inputs, inputs)
        try:
            return await super().preprocess_data(block_fn, held, state, explicit_call)  # type: ignore[no-any-return]
        except Exception as error:  # a choice that is not offered, a number out of range, no file of this server
            raise _refused(f"The page's controls cannot have these values: {_line(error)}") from error

    async def call_function(self, block_fn: BlockFunction | int, *args: Any, **kwargs: Any) -> Any:
        """Call it. Raises gr.Error alone, for the visitor; what is no mistake of theirs is logged."""
        function = self.fns[block_fn] if isinstance(block_fn, int) else block_fn
        if not function.fn:
            raise _refused("This event happens in the page alone; the server has nothing to do for it.")
        try:
            return await super().call_function(block_fn, *args, **kwargs)
        except gr.Error as error:
            error.print_exception = False
            raise
        except SpecVizError as error:
            raise _refused(str(error)) from error
        except Exception as error:
            log.exception("%s failed", function.api_name or function.name)
            raise _refused(f"This failed ({type(error).__name__}); the server's log says more.") from error


def checked(controls: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The posted values, an empty text where a text box has none. Raises gr.Error for the wrong number of values and
    for one that its control cannot have."""
    if len(values) != len(controls):
        raise _refused(f"{len(values)} values came, but this event of the page has {len(controls)}; reload the page.")
    return [_checked(control, value) for control, value in zip(controls, values, strict=True)]


def _checked(control: Any, value: Any) -> Any:
    if getattr(control, "stateful", False):
        return value  # the server's own is taken in its place
    if value is None:
        return "" if isinstance(control, gr.Textbox) else None
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise _refused("A text holds half of a surrogate pair, which is no character; leave it out.")
    wanted = _wanted(control)
    fits = _FITS.get(wanted)
    if fits is None or fits(value):
        return value
    called = getattr(control, "label", None) or type(control).__name__
    raise _refused(f"{called} is {shown(value)}, but must be {_WORDS[wanted]}; reload the page.")


def _wanted(control: Any) -> str:
    """A type of JSON, or nothing where anything may come."""
    if isinstance(control, gr.Dropdown):  # of what it offers, Gradio itself sees to it
        return "texts" if control.multiselect else "choice"
    if isinstance(control, gr.Radio):
        return "choice"
    kind = control.api_info().get("type")
    return kind if isinstance(kind, str) else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_INTEGER


_FITS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "choice": lambda value: isinstance(value, str) or _is_number(value),
    "texts": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
}
_WORDS = {
    "string": "text", "number": "a number", "integer": "a number", "boolean": "true or false", "array": "a list",
    "object": "an object", "choice": "one of its choices", "texts": "a list of texts",
}  # fmt: skip


def _refused(sentence: str) -> gr.Error:
    return gr.Error(sentence, print_exception=False)


def _line(error: Exception) -> str:
    """The first line of what Gradio says, which can be pages long."""
    text = str(getattr(error, "message", error)).strip()
    return str(SpecVizError((text.splitlines() or [type(error).__name__])[0][:300]))

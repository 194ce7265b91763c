"""What passes between the world and the page: what is posted is checked before Gradio or a function of the page sees
it, and every answer carries the page's policy.

    POST …/queue/join, /run, /api, /call, /component_server ─► size ─► JSON ─► event, values ─► Gradio ─► `Guarded`

A body that Gradio would fall over is answered with a sentence before it, and routes that no part of the page uses are
closed. Values that no control of the page can have are refused before they reach a function, and only a fault of
SpecViz's own leaves a traceback in the log. Only four endpoints have a name (`app/endpoints.py`); every other event is
the page's own and goes by its number. Written against Gradio 6.31, which is pinned; a test holds what is relied on.
Knows no tab and no control by name.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import gradio as gr
from gradio.block_function import BlockFunction
from gradio.state_holder import SessionState
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from specviz.app.form.kept import in_bounds
from specviz.errors import SpecVizError, shown
from specviz.trace.files import MAX_INTEGER

API = "/gradio_api"
MOST_BYTES = 64 * 2**20
"""of one event: a form and the longest trace that may be uploaded, as text within JSON"""
MOST_HASH = 64
"""characters of a session's name, which the page makes of eleven"""
CLOSED = re.compile(
    r"/(?:deep_link|proxy=|process_recording|vibe-|undo-vibe|profiling|run-history|runs\b|dev/|custom_component|stream/)"
)
"""routes of Gradio's that no part of the page uses: they fetch, keep or run things for whoever asks"""
EVENTS = re.compile(r"/(?:queue/join|component_server|(?:(?P<way>run|api|call|call/v2)/(?P<name>[^/]+)))/?")
NUMBERED = "predict"
"""what an event without a name is called in an address"""


class _RefusedError(Exception):
    """The request is answered here, with this sentence."""

    def __init__(self, sentence: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(sentence)
        self.status = status


class Door:
    """ASGI middleware before Gradio's application."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it."""
        if scope["type"] != "http" or not scope["path"].startswith(API):
            await self.app(scope, receive, send)
            return
        try:
            passed = await self._checked(scope, receive)
        except _RefusedError as refused:
            await JSONResponse({"detail": str(refused)}, refused.status)(scope, receive, send)
            return
        await self.app(scope, passed, send)

    async def _checked(self, scope: Scope, receive: Receive) -> Receive:
        path = scope["path"].removeprefix(API)
        if CLOSED.match(path):
            raise _RefusedError("This page does not offer that.", HTTPStatus.NOT_FOUND)
        route = EVENTS.fullmatch(path)
        if route is None or scope["method"] != "POST":
            return receive
        body = await _body(scope, receive)
        if not _header(scope, b"content-type").startswith(b"multipart/"):
            blocks = scope["app"].get_blocks()
            _check_event(_object(body), route["way"], route["name"], blocks)
        return _again(body, receive)


async def _body(scope: Scope, receive: Receive) -> bytes:
    parts, size = list[bytes](), 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _RefusedError("The connection ended before the event arrived.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > MOST_BYTES:
            raise _RefusedError(
                f"An event may have at most {MOST_BYTES:,} bytes; send less.",
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            )
    return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """What was read, to be read once more; then whatever the connection says."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


def _header(scope: Scope, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _RefusedError(f"The event cannot be read as JSON ({type(error).__name__}).") from None
    if not isinstance(data, dict):
        raise _RefusedError(f"The event is {shown(data)}, but must be an object.")
    return data


def _check_event(data: Mapping[str, Any], way: str | None, name: str | None, blocks: Any) -> None:
    """Raises _RefusedError for an event that the page cannot have sent."""
    session = data.get("session_hash")
    if session is not None and not (isinstance(session, str) and 0 < len(session) <= MOST_HASH):
        raise _RefusedError(f"session_hash is {shown(session)}, but must be up to {MOST_HASH} characters of text.")
    if data.get("batched"):
        raise _RefusedError("Events come one at a time here; leave out 'batched'.")
    if way is None and name is None and "component_id" in data:
        if type(data["component_id"]) is not int or data["component_id"] not in blocks.blocks:
            raise _RefusedError(f"The page has no component {shown(data['component_id'])}.", HTTPStatus.NOT_FOUND)
        return
    function = _function(data.get("fn_index"), name, blocks)
    if way == "call/v2":  # values by their names; Gradio itself says which are missing
        return
    values = data.get("data")
    if not isinstance(values, list):
        raise _RefusedError(f"data is {shown(values)}, but must be a list of values.")
    fed = [one for one in function.inputs if way != "call" or not one.skip_api]
    if len(values) not in (len(fed), len(function.inputs)) and not function.cancels:
        raise _RefusedError(f"data has {len(values)} values, but this event takes {len(fed)}.")


def _function(number: object, name: str | None, blocks: Any) -> Any:
    """The event that is meant: by its number, or one of those that have a name."""
    functions = blocks.fns
    if number is not None:
        if type(number) is not int or number not in functions:
            raise _RefusedError(f"The page has no event {shown(number)}.", HTTPStatus.NOT_FOUND)
        return functions[number]
    for function in functions.values():
        if name is not None and function.api_name == name and function.api_visibility == "public":
            return function
    offered = sorted({str(one.api_name) for one in functions.values() if one.api_visibility == "public"})
    raise _RefusedError(
        f"There is no endpoint called {shown(name)}; there are {', '.join(offered)}.", HTTPStatus.NOT_FOUND
    )


# --- values that a control can have ----------------------------------------------------------------------------------


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
            raise _refusal(f"The page's controls cannot have these values: {_line(error)}") from error

    async def call_function(self, block_fn: BlockFunction | int, *args: Any, **kwargs: Any) -> Any:
        """Call it. Raises gr.Error alone, for the visitor; what is no mistake of theirs is logged."""
        function = self.fns[block_fn] if isinstance(block_fn, int) else block_fn
        if not function.fn:
            raise _refusal("This event happens in the page alone; the server has nothing to do for it.")
        try:
            return await super().call_function(block_fn, *args, **kwargs)
        except gr.Error as error:
            error.print_exception = False
            raise
        except SpecVizError as error:
            raise _refusal(str(error)) from error
        except Exception as error:
            log.exception("%s failed", function.api_name or function.name)
            raise _refusal(f"This failed ({type(error).__name__}); the server's log says more.") from error


def checked(controls: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The posted values, an empty text where a text box has none. Raises gr.Error for the wrong number of values and
    for one that its control cannot have."""
    if len(values) != len(controls):
        raise _refusal(f"{len(values)} values arrived, but this event takes {len(controls)}; reload the page.")
    return [_checked(control, value) for control, value in zip(controls, values, strict=True)]


def _checked(control: Any, value: Any) -> Any:
    if getattr(control, "stateful", False):
        return value  # the server's own is taken in its place
    if value is None:
        return "" if isinstance(control, gr.Textbox) else None
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise _refusal("A text holds half of a surrogate pair, which is not a character; remove it.")
    wanted = _wanted(control)
    fits = _FITS.get(wanted)
    called = getattr(control, "label", None) or type(control).__name__
    if fits is None or fits(value):
        if isinstance(control, gr.Number) and not in_bounds(control, value):  # a slider's bounds may be others by now
            raise _refusal(f"{called} is {shown(value)}, but must be {_bounds(control)}.")
        return value
    raise _refusal(f"{called} is {shown(value)}, but must be {_WORDS[wanted]}; reload the page.")


def _wanted(control: Any) -> str:
    """A type of JSON, or nothing where anything may come."""
    if isinstance(control, gr.Dropdown):  # of what it offers, Gradio itself sees to it
        return "texts" if control.multiselect else "choice"
    if isinstance(control, gr.Radio):
        return "choice"
    kind = control.api_info().get("type")
    return kind if isinstance(kind, str) else ""


def _bounds(control: gr.Number) -> str:
    low, high = control.minimum, control.maximum
    if low is None or high is None:
        return f"at most {high:g}" if low is None else f"at least {low:g}"
    return f"from {low:g} to {high:g}"


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
    "string": "text",
    "number": "a number",
    "integer": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "choice": "one of its choices",
    "texts": "a list of texts",
}


def _refusal(sentence: str) -> gr.Error:
    return gr.Error(sentence, print_exception=False)


def _line(error: Exception) -> str:
    """The first line of what Gradio says, which can be pages long."""
    text = str(getattr(error, "message", error)).strip()
    return str(SpecVizError((text.splitlines() or [type(error).__name__])[0][:300]))


# --- answers ---------------------------------------------------------------------------------------------------------


HUB = "https://huggingface.co"
FRAMES = f"'self' {HUB} https://*.hf.space"
"""who may show the page in a frame"""


def policy(on_a_space: bool) -> str:
    """The header's text."""
    hub = f" {HUB}" if on_a_space else ""
    return "; ".join(
        [
            "default-src 'self'",
            "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
            "style-src 'self' 'unsafe-inline'",
            "font-src 'self' data:",
            f"img-src 'self' data: blob:{hub}",
            f"connect-src 'self' data: blob:{hub}",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            f"frame-ancestors {FRAMES}",
        ]
    )


class Policy:
    """ASGI middleware that puts it on every answer."""

    def __init__(self, app: ASGIApp, on_a_space: bool) -> None:
        self.app = app
        self.text = policy(on_a_space)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As the application answers, with the policy."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["content-security-policy"] = self.text
                headers["x-content-type-options"] = "nosniff"
            await send(message)

        await self.app(scope, receive, told if scope["type"] == "http" else send)

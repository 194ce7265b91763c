"""What is let through to the page's events: a body that Gradio would fall over is answered with a sentence before it,
and routes that no part of the page uses are closed.

    POST …/queue/join, /run, /api, /call, /component_server ─► size ─► JSON ─► event, values ─► Gradio

Only four endpoints have a name (`endpoints.wiring`); every other event is the page's own and goes by its number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from specviz.errors import shown

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
            raise _RefusedError("The connection ended before the event was there.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > MOST_BYTES:
            raise _RefusedError(
                f"An event of more than {MOST_BYTES:,} bytes is not taken; send less.",
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
        raise _RefusedError(f"The event is no JSON that can be read ({type(error).__name__}).") from None
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

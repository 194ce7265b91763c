"""Files that visitors hand in: how much of them may lie here, and how long.

    upload ─► room? (the network's, all) ─► file ─► claimed by the session that uses it ─► removed when that one ends

Gradio takes any number of them and keeps each for a day. What nobody claims within some minutes goes as well. The same
content is one file, whoever hands it in, and goes with the last who claims it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from pathlib import Path
from threading import Lock
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from specviz.app.offered import served_folder
from specviz.app.page.network import network_of

UPLOAD = "/gradio_api/upload"
OF_A_NETWORK = 20
"""so many times the largest file may one network's files be together: a class hands in at the same time"""
OF_ALL = 60
"""and so many times everybody's"""
UNCLAIMED_S = 600.0
"""until a file goes that no page uses"""


class UploadedFiles:
    """The files of one server, by their paths."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._sizes: dict[str, int] = {}
        self._networks: dict[str, str] = {}
        """who handed it in last"""
        self._since: dict[str, float] = {}
        """when that was"""
        self._holders: dict[str, set[str]] = {}
        """sessions that use it"""
        self._arriving: dict[str, int] = {}
        """network → bytes on their way"""

    def refusal(self, network: str, size: int, largest: int) -> str | None:
        """Why so many bytes more cannot be taken; None where they can, and are then expected until `arrived`."""
        with self._lock:
            own = self._arriving.get(network, 0)
            own += sum(size for path, size in self._sizes.items() if self._networks[path] == network)
            everything = sum(self._arriving.values()) + sum(self._sizes.values())
            if own + size > OF_A_NETWORK * largest:
                return _sentence("your network has", OF_A_NETWORK * largest)
            if everything + size > OF_ALL * largest:
                return _sentence("all visitors together have", OF_ALL * largest)
            self._arriving[network] = self._arriving.get(network, 0) + size
            return None

    def arrived(self, network: str, expected: int, paths: Collection[str]) -> None:
        """An upload is over, with these files."""
        with self._lock:
            self._arriving[network] -= expected
            if not self._arriving[network]:
                del self._arriving[network]
            for path in paths:
                self._sizes[path] = Path(path).stat().st_size
                self._networks[path] = network
                self._since[path] = self._clock()

    def claim(self, session: str, value: Any) -> None:
        """The session uses the files that a value of its page names."""
        for one in value if isinstance(value, list) else [value]:
            path = one.get("path") if isinstance(one, dict) else None
            with self._lock:
                if isinstance(path, str) and path in self._sizes:
                    self._holders.setdefault(path, set()).add(session)

    def sweep(self, sessions: Collection[str]) -> None:
        """Remove what no session of these uses any more, and what none ever claimed."""
        now, gone = self._clock(), []
        with self._lock:
            for path in list(self._sizes):
                holders = self._holders.get(path)
                if holders is not None:
                    holders &= set(sessions)
                if not holders and (holders is not None or now - self._since[path] > UNCLAIMED_S):
                    gone.append(path)
                    self._holders.pop(path, None)
                    del self._sizes[path], self._networks[path], self._since[path]
            for path in gone:  # still locked: the same content may be arriving
                _remove(Path(path))


def _sentence(who: str, most: int) -> str:
    return (
        f"{who[0].upper()}{who[1:]} handed in the {most / 1e6:g} MB that this machine keeps at a time; try again in "
        "some minutes."
    )


def _remove(path: Path) -> None:
    """The file and the folder of its own that it lies in."""
    path.unlink(missing_ok=True)
    if path.parent != served_folder() and not any(path.parent.iterdir()):
        path.parent.rmdir()


UPLOADED = UploadedFiles()
"""of this server"""


class Uploads:
    """Between the server and Gradio: lets an upload through where there is room for it, and keeps the account."""

    def __init__(self, app: ASGIApp, largest: int, behind_proxy: bool, files: UploadedFiles = UPLOADED) -> None:
        """`largest`: bytes of one file at most."""
        self.app = app
        self._largest = largest
        self._behind_proxy = behind_proxy
        self._files = files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].endswith(UPLOAD):
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        length = request.headers.get("content-length", "")
        if not length.isdecimal():
            await PlainTextResponse("The upload does not say how long it is.", 411)(scope, receive, send)
            return
        network, size = network_of(request, self._behind_proxy), int(length)
        refusal = self._files.refusal(network, size, self._largest)
        if refusal is not None:
            await PlainTextResponse(refusal, 413)(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            await self.app(scope, receive, answer)
        finally:
            self._files.arrived(network, size, answer.paths())


class _Answer:
    """Passes an answer on, and reads which files came."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._ok = False
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._ok = message["status"] == 200
        elif message["type"] == "http.response.body" and self._ok:
            self._body += message.get("body", b"")
        await self._send(message)

    def paths(self) -> list[str]:
        return [str(load) for load in json.loads(self._body)] if self._ok and self._body else []

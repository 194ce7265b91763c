"""What the server keeps of each visitor, and how long: the values that events need, the files that they hand in, and
nothing else.

    upload ─► room? (the network's, all) ─► file ─► claimed by the session that uses it ─► removed when that one ends

Gradio keeps, for as many sessions as the server has room for, the whole page as each visitor sees it: every component's
settings, and every value that was ever sent or received (runs, charts, tables). Only its deep links read that, which
this page does not offer; with runs of some hundred kilobytes it grew by megabytes a visitor and was not given back. It
takes any number of files and keeps each for a day; here, what nobody claims within some minutes goes as well. The same
content is one file, whoever hands it in, and goes with the last who claims it. Written against Gradio 6.31, which is
pinned; a test holds what is relied on.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from threading import Lock, Thread
from types import SimpleNamespace
from typing import Any

import gradio as gr
from gradio.state_holder import SessionState, StateHolder
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from specviz.allocator import few_arenas, settle
from specviz.app.offered import served_folder
from specviz.app.page.queue import FairQueue, network_of

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
        f"{who[0].upper()}{who[1:]} uploaded the {most / 1e6:g} MB that this machine keeps at a time; try again in "
        "a few minutes."
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
            await PlainTextResponse("The upload does not state its length.", 411)(scope, receive, send)
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


# --- values ----------------------------------------------------------------------------------------------------------


AFTER_LEAVING_S = 600.0
"""how long the state of a closed page is kept: a connection that is lost for some minutes loses nothing"""

SETTLE_S = 60.0
"""after jobs, or when visitors have left, memory is tidied so often at most, while nothing is measured"""
SETTLE_AT_WORK_S = 300.0
"""and so often where the engine never rests: a run is held up for some tenths of a second"""


class Session(SessionState):
    """One visitor's state. What Gradio would keep for deep links is dropped."""

    def __init__(self, blocks: gr.Blocks, name: str = "") -> None:
        self._name = name
        # without blocks: their settings would be worked out and kept, a megabyte and a tenth of a second each time
        bare: Any = SimpleNamespace(default_config=blocks.default_config, blocks={})
        super().__init__(bare)
        self.config_values = _Dropped()

    def __setitem__(self, key: int, value: Any) -> None:
        """A control is kept where an answer changed more than its value: most answers name dozens that stay as they
        were, and Gradio builds each of them anew."""
        known = self.blocks_config.blocks.get(key)
        if isinstance(known, gr.State) or known is None or _settings(known) != _settings(value):
            super().__setitem__(key, value)

    def _update_config(self, key: int) -> None:
        """Nothing to keep."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Nothing to keep, but whose a file is."""
        UPLOADED.claim(self._name, value)


def _settings(block: Any) -> dict[str, Any]:
    """What a control was made with, but for its value."""
    return {name: arg for name, arg in block.constructor_args.items() if name not in ("value", "render")}


class _Dropped(dict[int, Any]):
    """Takes everything and keeps nothing."""

    def __setitem__(self, key: int, value: Any) -> None:
        return


class Sessions(StateHolder):
    """All visitors' states; those of closed pages go after a while. What the tabs keep of a visitor goes with them: a
    program that keeps no connection open never closes its page, and Gradio tells nobody when its state makes room."""

    def __init__(self, queue: FairQueue, leave: Sequence[Callable[[Any], object]]) -> None:
        """`leave`: what the page does when a visitor closes it, by their request."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._leave = leave
        self._known: set[str] = set()
        self._queue = queue
        self._freed = False
        self._settled_at = time.monotonic()
        self._settled_after = 0
        """jobs"""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = Session(self.blocks, session_id)
        return super().__getitem__(session_id)

    def delete_all_expired_state(self) -> None:
        """Gradio asks for this once a second."""
        super().delete_all_expired_state()  # type: ignore[no-untyped-call]
        UPLOADED.sweep(self.session_data)
        known, self._known = self._known, set(self.session_data)
        for session_id in known - self._known:
            for leave in self._leave:
                leave(SimpleNamespace(session_hash=session_id))
        before = datetime.datetime.now() - datetime.timedelta(seconds=AFTER_LEAVING_S)
        expired = [one for one, state in self.session_data.items() if state.is_closed]
        for session_id in [one for one in expired if self.time_last_used.get(one, before) <= before]:
            self.delete_state(session_id)
            with self.lock:
                self.session_data.pop(session_id, None)
                self.time_last_used.pop(session_id, None)
            self._freed = True
        self._settle()

    def _settle(self) -> None:
        """Where there is something to tidy, and then beside the server."""
        rested_s = time.monotonic() - self._settled_at
        news = self._freed or self._queue.begun != self._settled_after
        if news and rested_s > (SETTLE_AT_WORK_S if self._queue.is_working else SETTLE_S):
            self._freed, self._settled_at, self._settled_after = False, time.monotonic(), self._queue.begun
            Thread(target=settle, name="specviz-settle", daemon=True).start()


def keep_little(demo: gr.Blocks) -> None:
    """From now on the launched page keeps its visitors' states in this way. Call it before anyone can have come."""
    few_arenas()
    app = demo.app
    leave = [fn.fn for fn in demo.fns.values() if any(event == "unload" for _, event in fn.targets) and fn.fn]
    assert isinstance(demo._queue, FairQueue), "`build` puts it there."
    app.state_holder = Sessions(demo._queue, leave)
    app.state_holder.set_blocks(demo)

"""What the server keeps of each open page, and how long: the values that events need, and nothing else.

Gradio keeps, for as many sessions as the server has room for, the whole page as each visitor sees it: every component's
settings, and every value that was ever sent or received (runs, charts, tables). Only its deep links read that, which
this page does not offer; with runs of some hundred kilobytes it grew by megabytes a visitor and was not given back.
Written against Gradio 6.31, which is pinned; a test holds what is relied on.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence
from threading import Thread
from types import SimpleNamespace
from typing import Any

import gradio as gr
from gradio.state_holder import SessionState, StateHolder

from specviz.allocator import few_arenas, settle
from specviz.app.page.queue import FairQueue
from specviz.app.page.uploaded import UPLOADED

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

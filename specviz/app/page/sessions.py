"""What the server keeps of each open page, and how long: the values that events need, and nothing else.

Gradio keeps, for as many sessions as the server has room for, the whole page as each visitor sees it: every component's
settings, and every value that was ever sent or received (runs, charts, tables). Only its deep links read that, which
this page does not offer; with runs of some hundred kilobytes it grew by megabytes a visitor and was not given back.
Written against Gradio 6.31, which is pinned; a test holds what is relied on.
"""

from __future__ import annotations

import datetime
import time
from threading import Thread
from types import SimpleNamespace
from typing import Any

import gradio as gr
from gradio.state_holder import SessionState, StateHolder

from specviz.allocator import few_arenas, give_back
from specviz.app.page.handed_in import HANDED_IN

AFTER_LEAVING_S = 600.0
"""how long the state of a closed page is kept: a connection that is lost for some minutes loses nothing"""

GIVE_BACK_S = 60.0
"""memory of visitors who have left is handed back so often at most"""


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
        HANDED_IN.claim(self._name, value)


def _settings(block: Any) -> dict[str, Any]:
    """What a control was made with, but for its value."""
    return {name: one for name, one in block.constructor_args.items() if name not in ("value", "render")}


class _Dropped(dict[int, Any]):
    """Takes everything and keeps nothing."""

    def __setitem__(self, key: int, value: Any) -> None:
        return


class Sessions(StateHolder):
    """All visitors' states; those of closed pages go after a while."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._freed = False
        self._given_back_at = 0.0

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = Session(self.blocks, session_id)
        return super().__getitem__(session_id)

    def delete_all_expired_state(self) -> None:
        """Gradio asks for this once a second."""
        super().delete_all_expired_state()  # type: ignore[no-untyped-call]
        HANDED_IN.sweep(self.session_data)
        before = datetime.datetime.now() - datetime.timedelta(seconds=AFTER_LEAVING_S)
        expired = [one for one, state in self.session_data.items() if state.is_closed]
        for session_id in [one for one in expired if self.time_last_used.get(one, before) <= before]:
            self.delete_state(session_id)
            with self.lock:
                self.session_data.pop(session_id, None)
                self.time_last_used.pop(session_id, None)
            self._freed = True
        if self._freed and time.monotonic() - self._given_back_at > GIVE_BACK_S:
            self._freed, self._given_back_at = False, time.monotonic()
            Thread(target=give_back, name="specviz-give-back", daemon=True).start()


def keep_little(demo: gr.Blocks) -> None:
    """From now on the launched page keeps its visitors' states in this way. Call it before anyone can have come."""
    few_arenas()
    app = demo.app
    app.state_holder = Sessions()
    app.state_holder.set_blocks(demo)

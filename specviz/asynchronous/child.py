"""The drafter's own process: what it is told, what it says, and how it drafts on the engine's clock.

    TextOrder ─► reads the prompt ─► DrawOrder ─► pass ─► span, then the board ─► pass ─► … ─► OVER

While the engine's clock stands still it begins nothing, and a pass that was under way is only published when the clock
has gone on for as long as the pass had left: no drafting is free.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import parent_process
from typing import TypeVar

from specviz.asynchronous.board import SharedBoard, Size
from specviz.asynchronous.foresight import Plan, drafting
from specviz.asynchronous.machines import Branches, Chosen, Draft, Likeliest, RolledBack, after
from specviz.asynchronous.side import Drawer, Draws, Reader
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.lm.base import LanguageModel
from specviz.lm.kernels import Choice, Key, take_over
from specviz.lm.place import Origin
from specviz.protocol.lanes import DRAFT, Span

LOOK_S = 0.02
"""longest sleep between two looks at the board, should a wake-up be missed"""
WAKE, NEWS, OVER = "wake", "news", "over"
"""to the child: look again; from it: look again, and: it has left the text. Messages and no events, which a killed
process would leave locked"""


@dataclass(frozen=True, slots=True)
class Ready:
    """The child has its model."""

    weights_sha256: str


@dataclass(frozen=True, slots=True)
class TextOrder:
    """Read this prompt."""

    prompt: tuple[int, ...]
    board: str
    size: Size


@dataclass(frozen=True, slots=True)
class DrawOrder:
    """And draft on from it."""

    sampling: Sampling
    seed: int
    noise: str
    plan: Plan | None = None
    """for verdicts to come"""


def work(pipe: Connection, origin: Origin, slowdown_s: float, timed: dict[Key, list[Choice]]) -> None:
    """The child: load the model, then draft as it is told, until the pipe closes. `timed`: what its parent knows of the
    fastest products."""
    from specviz.lm.load import load
    from specviz.lm.step_time import use_threads

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to parent and child; the parent ends the child
    use_threads(1)
    take_over(timed)
    try:
        loaded = load(origin.name, device=origin.device, dtype=origin.dtype, adapter=origin.adapter)
    except Exception as error:  # whatever it is, the parent says it
        pipe.send(f"{type(error).__name__}: {error}")
        return
    pipe.send(Ready(loaded.info.weights_sha256))
    try:
        while True:
            order = _order(pipe, TextOrder)
            board = SharedBoard.join(order.board, order.size)
            try:
                _Text(pipe, loaded.model, board, slowdown_s).draft(order.prompt)
            finally:
                board.close()
            pipe.send(OVER)
    except (EOFError, OSError):
        pass  # the parent is gone


OrderT = TypeVar("OrderT")


def _order(pipe: Connection, kind: type[OrderT]) -> OrderT:
    """The next one; what was to wake up a text that is over is passed by."""
    while not isinstance(order := pipe.recv(), kind):
        pass
    return order


class _Text:
    """The child at one text."""

    def __init__(self, pipe: Connection, model: LanguageModel, board: SharedBoard, slowdown_s: float) -> None:
        self._pipe, self._board, self._slowdown_s = pipe, board, slowdown_s
        self._reader = Reader(model)
        self._parent = parent_process()

    def draft(self, prompt: Sequence[int]) -> None:
        """Until the text is over or the parent gone."""
        if len(prompt) > 1:
            self._reader.logits(prompt[:-1])
        self._pipe.send(None)
        order = _order(self._pipe, DrawOrder)
        drawer = Drawer(self._reader, Draws(order.sampling, SeededRandom(order.seed), order.noise))
        machine = drafting(self._board, order.plan)
        want = after(machine, None)
        while want is not None:
            answer = None
            if isinstance(want, Draft | Branches) and self._board.clock.is_running:
                answer = self._pass(want, drawer)
                if answer is None:
                    return
            elif isinstance(want, Likeliest):
                answer = drawer.likeliest(want)
            elif isinstance(want, Chosen):
                self._write_rows(drawer, drawer.choose(want))
            elif isinstance(want, RolledBack):
                if want.tokens:
                    self._say(Span(DRAFT, "roll back", now := self._board.clock.now(), now, want.tokens))
            elif not self._rest(LOOK_S):
                return
            has_changed = answer is not None or isinstance(want, RolledBack)
            want = after(machine, answer)
            if has_changed and want is not None:
                self._pipe.send(NEWS)

    def _pass(self, want: Draft | Branches, drawer: Drawer) -> list[int] | None:
        """Its tokens, not given away before the engine's clock has seen as much time as it took; None: it is over."""
        clock = self._board.clock
        start, began = clock.now(), time.perf_counter()
        tokens = drawer.drawn(want)
        end = start + time.perf_counter() - began + self._slowdown_s
        while (left := end - clock.now()) > 0:
            if not self._rest(left if clock.is_running else LOOK_S):
                return None
        if isinstance(want, Draft):
            self._write_rows(drawer, [len(want.text)])
        self._say(Span(DRAFT, "draft", start, end, len(tokens)))
        return tokens

    def _write_rows(self, drawer: Drawer, lengths: Sequence[int]) -> None:
        for length in lengths:
            self._board.write_row(length, drawer.row(length))

    def _say(self, span: Span) -> None:
        """Before the board shows what it is about."""
        self._pipe.send(span)

    def _rest(self, seconds: float) -> bool:
        """Until something changes; whether there is anything left to do."""
        seconds = min(seconds, LOOK_S)
        while self._pipe.poll(seconds):
            self._pipe.recv()
            seconds = 0.0
        return not self._board.is_over() and (self._parent is None or self._parent.is_alive())

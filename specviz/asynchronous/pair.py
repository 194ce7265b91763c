"""Two processes that draft and verify at the same time: the target here, the drafter in a child of its own.

    AsyncPair ── jobs by pipe, texts by shared board, wake-ups by events ── worker (one torch thread)

The child ends with its parent, and a child that is killed costs speed, not the text: the verifier then decodes plainly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import parent_process
from multiprocessing.synchronize import Event
from typing import Any

from specviz.asynchronous.machines import Draft, RolledBack, Verify, Wait, drafter, shared, until_end, verifier
from specviz.asynchronous.pearl import Both, Met, pearl
from specviz.asynchronous.reader import Reader
from specviz.asynchronous.shared_board import SharedBoard
from specviz.core.sampling import Sampling
from specviz.errors import ModelError
from specviz.lm.base import LanguageModel
from specviz.protocol.lanes import DRAFT, TARGET, Lanes, Span

LOOK_S = 0.02
"""longest sleep between two looks at the board, should a wake-up be missed"""
READY_S = 120.0
"""longest wait for the child to have its model"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a drafter's model comes from."""

    name: str
    device: str = "cpu"
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class Job:
    """One text. Seconds count from `began`, on the clock that both processes share."""

    method: str
    prompt: tuple[int, ...]
    length: int
    """of the text, prompt included, at most"""
    sampling: Sampling
    seed: int
    ahead: int = 8
    """tokens an asynchronous drafter may be ahead"""
    widest: int = 7
    """tokens a verification takes at most"""
    gamma: int = 4
    """tokens PEARL drafts a round"""


class AsyncPair:
    """The target in this process and a drafter in another; texts one after the other. Use as a context manager."""

    def __init__(self, target: LanguageModel, drafting: Place, slowdown_s: float = 0.0) -> None:
        """`slowdown_s`: a sleep after each drafter pass, to show where asynchrony pays. Raises ModelError where the
        child cannot load its model."""
        context = get_context("spawn")
        self.target = target
        self._pipe, theirs = context.Pipe()
        self._to_drafter, self._to_target = context.Event(), context.Event()
        self._process = context.Process(
            target=work, args=(theirs, drafting, self._to_drafter, self._to_target, slowdown_s), daemon=True
        )
        self._process.start()
        theirs.close()
        said = self._receive(READY_S)
        if said != "ready":
            self.close()
            raise ModelError(f"the drafter's process could not begin: {said}")

    def __enter__(self) -> AsyncPair:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_drafting(self) -> bool:
        """Whether the child lives."""
        return self._process.is_alive()

    def close(self) -> None:
        """End the child."""
        if self._process.is_alive():
            self._process.terminate()
        self._process.join()
        self._pipe.close()

    def amusd(self, job: Job, ends: Callable[[int], bool]) -> Lanes:
        """AMUSD on two processes. The text is the target's own, whatever becomes of the child."""
        board = SharedBoard.create(job.prompt, job.length + job.ahead + 1)
        reader, spans = Reader(self.target, job.sampling, job.seed), list[Span]()
        try:
            reader.answers(job.prompt, [])
            began = time.perf_counter()
            self._send((job, board.memory.name, board.room, began))
            machine, answer = verifier(board, job.length, job.widest, ends, lambda: self.is_drafting), None
            want = next(machine, None)
            while want is not None:
                answer = None
                if isinstance(want, Verify):
                    start = time.perf_counter()
                    answer = reader.answers(want.text, want.tail)
                    end, accepted = time.perf_counter() - began, shared(want.tail, answer)
                    kept = len(until_end([*want.tail[:accepted], answer[accepted]], ends))
                    spans.append(Span(TARGET, "verify", start - began, end, len(want.tail), kept, min(accepted, kept)))
                    self._to_drafter.set()
                elif isinstance(want, Wait):
                    self._to_target.wait(LOOK_S)
                    self._to_target.clear()
                want = _next(machine, answer)
                self._to_drafter.set()
            seconds = time.perf_counter() - began
            theirs = self._receive(READY_S) if self.is_drafting else []
            spans += theirs if isinstance(theirs, list) else []
            return Lanes("amusd", board.verified(0, board.verified_length()), seconds, spans)
        finally:
            board.close(unlink=True)

    def pearl(self, job: Job, ends: Callable[[int], bool]) -> Lanes:
        """PEARL on two processes: each round both work, then meet."""
        reader, spans = Reader(self.target, job.sampling, job.seed), list[Span]()
        reader.answers(job.prompt, [])
        self._send((job, "", 0, 0.0))
        began = time.perf_counter()
        rounds = pearl(job.prompt, job.length, job.gamma, ends)
        answer: tuple[Sequence[int], Sequence[int]] | None = None
        try:
            while True:
                want = rounds.send(answer)
                answer = None
                if isinstance(want, Met):
                    verified = spans[-2]
                    spans[-2] = replace(verified, kept=want.committed, accepted=want.accepted)
                    if want.thrown:
                        met = max(verified.end_s, spans[-1].end_s)
                        spans.append(Span(DRAFT, "roll back", met, met, want.thrown))
                    continue
                assert isinstance(want, Both)
                start = time.perf_counter()
                self._send((want.text, want.pending, want.count))
                said = reader.answers(want.text, want.pending)
                spans.append(Span(TARGET, "verify", start - began, time.perf_counter() - began, len(want.pending)))
                found = self._receive(READY_S)
                if isinstance(found, str):
                    raise ModelError(f"the drafter's process did not answer: {found}; start the pair again.")
                drafted, begun, ended = found
                spans.append(Span(DRAFT, "draft", begun - began, ended - began, want.count))
                answer = drafted, said
        except StopIteration as end:
            self._send(None)
            return Lanes("pearl", end.value, time.perf_counter() - began, spans)

    def _send(self, what: object) -> None:
        try:
            self._pipe.send(what)
        except (BrokenPipeError, OSError) as error:
            raise ModelError("the drafter's process has ended; start the pair again.") from error

    def _receive(self, seconds: float) -> Any:
        try:
            if self._pipe.poll(seconds):
                return self._pipe.recv()
        except (EOFError, OSError):
            pass
        return "it ended without a word" if not self._process.is_alive() else "it took too long"


def _next(machine: Any, answer: Sequence[int] | None) -> Any:
    try:
        return machine.send(answer)
    except StopIteration:
        return None


def work(pipe: Connection, place: Place, wake: Event, tell: Event, slowdown_s: float) -> None:
    """The child: load the model, then draft as jobs say, until the pipe closes."""
    from specviz.lm.load import load
    from specviz.lm.step_time import use_threads

    use_threads(1)
    try:
        model = load(place.name, device=place.device, dtype=place.dtype).model
    except Exception as error:  # whatever it is, the parent says it
        pipe.send(f"{type(error).__name__}: {error}")
        return
    pipe.send("ready")
    try:
        while (order := pipe.recv()) is not None:
            job, name, room, began = order
            reader = Reader(model, job.sampling, job.seed)
            if job.method == "pearl":
                _rounds(pipe, reader, slowdown_s)
            else:
                pipe.send(_freely(job, SharedBoard.join(name, room), reader, began, wake, tell, slowdown_s))
    except (EOFError, OSError):
        pass  # the parent is gone


def _rounds(pipe: Connection, reader: Reader, slowdown_s: float) -> None:
    """PEARL's drafter: what is asked for, as soon as it is asked."""
    while (order := pipe.recv()) is not None:
        text, pending, count = order
        begun = time.perf_counter()
        drafted = reader.next_tokens([*text, *pending], count)
        time.sleep(slowdown_s * count)
        pipe.send((drafted, begun, time.perf_counter()))


def _freely(
    job: Job, board: SharedBoard, reader: Reader, began: float, wake: Event, tell: Event, slowdown_s: float
) -> list[Span]:
    """AMUSD's drafter: one token after the other until the text is over or the parent gone."""
    spans, parent = list[Span](), parent_process()
    machine = drafter(board, job.ahead, job.length)
    want = next(machine, None)
    while want is not None:
        answer = None
        start = time.perf_counter()
        if isinstance(want, Draft):
            answer = reader.next_tokens(want.text, want.count)
            time.sleep(slowdown_s * want.count)
            spans.append(Span(DRAFT, "draft", start - began, time.perf_counter() - began, want.count))
        elif isinstance(want, RolledBack):
            spans.append(Span(DRAFT, "roll back", start - began, start - began, want.tokens))
        elif parent is not None and not parent.is_alive():
            break
        else:
            wake.wait(LOOK_S)
            wake.clear()
        want = _next(machine, answer)
        tell.set()
    board.close()
    return spans

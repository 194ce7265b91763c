"""A drafter in a process of its own, as the target's process sees it: it drafts while that one does something else.

    orders, wake-ups and what the child did when, by pipe · texts, clock and rows by shared board

The child (`child.py`) ends with its parent, and a child that is killed costs speed, not the text. Between two runs one
child waits for some minutes (`drafting_process`, `hand_back`): to begin and to load a model takes longer than a short
text.

A run of the engine drafts so with `amusd`, `pearl` and `ssd`, and writes a trace; `AsyncPair` measures one text after
another with one child, outside the engine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import active_children, forkserver, get_all_start_methods, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from threading import Timer
from types import ModuleType
from typing import Any
from weakref import finalize

from specviz.asynchronous.board import NONE_YET, EngineClock, Row, SharedBoard, Size
from specviz.asynchronous.child import LOOK_S, NEWS, OVER, WAKE, DrawOrder, Ready, TextOrder, work
from specviz.asynchronous.foresight import Plan
from specviz.asynchronous.machines import Machine, Reach, Verify, after, judged, pearl, verifier
from specviz.asynchronous.side import Draws, Speaker
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.errors import ModelError
from specviz.lm.base import LanguageModel
from specviz.lm.kernels import known
from specviz.lm.place import Origin
from specviz.protocol.lanes import TARGET, Lanes, Span

NEEDED = ["specviz.asynchronous.child", "specviz.lm.load"]
"""modules that take a child longer to import than everything else that it does before it drafts"""
WAITS_S = 300.0
"""for its next text: a child holds hundreds of megabytes"""
READY_S = 120.0
"""longest wait for the child to have its model, or to have read a prompt"""


class DraftingProcess:
    """The child, for one text after another; a `DraftingSide` between `begin` and `leave`."""

    def __init__(self, origin: Origin, weights_sha256: str = "", slowdown_s: float = 0.0) -> None:
        """Starts it. `slowdown_s`: so much longer does each pass take.

        Raises ModelError where the child cannot load its model, or finds other weights than those of this hash."""
        context = _context()
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, origin, slowdown_s, known()), daemon=True)
        with _nothing_of_the_script():
            self._process.start()
        self._closing = finalize(self, _end, self._process, self._pipe)
        self._has_hung_up = False
        self._leaving: Callable[[], object] = lambda: None
        theirs.close()
        said = self._receive(READY_S)
        if not isinstance(said, Ready):
            self.close()
            raise ModelError(f"the drafter's process could not begin: {said}.")
        self.model = (origin, said.weights_sha256)
        """where it loaded it from, and what it found there"""
        if weights_sha256 not in ("", said.weights_sha256):
            self.close()
            raise ModelError(
                f"the drafter's process found other weights under {origin.name} than were loaded before; load it again."
            )

    @property
    def clock(self) -> EngineClock:
        return self.board.clock

    @property
    def is_drafting(self) -> bool:
        """Whether the child lives."""
        return not self._has_hung_up and self._process.is_alive()

    def begin(self, prompt: Sequence[int], size: Size) -> None:
        """A new text, whose prompt the child reads before this returns. Raises ModelError where it has ended."""
        self._spans: list[Span] = []
        self._has_left = False
        self.board = SharedBoard.create(prompt, size)
        self._leaving = finalize(self, self.board.close, unlink=True)
        self._send(TextOrder(tuple(prompt), self.board.memory.name, size))
        said = self._receive(READY_S)
        if said is not None:
            self._leaving()
            raise ModelError(f"the drafter's process could not read the prompt: {said}; start it again.")

    def go(self, draws: Draws, plan: Plan | None = None) -> None:
        assert isinstance(draws.randomness, SeededRandom), "only a seed can be sent to another process."
        self._send(DrawOrder(draws.sampling, draws.randomness.seed, draws.noise, plan))

    def wait(self) -> None:
        self._listen(LOOK_S)

    def tell(self) -> None:
        with suppress(OSError):  # it has ended, which `is_drafting` says
            self._pipe.send(WAKE)

    def overlap(self) -> None:
        """It drafts on anyway."""

    def row(self, length: int) -> Row:
        return self.board.row(length)

    def spans(self) -> list[Span]:
        self._listen(0.0)
        finished, self._spans = self._spans, []
        return finished

    def leave(self) -> list[Span]:
        """End the text, and wait for the child to leave it; what it did until then. The child stays."""
        self.board.end()
        self.tell()
        said: object = NEWS
        while not self._has_left and (isinstance(said, Span) or said == NEWS):
            said = self._receive(READY_S)
            self._heard(said)
        self._leaving()
        finished, self._spans = self._spans, []
        return finished

    def close(self) -> None:
        """End the child, and the text where one is under way."""
        self._closing()
        self._leaving()

    def _listen(self, seconds: float) -> None:
        """All that the child has said, and where that is nothing wait so long."""
        try:
            while self._pipe.poll(seconds):
                self._heard(self._pipe.recv())
                seconds = 0.0
        except (EOFError, OSError):
            self._has_hung_up = True  # what it said before is kept

    def _heard(self, said: object) -> None:
        if isinstance(said, Span):
            self._spans.append(said)
        elif said == OVER:
            self._has_left = True

    def _send(self, what: object) -> None:
        try:
            self._pipe.send(what)
        except (BrokenPipeError, OSError) as error:
            self._leaving()
            raise ModelError("the drafter's process has ended; start the pair again.") from error

    def _receive(self, seconds: float) -> Any:
        try:
            if self._pipe.poll(seconds):
                return self._pipe.recv()
        except (EOFError, OSError):
            pass
        return "it ended without a word" if not self._process.is_alive() else "it took too long"


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """Between two texts."""

    process: DraftingProcess
    until: Timer
    """which ends it"""

    def close(self) -> None:
        self.until.cancel()
        self.process.close()


_waiting: list[_Waiting] = []
"""the one that waits for its next text, if any"""


def drafting_process(origin: Origin, weights_sha256: str) -> DraftingProcess:
    """The one that waits, where it has these weights, or a new one. Raises ModelError as `DraftingProcess` does."""
    with suppress(IndexError):
        waiting = _waiting.pop()
        if waiting.process.is_drafting and waiting.process.model == (origin, weights_sha256):
            waiting.until.cancel()
            return waiting.process
        waiting.close()
    return DraftingProcess(origin, weights_sha256)


def hand_back(process: DraftingProcess) -> None:
    """Its text, for which `go` was called, is over: it waits some minutes for the next, and whichever waited before
    ends."""
    process.leave()
    end_waiting()
    if not process.is_drafting:
        process.close()
        return
    until = Timer(WAITS_S, lambda: _end_idle(waiting))
    until.daemon = True
    waiting = _Waiting(process, until)
    _waiting.append(waiting)
    until.start()


def end_waiting() -> None:
    """End the one that waits, if any."""
    with suppress(IndexError):
        _waiting.pop().close()


def _end_idle(waiting: _Waiting) -> None:
    """End it where it still waits, and then the process that children begin as copies of, which holds as much, where no
    child is left. Another begins with the next child."""
    try:
        _waiting.remove(waiting)
    except ValueError:  # it was taken for a text at this very moment
        return
    waiting.close()
    if not active_children() and "forkserver" in get_all_start_methods():
        forkserver._forkserver._stop()  # type: ignore[attr-defined]  # nothing public ends it


@contextmanager
def _nothing_of_the_script() -> Iterator[None]:
    """A child that begins meanwhile does not run the script that started this process. By itself it would, but for what
    stands below `if __name__ == "__main__":`, and so start a child of its own; it needs nothing of it."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _context() -> ForkServerContext | SpawnContext:
    """Children begin as copies of a process that has imported what they need and done nothing else, in a fifth of the
    time; never as copies of this one, whose threads they would not have. Where no system can do that, each imports."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(NEEDED)
    return context


def _end(process: Any, pipe: Connection) -> None:
    if process.is_alive():
        process.terminate()
    process.join()
    pipe.close()


Ends = Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class Job:
    """One text."""

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
    """tokens PEARL and SSD draft a round"""
    fan_out: int = 2
    """verdicts that SSD drafts for behind each count of accepted tokens"""


class AsyncPair:
    """The target in this process and a drafter in another; texts one after the other. Use as a context manager."""

    def __init__(self, target: LanguageModel, drafting: Origin, slowdown_s: float = 0.0) -> None:
        """`slowdown_s`: so much longer does each drafter pass take, to show where asynchrony pays.

        Raises ModelError where the child cannot load its model."""
        self.target = target
        self.child = DraftingProcess(drafting, slowdown_s=slowdown_s)

    def __enter__(self) -> AsyncPair:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child."""
        self.child.close()

    def amusd(self, job: Job, ends: Ends) -> Lanes:
        """AMUSD on two processes. The text is the target's own, whatever becomes of the child."""
        return self._decode(
            job, ends, lambda reach, alive: verifier(self.child.board, reach, job.ahead, job.widest, ends, alive)
        )

    def pearl(self, job: Job, ends: Ends) -> Lanes:
        """PEARL on two processes: drafts of γ."""
        return self._decode(job, ends, lambda reach, alive: pearl(self.child.board, reach, job.gamma, ends, alive))

    def ssd(self, job: Job, ends: Ends) -> Lanes:
        """SSD on two processes: drafts of γ, the next ones begun behind the likeliest verdicts."""
        plan = Plan(job.gamma, job.fan_out, Reach.of(job.length).draft)
        return self._decode(
            job,
            ends,
            lambda reach, alive: verifier(self.child.board, reach, job.gamma, job.gamma, ends, alive, job.gamma),
            plan,
        )

    def _decode(
        self,
        job: Job,
        ends: Ends,
        make: Callable[[Reach, Callable[[], bool]], Machine],
        plan: Plan | None = None,
    ) -> Lanes:
        """Raises ModelError where the child had ended before."""
        child, spans, ready = self.child, list[Span](), list[int]()
        draws = Draws(job.sampling, SeededRandom(job.seed))
        speaker = Speaker(self.target, draws)
        child.begin(job.prompt, Size(job.length + job.ahead + job.gamma + 1))
        try:
            speaker.answers(job.prompt, [])
            machine = make(Reach.of(job.length), lambda: child.is_drafting)
            child.go(draws, plan)
            child.clock.run(0.0)
            want, answer = after(machine, None), list[int]()
            while want is not None:
                child.tell()
                if isinstance(want, Verify):
                    if want.tail and child.board.handed_over() != NONE_YET:
                        ready.append(child.board.handed_over())
                    start = child.clock.now()
                    answer = speaker.answers(want.text, want.tail)
                    spans.append(_verified(want, answer, ends, start, child.clock.now()))
                else:
                    child.wait()
                want = after(machine, answer if isinstance(want, Verify) else None)
            seconds = child.clock.now()
            text = child.board.verified(0, child.board.verified_length())
        finally:
            spans += child.leave()
        return Lanes(job.method, text, seconds, spans, ready)


def _verified(want: Verify, said: Sequence[int], ends: Ends, start_s: float, end_s: float) -> Span:
    accepted, new = judged(want.tail, said, ends)
    return Span(TARGET, "verify", start_s, end_s, len(want.tail), len(new), min(accepted, len(new)))

"""A function that stops wherever it asks for something and goes on when it is answered, however deep inside it asked.

A tree policy asks its model from deep inside a draft. A thread is the pause that Python has for that: every method
stays as it is. Only one of them runs at a time, and the caller waits meanwhile, so nothing is shared at once. They hand
over by two bare locks, each taken by one side and released by the other: that takes half as long as semaphores.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, Thread
from typing import Generic, TypeVar, cast

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class _Left(BaseException):
    """Ends a function that will not be answered any more; not an error that it could handle."""


class Pausable(Generic[Asked, Answer]):
    """`body` is given the function to ask with. It runs up to its first question at once."""

    def __init__(self, body: Callable[[Callable[[Asked], Answer]], None]) -> None:
        self._body = body
        self._go, self._paused = Lock(), Lock()
        self._go.acquire()
        self._paused.acquire()
        self._asked: Asked | None = None
        self._answer: Answer | None = None
        self._error: BaseException | None = None
        self._left = False
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()
        self._wait()

    @property
    def asked(self) -> Asked:
        """What it waits for. Only while it is not over."""
        assert self._asked is not None, "it is over and asks nothing."
        return self._asked

    @property
    def over(self) -> bool:
        return self._asked is None

    def answer(self, answer: Answer) -> None:
        """Go on up to the next question or the end. Raises what the body raises."""
        self._answer = answer
        self._go.release()
        self._wait()

    def leave(self) -> None:
        """End the body where it stands; nothing where it is over."""
        self._left = True
        if not self.over:
            self._go.release()
        self._thread.join()

    def _wait(self) -> None:
        self._paused.acquire()
        if self._error is not None:
            self._thread.join()
            raise self._error

    def _ask(self, question: Asked) -> Answer:
        self._asked = question
        self._paused.release()
        self._go.acquire()
        if self._left:
            raise _Left
        answer, self._answer = self._answer, None
        return cast(Answer, answer)  # it was answered, or it would have left

    def _run(self) -> None:
        try:
            self._body(self._ask)
        except _Left:
            pass
        except BaseException as error:  # whatever it is, the caller is told
            self._error = error
        finally:
            self._asked = None
            self._paused.release()

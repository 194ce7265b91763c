"""A function that stops wherever it asks for something and goes on when it is answered, however deep inside it asked.

A tree policy asks its model from deep inside a draft. A greenlet is a call stack that can be left standing and gone on
with: every method stays as it is. All of them run in the caller's thread, one at a time, so nothing is shared at once;
and a hand-over is a jump, where two threads would wait for the system to wake them.

What belongs to a thread is therefore everybody's: torch's inference mode, entered by a body that stands at a question,
is still on outside. So whoever runs several bodies that enter it enters it first (`together`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, cast

from greenlet import getcurrent, greenlet

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Pausable(Generic[Asked, Answer]):
    """`body` is given the function to ask with. It runs up to its first question at once.

    All calls come from the thread that made it: a stack that stands in one thread cannot go on in another.
    """

    def __init__(self, body: Callable[[Callable[[Asked], Answer]], None]) -> None:
        self._stack = greenlet(lambda: body(self._ask))
        self._asked: Asked | None = None
        self._go_on()

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
        self._go_on(answer)

    def leave(self) -> None:
        """End the body where it stands, by an exception that is no error; nothing where it is over."""
        if not self.over:
            self._asked = None
            self._stack.parent = getcurrent()
            self._stack.throw()

    def _go_on(self, *answer: Answer) -> None:
        self._asked = None
        self._stack.parent = getcurrent()  # where its question, its end and its error go
        self._stack.switch(*answer)

    def _ask(self, question: Asked) -> Answer:
        self._asked = question
        return cast(Answer, self._stack.parent.switch())

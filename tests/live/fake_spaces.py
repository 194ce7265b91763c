"""A stand-in for the package `spaces` on a ZeroGPU machine.

What is decorated runs in a process forked from this one, all that passes between the two is pickled, a process is used
again, and one that takes too long or is killed is gone. `asked` holds how long each loan was asked for, `processes` in
which process it was; `refusal` is raised in place of the next one.
"""

import multiprocessing
import pickle
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

import gradio as gr

FORK = multiprocessing.get_context("fork")
OK, FAILED, END = "ok", "failed", "end"


class Lender:
    """What stands for the module `spaces`."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.processes: list[int] = []
        self.refusal: Exception | None = None
        self.patience_s = 60.0
        """that a process may take, whatever was asked for"""
        self._worker: tuple[Any, Connection] | None = None

    def GPU(self, duration: Callable[..., int]) -> Callable[[Any], Any]:
        """The decorator."""

        def decorate(task: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
            def handler(*arguments: Any) -> Iterator[Any]:
                self.asked.append(duration(*arguments))
                if self.refusal is not None:
                    raise self.refusal
                return self._results(task, arguments)

            def generator(*arguments: Any) -> Iterator[Any]:
                yield from handler(*arguments)

            return generator

        return decorate

    def end(self) -> None:
        """No process is left."""
        if self._worker is not None:
            process, _ = self._worker
            process.kill()
            process.join()
            self._worker = None

    def _results(self, task: Callable[..., Iterator[Any]], arguments: Any) -> Iterator[Any]:
        process, near = self._worker or self._hire(task)
        self._worker = None
        self.processes.append(process.pid)
        near.send_bytes(pickle.dumps(arguments))
        until = time.monotonic() + self.patience_s
        while True:
            if not wait([near], timeout=max(0.0, until - time.monotonic())):
                process.kill()
            try:
                kind, value = pickle.loads(near.recv_bytes())
            except EOFError:
                process.join()
                raise gr.Error("GPU task aborted", title="ZeroGPU worker error") from None
            if kind == FAILED:
                raise gr.Error(value, title="ZeroGPU worker error")
            if kind == END:
                self._worker = process, near
                return
            yield value

    @staticmethod
    def _hire(task: Callable[..., Iterator[Any]]) -> tuple[Any, Connection]:
        near, far = FORK.Pipe()
        process = FORK.Process(target=_work, args=(task, near, far), daemon=True)
        process.start()
        far.close()
        return process, near


def _work(task: Callable[..., Iterator[Any]], near: Connection, far: Connection) -> None:
    near.close()
    while True:
        try:
            arguments = pickle.loads(far.recv_bytes())
        except (OSError, EOFError):
            return
        try:
            for value in task(*arguments):
                far.send_bytes(pickle.dumps((OK, value)))
            far.send_bytes(pickle.dumps((END, None)))
        except Exception as error:  # the page hears its name alone, as from the package
            far.send_bytes(pickle.dumps((FAILED, type(error).__name__)))

"""A source that answers with what it was asked, and long runs that stand still until they are stopped."""

import random
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import gradio as gr

from specviz.protocol.runs import Resume, RunRequest
from specviz.trace.events import Step
from specviz.trace.header import Started
from tests.app.doubles import SAMPLE, ReplaySource, sample
from tests.event_loop import run_to_the_end
from tests.load.behaviour import Guest, Notes, Room
from tests.load.visitor import Visitor, client

HELD = 96
"""tokens of a run that goes on until it is stopped"""
PATIENCE_S = 60.0


class Echo(ReplaySource):
    """Plays the golden trace under the seed that was asked for; long runs stand still until they are stopped."""

    def __init__(self) -> None:
        super().__init__(sample())
        self.running: set[int] = set()
        self.stopped: list[int] = []

    def run(
        self, request: RunRequest, cancelled: Callable[[], bool] = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        self.running.add(request.seed)
        try:
            for step in super().run(request, cancelled, resume):
                event = step.event
                yield replace(step, event=replace(event, seed=request.seed)) if isinstance(event, Started) else step
                while request.max_new_tokens == HELD and not cancelled():
                    time.sleep(0.01)
        finally:
            self.running.discard(request.seed)
            self.stopped += [request.seed] * cancelled()


def visit(page: gr.Blocks, tmp_path: Path, scene: Callable[[Callable[[], Guest]], Awaitable[None]]) -> Notes:
    """Play a scene, which is handed a maker of guests; what they noted."""
    notes = Notes()

    async def play() -> None:
        async with client(page.local_url, 8) as http:
            layout = await Visitor.look(http)
            room = Room(http, layout, notes, tmp_path, SAMPLE, ["code-a", "copy-a"], 0.0, HELD, (0.0, 1.0))
            await scene(lambda: Guest(room, Visitor(http, layout), random.Random(7)))

    run_to_the_end(play())
    return notes


def until(true: Callable[[], bool]) -> None:
    """Wait for what must come."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it never came."
        threading.Event().wait(0.02)

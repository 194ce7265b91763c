"""What workers in processes of their own do: decode, each at its own speed, or square a number; one is killed, once."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from specviz.errors import TraceError
from specviz.protocol.runs import MethodDescription, PromptCard, Resume, RunRequest
from specviz.trace.events import Finished, Step
from tests.fake_source import MODEL_DRAFTER, NO_DRAFTER, FakeSource

PROMPTS = tuple(PromptCard(name, "code", name, name, name) for name in ("one", "two", "three", "four"))
SWEEP = 'drafters = ["model"]\ngammas = [1, 3]\nprompts_per_family = 4\nmax_new_tokens = 8\n'
PATIENCE_S = 120.0


@dataclass
class Frail(FakeSource):
    """Plain decoding takes `pace` seconds a token by its own clock; the first worker has pace 1, the second 2, …

    The first prompt waits until somebody else has begun the second, whose last run kills its process the first time.
    """

    prompts: tuple[PromptCard, ...] = PROMPTS
    drafters: tuple[MethodDescription, ...] = (MODEL_DRAFTER, NO_DRAFTER)
    folder: Path = Path()
    pace: int = 0

    def __post_init__(self) -> None:
        self.pace = next(i for i in range(1, 99) if _made(self.folder / f"pace-{i}"))
        (self.folder / f"pace-{self.pace}").write_text(str(os.getpid()), encoding="utf-8")

    def run(
        self, request: RunRequest, cancelled: Callable[[], bool] = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        if len(self.requests) >= 2:  # warmed up: plain decoding and the drafter once each
            self._meet(request)
        for step in super().run(request, cancelled, resume):
            event = step.event
            slower = replace(event, decode_s=event.decode_s * self.pace) if isinstance(event, Finished) else event
            yield replace(step, event=slower)

    def _meet(self, request: RunRequest) -> None:
        if request.prompt_name == "two":
            _made(self.folder / "two")
            if request.drafter.options.get("gamma") == 1 and _made(self.folder / "dead"):
                os.kill(os.getpid(), signal.SIGKILL)
        end = time.monotonic() + PATIENCE_S
        while request.prompt_name == "one" and not (self.folder / "two").exists():
            assert time.monotonic() < end, "nobody began the second prompt."
            time.sleep(0.02)


def _made(path: Path) -> bool:
    """Whether the file was not there yet; it is now."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def frail_source(models: Any, threads: int) -> Frail:
    """In place of `specviz.cli.sources.live_source`; where the workers meet stands in the environment."""
    return Frail(folder=Path(os.environ["SPECVIZ_TEST_MEETING"]))


def squared(item: tuple[str, int]) -> int:
    """Of the number; the process that meets 3 first is killed, and 6 is refused."""
    folder, number = item
    if number == 6:
        raise TraceError("six is not read.")
    if number == 3 and _made(Path(folder, "dead")):
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2

"""The page as a Space of the smallest kind serves it, with a diary of every run: `python -m tests.load.server`.

The diary says when each run began and ended, by its seed, on the clock that the visitors go by too.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

os.environ.setdefault("SPECVIZ_TIER", "cpu-basic")

from specviz.cli.commands.app import load_page
from specviz.protocol.runs import Resume, RunRequest, TraceSource

if TYPE_CHECKING:
    from specviz.trace.events import Step


class Diary:
    """Lines of JSON: `{"at": seconds, "what": "begun" | "ended", "seed": …}`."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._lock = Lock()

    def note(self, what: str, seed: int) -> None:
        with self._lock:
            self._file.write(json.dumps({"at": time.monotonic(), "what": what, "seed": seed}) + "\n")
            self._file.flush()


def watched(source: TraceSource, diary: Diary) -> TraceSource:
    """The source, whose every run is noted."""
    inner: Callable[..., Iterator[Step]] = source.run

    def run(
        request: RunRequest, cancelled: Callable[[], bool] = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        diary.note("begun", request.seed)
        try:
            yield from inner(request, cancelled, resume)
        finally:
            diary.note("ended", request.seed)

    source.run = run
    return source


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--diary", type=Path, required=True)
    args = parser.parse_args()
    diary = Diary(args.diary)
    page = load_page(lambda source: watched(source, diary))
    page.launch(server_port=args.port, quiet=True)
    page.source.start(0.0)
    page.demo.block_thread()


if __name__ == "__main__":
    main()

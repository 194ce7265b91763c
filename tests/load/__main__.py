"""Rounds of visitors against the page on the limits of the smallest Space: `python -m tests.load`.

    server in a process of its own ◄── visitors, over HTTP ──► notes; the server's memory and files after each round
                 └─ diary of runs: when one that nobody waits for any more really ended

The first rounds warm up. What it found goes to standard output as Markdown, and as JSON to `--out`; the figures in
`docs/load.md` are from here.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import httpx
import psutil

from specviz.live import catalog
from tests.browser.page_server import free_port
from tests.load.behaviour import Notes, Room, sit
from tests.load.visitor import Visitor, client

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "tests" / "golden" / "trace-1.0-sample.json"
START_S = 180.0


@dataclass
class Round:
    """What one round left."""

    name: str
    minutes: float
    done: dict[str, int]
    turned_away: dict[str, int]
    errors: list[str]
    mixed_up: list[str]
    waited: dict[str, tuple[float, float]]
    """by what was done: median and longest seconds from asking to the whole answer"""
    left_running: int
    """runs that went on, or only then began, when their visitor had left"""
    slowest_stop_s: float | None
    """of such a run, from the leaving, or from its own beginning where that was later, to its end"""
    memory_mb: float
    files: int
    """in the server's temporary folder"""
    files_mb: float


@contextmanager
def server(folder: Path, port: int) -> Iterator[psutil.Process]:
    """The page in a process of its own; its temporary files lie in `folder`."""
    (folder / "tmp").mkdir()
    environment = os.environ | {"TMPDIR": str(folder / "tmp"), "GRADIO_ANALYTICS_ENABLED": "False"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "tests.load.server", "--port", str(port), "--diary", str(folder / "diary.jsonl")]
    with (folder / "server.log").open("w") as log:
        running = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=ROOT)
        try:
            yield psutil.Process(running.pid)
        finally:
            running.send_signal(signal.SIGINT)
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:
                running.kill()


async def measure(args: argparse.Namespace, folder: Path) -> list[Round]:
    port, found = free_port(), list[Round]()
    with server(folder, port) as process:
        async with client(f"http://127.0.0.1:{port}", args.visitors) as http:
            await _up(http, process)
            names = [f"warm-up {i + 1}" for i in range(args.warm_up)] + [f"round {i + 1}" for i in range(args.rounds)]
            for number, name in enumerate(names):
                found.append(await _round(name, args, http, folder, process, number))
                _say(found[-1])
            await asyncio.sleep(args.rest)
            print(
                f"after {args.rest:g} s of rest: {memory_mb(process):.0f} MB, files {files(folder / 'tmp')}", flush=True
            )
    return found


async def _round(
    name: str, args: argparse.Namespace, http: httpx.AsyncClient, folder: Path, process: psutil.Process, number: int
) -> Round:
    notes, layout = Notes(), await Visitor.look(http)
    prompts = [one.id for one in catalog.at_once().prompts]
    room = Room(http, layout, notes, folder, TRACE, prompts, args.pause)
    end = time.monotonic() + args.minutes * 60
    seats = (
        sit(room, random.Random(f"{args.seed} {number} {seat}"), lambda: time.monotonic() > end)
        for seat in range(args.visitors)
    )
    await asyncio.gather(*seats)
    minutes = (time.monotonic() - end) / 60 + args.minutes
    await asyncio.sleep(args.settle)
    stops = stopping(folder / "diary.jsonl", notes.left)
    count, size = files(folder / "tmp")
    return Round(
        name, minutes, dict(notes.done), dict(notes.turned_away), notes.errors, notes.mixed_up,
        {what: (median(seconds), max(seconds)) for what, seconds in notes.waited.items()},
        len(stops), max(stops, default=None), memory_mb(process), count, size,
    )  # fmt: skip


async def _up(http: httpx.AsyncClient, process: psutil.Process) -> None:
    """Wait until the page answers and its models are there."""
    begun = time.monotonic()
    while time.monotonic() - begun < START_S:
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            raise SystemExit("the server has ended; its log is server.log in the folder of --keep.")
        try:
            page = Visitor(http, await Visitor.look(http))
            await page.open()
            await page.leave()
            if "ready" in str(page["sv-status"]):
                return
        except httpx.HTTPError:
            pass
        await asyncio.sleep(1.0)
    raise SystemExit(f"the page was not there after {START_S:g} s.")


def stopping(diary: Path, left: dict[int, float]) -> list[float]:
    """Of each run that went on, or only then began, when its visitor had left: the seconds that nobody looked at."""
    begun: dict[int, float] = {}
    ended: dict[int, float] = {}
    for line in diary.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        (begun if one["what"] == "begun" else ended)[one["seed"]] = one["at"]
    found = [ended.get(seed, float("inf")) - max(at, begun[seed]) for seed, at in left.items() if seed in begun]
    return [seconds for seconds in found if seconds > 0]


def memory_mb(process: psutil.Process) -> float:
    """What the server's process holds in memory, in millions of bytes."""
    return float(process.memory_info().rss) / 1e6


def files(folder: Path) -> tuple[int, float]:
    """How many files lie there, and their millions of bytes."""
    sizes = [one.stat().st_size for one in folder.rglob("*") if one.is_file()]
    return len(sizes), sum(sizes) / 1e6


def _say(one: Round) -> None:
    """The round in a few lines."""
    print(f"{one.name}: {one.minutes:.1f} min; {one.done}; turned away {one.turned_away}")
    print(
        f"  {len(one.errors)} errors, {len(one.mixed_up)} mixed up; {one.left_running} left while they ran, slowest "
        f"stop {one.slowest_stop_s}"
    )
    print(f"  {one.memory_mb:.0f} MB; {one.files} files, {one.files_mb:.1f} MB", flush=True)
    for line in [*one.errors[:8], *one.mixed_up[:8]]:
        print(f"  {line[:300]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load")
    add = parser.add_argument
    add("--visitors", type=int, default=50, metavar="N", help="at once (default %(default)s)")
    add("--minutes", type=float, default=5.0, metavar="M", help="of each round (default %(default)s)")
    add("--warm-up", type=int, default=2, metavar="N", help="rounds before those that count (default %(default)s)")
    add("--rounds", type=int, default=3, metavar="N", help="rounds that count (default %(default)s)")
    add("--pause", type=float, default=8.0, metavar="S", help="seconds between two things a visitor does, on average")
    add("--settle", type=float, default=5.0, metavar="S", help="seconds of rest before memory is read")
    add("--rest", type=float, default=0.0, metavar="S", help="seconds of rest at the end")
    add("--seed", type=int, default=7, metavar="S", help="of what the visitors do")
    add("--out", type=Path, metavar="FILE", help="the rounds as JSON")
    add("--keep", type=Path, metavar="FOLDER", help="where the server's log, diary and temporary files stay")
    args = parser.parse_args()
    if args.keep is not None:
        args.keep.mkdir(parents=True)
        found = asyncio.run(measure(args, args.keep))
    else:
        with tempfile.TemporaryDirectory(prefix="specviz-load-") as folder:
            found = asyncio.run(measure(args, Path(folder)))
    if args.out is not None:
        args.out.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
    wrong = sum(len(one.errors) + len(one.mixed_up) for one in found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

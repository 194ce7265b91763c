"""Visitors of a site that is nothing but files: how long a room full of them waits until each could run the models.

    python -m tests.load.files                  # 200 visitors at once
    python -m tests.load.files --visitors 20

Each does over HTTP what a browser does that opens `specviz site OUT --engine` for the first time and presses *Run
here*: it fetches the page, the engine's script, the manifest and every file that this names, checks each against its
hash as the worker does, and comes a second time, when only page, script and manifest are asked for. What the models
then compute is computed on the visitor's own machine and no part of it: `tests/js/engine_speed.js` measures that.
"""

import argparse
import hashlib
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from specviz.app.components.engine_files import MANIFEST, SCRIPT
from specviz.app.components.standalone import ENGINE
from specviz.app.runs.gallery import gallery
from specviz.app.site import write_site
from specviz.resources import ROOT

VISITORS = 200
PATIENCE_S = 600
PAGE = "index.html"


@dataclass(frozen=True, slots=True)
class Visit:
    """What one visitor met."""

    seconds: float
    """from the first request to the last byte of the first visit"""
    again_s: float
    """of the second visit"""
    bytes: int
    problems: tuple[str, ...]
    """what was not there, or not as it was sent"""


def visit(address: str) -> Visit:
    """Open the site at `address`, which ends in a slash, fetch what its engine needs, and come again."""
    problems: list[str] = []
    size = 0

    def fetched(name: str) -> bytes:
        nonlocal size
        try:
            with urlopen(address + name, timeout=PATIENCE_S) as answer:
                content: bytes = answer.read()
        except (URLError, OSError) as error:
            problems.append(f"{name}: {error}")
            return b""
        size += len(content)
        return content

    began = time.monotonic()
    manifest = opened(fetched)
    for file in manifest["files"]:
        content = fetched(f"{ENGINE}/{file['name']}?{file['sha256'][:16]}")
        if hashlib.sha256(content).hexdigest() != file["sha256"]:
            problems.append(f"{file['name']}: another checksum")
    there = time.monotonic()
    opened(fetched)
    return Visit(there - began, time.monotonic() - there, size, tuple(problems))


def opened(fetched: Any) -> dict[str, Any]:
    """The manifest, after page and script; one of no files where it cannot be had."""
    fetched(PAGE)
    fetched(SCRIPT)
    manifest: dict[str, Any] = json.loads(fetched(f"{ENGINE}/{MANIFEST}") or '{"files": []}')
    return manifest


class Files(SimpleHTTPRequestHandler):
    """A server with nothing but files."""

    def log_message(self, *said: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    """a room arrives at once"""
    daemon_threads = True


def serve(folder: str, address: Any) -> None:
    """Serve a folder for good; tells its port through the pipe `address`."""
    with Server(("127.0.0.1", 0), partial(Files, directory=folder)) as server:
        address.send(server.server_port)
        server.serve_forever()


def visits(folder: Path, visitors: int) -> list[Visit]:
    """Of so many visitors who come at once, to a server in a process of its own."""
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(str(folder), there), daemon=True)
    server.start()
    try:
        address = f"http://127.0.0.1:{here.recv()}/"
        with ThreadPoolExecutor(visitors) as room:
            return list(room.map(visit, [address] * visitors))
    finally:
        server.terminate()
        server.join()


def figures(met: Sequence[Visit]) -> str:
    """The figures, as docs/load.md has them."""
    seconds, again = [one.seconds for one in met], [one.again_s for one in met]
    problems = [problem for one in met for problem in one.problems]
    return (
        f"| {len(met)} | {sum(one.bytes for one in met) / len(met) / 1e6:.1f} | {median(seconds):.0f} | "
        f"{max(seconds):.0f} | {median(again):.2f} | {len(problems)} |" + "".join(f"\n{one}" for one in problems[:10])
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=VISITORS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site"
        write_site(site, gallery(ROOT / "traces"), ROOT / "sweeps", engine=True)
        sys.stdout.write(figures(visits(site, asked.visitors)) + "\n")


if __name__ == "__main__":
    main()

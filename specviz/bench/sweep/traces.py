"""A folder with one trace per run of a sweep, named after what was run.

Place in the flow: the sweep hands each finished run over; `specviz analyse FOLDER` reads them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path

from specviz.bench.sweep.runner import Keep
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.spec import run_key
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.files import replace_whole


def trace_keeper(folder: Path) -> Keep:
    """Writes each run into `folder`, which is made where it is not there. Raises OSError where it cannot be."""
    folder.mkdir(parents=True, exist_ok=True)

    def keep(point: SweepPoint, trace: Trace) -> None:
        codec.write(trace, folder / trace_name(point))

    return keep


def packed_keeper(folder: Path) -> Callable[[SweepPoint, bytes], None]:
    """The same for traces that come packed, from other processes."""
    folder.mkdir(parents=True, exist_ok=True)

    def keep(point: SweepPoint, content: bytes) -> None:
        replace_whole(folder / trace_name(point), content)

    return keep


def trace_name(point: SweepPoint) -> str:
    """`model-4-story-stormy-sophie-t0-r0-1f2e3d4c.json.gz`; the last part tells apart what the words leave alike."""
    key = run_key(point, point.prompt, point.repeat, point.temperature)
    words = [key[0], "" if point.gamma is None else str(point.gamma), point.prompt]
    words += [f"t{point.temperature:g}", f"r{point.repeat}", f"{zlib.crc32(repr(key).encode()):08x}"]
    return "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-") for word in words if word) + ".json.gz"

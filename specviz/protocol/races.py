"""A race: several runs on one prompt, plain decoding first, and how often which was how much faster. Reads and writes.

A race file is JSON, `.json` or `.json.gz`: the traces as they are, one label each, and the ratios of every repeat. Each
trace in it passes the same guard and rules as one that stands alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.errors import TraceError, shown
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.files import STANDARD, Limits, read_file, write_file
from specviz.trace.guard import json_of, text_of

FORMAT = "specviz-race"
VERSION = "1.0"
MOST_RUNNERS = 4


@dataclass(frozen=True, slots=True)
class Runner:
    """One who took part."""

    label: str
    trace: Trace
    """the run that is shown: of several, the one with the median engine time"""
    ratios: tuple[float, ...]
    """per repeat, tokens per second over those of plain decoding in the same repeat; empty where no time counts"""


@dataclass(frozen=True, slots=True)
class Race:
    runners: tuple[Runner, ...]
    """plain decoding first; never empty"""


def dumps(race: Race) -> str:
    """One line of ASCII JSON, the same for the same race."""
    runners = [
        {"label": runner.label, "ratios": runner.ratios, "trace": codec.to_data(runner.trace)}
        for runner in race.runners
    ]
    return json.dumps({"format": FORMAT, "version": VERSION, "runners": runners}, separators=(",", ":"))


def loads(content: str | bytes, limits: Limits = STANDARD) -> Race:
    """Raises TraceError with one sentence for whatever is no race of this version."""
    text = content if isinstance(content, str) else text_of(content, limits)
    data = json_of(text, limits)
    if data.get("format") != FORMAT:
        raise TraceError(f"this is no race: its format is not '{FORMAT}'; `specviz race --out FILE` writes one.")
    if data.get("version") != VERSION:
        raise TraceError(
            f"this race has the version {shown(data.get('version'))}, but {VERSION} is read; record it again."
        )
    entries = data.get("runners")
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_RUNNERS:
        raise TraceError(f"a race has 1 to {MOST_RUNNERS} runners, plain decoding first; record it again.")
    return Race(tuple(_runner(entry, limits) for entry in entries))


def _runner(entry: Any, limits: Limits) -> Runner:
    if not isinstance(entry, dict) or not isinstance(entry.get("label"), str):
        raise TraceError("a runner of this race has no label; record it again.")
    ratios = entry.get("ratios")
    if not isinstance(ratios, list) or not all(type(ratio) in (int, float) and ratio > 0 for ratio in ratios):
        raise TraceError(f"the ratios of {entry['label'][:40]!r} are no list of positive numbers; record it again.")
    trace = codec.loads(json.dumps(entry.get("trace")), limits)
    return Runner(entry["label"], trace, tuple(map(float, ratios)))


def read(path: Path, limits: Limits = STANDARD) -> Race:
    """A race file, gzip or not. Raises TraceError; the sentence begins with the file's name."""
    return read_file(path, lambda content: loads(content, limits), limits)


def write(race: Race, path: Path) -> None:
    """Write `.json` or `.json.gz`, by the suffix; the same race always gives the same bytes."""
    write_file(path, dumps(race), "a race")


def first_difference(trace: Trace, other: Trace) -> int | None:
    """The first place (from 0) at which two outputs differ, a missing token included; None: equal token for token."""
    a, b = trace.finished.output_ids, other.finished.output_ids
    if a == b:
        return None
    return next((index for index, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))

"""Traces by the hundred: files and folders from the command line, read one after the other.

Place in the flow: commands that look at many traces at once; a file that cannot be read stops none of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from specviz.errors import TraceError
from specviz.trace.events import Trace

INDEX = "index.json"
"""stands beside the recordings of a gallery and is no trace"""
SUFFIXES = (".json", ".json.gz")


def trace_files(places: Sequence[Path]) -> list[tuple[str, Path]]:
    """Name and file of each trace: files as they are, of folders all below them. Raises TraceError where a place is not
    there or holds none."""
    files: list[Path] = []
    for place in places:
        if place.is_dir():
            inside = [path for path in sorted(place.rglob("*.json*")) if path.is_file()]
            found = [path for path in inside if path.name.endswith(SUFFIXES) and path.name != INDEX]
            if not found:
                raise TraceError(f"there is no .json or .json.gz file in '{place}'; give a folder of traces.")
            files += found
        elif place.is_file():
            files.append(place)
        else:
            raise TraceError(f"there is no file or folder '{place}'; check the path.")
    short = [_stem(path) for path in files]
    names = [name if short.count(name) == 1 else str(path) for name, path in zip(short, files, strict=True)]
    return list(zip(names, files, strict=True))


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".json")


def readable(files: Sequence[tuple[str, Path]], refused: list[str]) -> Iterator[tuple[str, Trace]]:
    """Each trace with its name; of a file that cannot be read the sentence is added to `refused`."""
    from specviz.trace import codec

    for name, path in files:
        try:
            yield name, codec.read(path)
        except TraceError as error:
            refused.append(str(error))

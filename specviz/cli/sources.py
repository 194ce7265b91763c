"""Where commands get their runs from: the engine, which is named here alone, or trace files by the hundred.

The engine (and torch) is imported only when it is called. A file that cannot be read stops none of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.errors import TraceError
from specviz.protocol.runs import TraceSource
from specviz.trace.events import Trace

if TYPE_CHECKING:
    from specviz.lm.load import LoadedModel


def live_source(load: Callable[..., LoadedModel] | None = None, threads: int = 1, measure: bool = True) -> TraceSource:
    """The engine behind the protocol the page uses too. `load` replaces its way of loading models; `threads` are
    torch's, for the whole process from here on. Without `measure` headers carry no step times."""
    from specviz.live.source import LiveSource

    return LiveSource(load, measure, threads=threads)


class SharedModels:
    """Loads each model once and hands the same one to everyone who asks: the bench times the very models it runs."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[str, str], LoadedModel] = {}

    def __call__(self, name: str, **settings: Any) -> LoadedModel:
        from specviz.lm.load import load

        key = (name, repr(sorted(settings.items())))
        if key not in self._loaded:
            self._loaded[key] = load(name, **settings)
        return self._loaded[key]


INDEX = "index.json"
"""lies among the recordings of a gallery and is no trace"""
SUFFIXES = (".json", ".json.gz")


def trace_files(places: Sequence[Path]) -> list[tuple[str, Path]]:
    """Name and file of each trace: files as they are, of folders all below them. Raises TraceError where a place is not
    there or holds none."""
    files: list[Path] = []
    for given in places:
        if given.is_dir():
            inside = [path for path in sorted(given.rglob("*.json*")) if path.is_file()]
            found = [path for path in inside if path.name.endswith(SUFFIXES) and path.name != INDEX]
            if not found:
                raise TraceError(f"there is no .json or .json.gz file in '{given}'; give a folder of traces.")
            files += found
        elif given.is_file():
            files.append(given)
        else:
            raise TraceError(f"there is no file or folder '{given}'; check the path.")
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

"""Where commands get their live runs from: the one place that names the engine.

Place in the flow: called by `list`, `run`, `bench` and `record`; imports the engine (and torch) only when called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from specviz.protocol.runs import TraceSource

if TYPE_CHECKING:
    from specviz.lm.load import LoadedModel


def live_source(load: Callable[..., LoadedModel] | None = None, threads: int = 1) -> TraceSource:
    """The engine behind the protocol the page uses too. `load` replaces its way of loading models; `threads` are
    torch's, for the whole process from here on."""
    from specviz.live.source import LiveSource

    return LiveSource(load, threads=threads)


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

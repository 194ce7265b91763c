"""Where a loaded model came from, so that another process can load the same one.

A model's card names no folder of this machine; this does, and it stays in the process.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from specviz.lm.base import LanguageModel


@dataclass(frozen=True, slots=True)
class Origin:
    """The arguments of `lm.load.load` that give the model again."""

    name: str
    """bundled name, folder or hub id, as it was asked for"""
    device: str = "cpu"
    dtype: str = "float32"
    adapter: str = "auto"


_ORIGINS: WeakKeyDictionary[LanguageModel, Origin] = WeakKeyDictionary()


def remember(model: LanguageModel, origin: Origin) -> None:
    """Called by `load`."""
    _ORIGINS[model] = origin


def origin_of(model: LanguageModel) -> Origin | None:
    """None of a model that was made in memory, or that stands in for another one."""
    return _ORIGINS.get(model)

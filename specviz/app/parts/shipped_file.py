"""A measurement that is shipped as a file, for the fold that shows it: the page can do without any of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from specviz.resources import without

T = TypeVar("T")


def read_shipped(file: Path, read: Callable[[Path], T]) -> T | None:
    """What `read` makes of the file; None where there is none, or where it is damaged and left out."""
    return without(file, read, None) if file.is_file() else None

"""A measurement that is shipped as a file, for the fold that shows it: the page can do without any of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from specviz.errors import BenchError, TraceError

log = logging.getLogger(__name__)

T = TypeVar("T")


def read_shipped(file: Path, read: Callable[[Path], T], what: str) -> T | None:
    """What `read` makes of the file; None where there is none. A damaged one is only logged, under its name `what`."""
    if not file.is_file():
        return None
    try:
        return read(file)
    except (BenchError, TraceError):
        log.exception("%s cannot be shown", what)
        return None

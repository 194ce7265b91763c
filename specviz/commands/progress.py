"""Progress bars on standard error, where a terminal listens.

Place in the flow: long commands wrap their loops in it. Knows nothing about what they loop over.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """`items`, with a bar while they are consumed; silent when standard error is no terminal."""
    from tqdm import tqdm

    yield from tqdm(items, desc=label, total=total, file=sys.stderr, disable=not sys.stderr.isatty(), leave=False)

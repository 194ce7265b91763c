"""Progress bars on standard error, where a terminal listens.

Place in the flow: long commands wrap their loops in it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def bar(total: int, label: str, shown: bool = True) -> Any:
    """A tqdm bar to `update` and `close`; silent when not `shown` or when standard error is no terminal."""
    from tqdm import tqdm

    return tqdm(desc=label, total=total, file=sys.stderr, disable=not (shown and sys.stderr.isatty()), leave=False)


def progress(items: Iterable[T], label: str, total: int) -> Iterator[T]:
    """`items`, with a bar while they are consumed."""
    with bar(total, label) as shown:
        for item in items:
            yield item
            shown.update()

"""Where weights lie that compiled code reads: one after the other, on pages of 2 MB; and how large a cache is.

    parts of a weight ─ joined ─► one tensor, behind the one before it

A product of a few rows waits for memory, and processors lose their stride at the end of a page: from pages of 2 MB a
Zen 4 reads 31 GB a second, from those of 4 KB 18 to 26. Asked for before anything lies there, they take no longer to
get.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor

from specviz.core.compiled import library

LARGE_PAGE = 2 << 20
ROOM = 64 << 20
"""bytes taken at a time; where nobody has written, no memory is needed"""
LINE = 64
"""bytes that a processor's cache reads together"""

CACHE = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
"""where Linux says how much the cache holds that cores share, such as `32768K`"""


def shared_cache(stated: Path = CACHE) -> int:
    """Its bytes; where nobody says, the 32 MB of the Zen 4 on which passes were measured."""
    with suppress(OSError, ValueError):
        return int(stated.read_text().strip().removesuffix("K")) << 10
    return 32 << 20


class LargePages:
    """Memory for weights that a compiled pass reads, one after the other; it goes when the last of them does."""

    def __init__(self, source: Path) -> None:
        """`source`: the C file that multiplies by them."""
        self._source = source
        self._room = mmap.mmap(-1, mmap.PAGESIZE)
        self._next = self._end = 0
        """between which of its bytes there is nothing yet"""

    @torch.no_grad()
    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        """Tensors [some, in], one below the other. What no compiled code reads lies where torch puts it, and everything
        where the system has no large pages to ask for."""
        first, rows = parts[0], sum(map(len, parts))
        if first.device.type != "cpu" or library(self._source) is None or not hasattr(mmap, "MADV_HUGEPAGE"):
            return first if len(parts) == 1 else torch.cat(list(parts))
        count = rows * first.shape[1]
        size = count * first.element_size()
        if self._next + size > self._end:
            self._take(max(size, ROOM) + LARGE_PAGE)
        here = torch.frombuffer(self._room, dtype=first.dtype, count=count, offset=self._next).view(rows, -1)
        self._next += -(-size // LINE) * LINE
        return torch.cat(list(parts), out=here)

    def _take(self, size: int) -> None:
        """From the system, not from the C library, which hands out small pages that somebody has given back."""
        self._room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError):  # a system built without them
            self._room.madvise(mmap.MADV_HUGEPAGE)
        start = torch.frombuffer(self._room, dtype=torch.uint8, count=1).data_ptr()
        self._next, self._end = -start % LARGE_PAGE, size

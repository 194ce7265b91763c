"""Who sees whom in a draft tree, kept from pass to pass: the mask of the largest tree is built once and cut to size.

A tree that begins like a larger one has the top-left block of its mask, and a pass over some of its rows has the rows
of that block: "Improving Multi-candidate Speculative Decoding" (2409.10644, §3.2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
SHAPES = 4
"""masks kept at a time: a drafter's tree hangs from one or two new rows of text, a target's from one"""


class AncestorMasks:
    """Masks of the tree shapes of one run, the last used ones first."""

    def __init__(self) -> None:
        self._kept: list[tuple[tuple[int, ...], Mask]] = []
        self.built = 0
        """how many masks were not cut from another"""

    @property
    def largest(self) -> int:
        """Side of the largest mask that is kept."""
        return max((len(parents) for parents, _ in self._kept), default=0)

    def of(self, parents: Sequence[int]) -> Mask:
        """The mask [n, n] of a tree of n rows: True where row i sees row j, an ancestor or itself.

        `parents[i]` < i is a row of the tree; negative: the text above it. The answer is a view: not to be written to.
        """
        wanted, n = tuple(parents), len(parents)
        for place, (known, mask) in enumerate(self._kept):
            if known[:n] == wanted:
                self._kept.insert(0, self._kept.pop(place))
                return mask[:n, :n]
        begun = next((one for one in self._kept if wanted[: len(one[0])] == one[0]), None)
        mask = build(wanted)
        self.built += 1
        self._kept = [(wanted, mask), *(one for one in self._kept if one is not begun)][:SHAPES]
        return mask


def build(parents: Sequence[int]) -> Mask:
    """The mask from scratch: each row sees what its parent sees, and itself."""
    n = len(parents)
    mask = np.eye(n, dtype=np.bool_)
    for row, parent in enumerate(parents):
        if parent >= 0:
            mask[row] |= mask[parent]
    return mask

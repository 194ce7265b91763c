"""The order of a text's suffixes, by prefix doubling in numpy: O(n log n) per doubling, five doublings.

Suffixes are ordered by their first `COMPARED` tokens, which is more than anyone looks up; those that agree so far stand
in the order of the text.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

COMPARED = 32
"""tokens by which suffixes are told apart: the longest lookup and what is read after it fit in"""

Ids = npt.NDArray[np.integer]
Report = Callable[[str, int, int], None]
"""(what is being done, how much of it is done, of how much)"""


def order(tokens: Ids, report: Report) -> npt.NDArray[np.uint32]:
    """Start of every suffix of `tokens` [n], in order [n]; where a text ends it stands before all that go on.

    Prefix doubling (Manber and Myers 1993): ranks by 2k tokens from pairs of ranks by k.
    """
    rank = tokens.astype(np.int64)
    size, compared = len(rank), 1
    while True:
        pairs = rank * (int(rank.max(initial=0)) + 2)
        pairs[: size - compared] += rank[compared:] + 1
        found = np.argsort(pairs, kind="stable")
        ordered = pairs[found]
        compared *= 2
        report("sorting", compared, COMPARED)
        rank[found] = np.concatenate(([0], np.cumsum(ordered[1:] != ordered[:-1])))[:size]
        if compared >= COMPARED or compared >= size:
            return found.astype(np.uint32)

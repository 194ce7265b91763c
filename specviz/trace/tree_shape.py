"""The shape of a draft tree: what follows from its parents alone, and the shape as a list of paths.

From the parents: families, rows of a pass, and where nodes stand on a screen. As text a shape is its paths of ranks
from the root, such as `0; 1; 0,0; 0,1`: 0,1 is the second child of the first child of the root. Published static trees
(Medusa, EAGLE) are written so, as nested lists; both forms are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from specviz.errors import OptionError


def families_of(parents: Sequence[int]) -> list[list[int]]:
    """Per node its children, in the order of their ids; a parent of -1 is none."""
    families: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent >= 0:
            families[parent].append(node)
    return families


def rows_of(parents: Sequence[int], tokens: Sequence[int]) -> list[int]:
    """Per node its row in a pass over the tree: 0 for the root, and one row for nodes of the same text.

    Only i.i.d. siblings and candidates of several sources repeat a text; elsewhere row i is node i."""
    row_of: dict[tuple[int, int], int] = {}
    rows = [0]
    for parent, token in zip(parents[1:], tokens[1:], strict=True):
        rows.append(row_of.setdefault((rows[parent], token), 1 + len(row_of)))
    return rows


def tidy_layout(parents: Sequence[int], depths: Sequence[int]) -> list[tuple[float, float]]:
    """(x, y) per node: x is the depth, leaves take rows 0, 1, 2, … in depth-first order, a parent sits at
    the middle of its first and last child (Reingold-Tilford's idea at unit node size, no crossings)."""
    children = families_of(parents)
    rows = [0.0] * len(parents)
    next_row = 0.0
    stack = [0]
    preorder: list[int] = []
    while stack:
        node = stack.pop()
        preorder.append(node)
        stack.extend(reversed(children[node]))
        if not children[node]:
            rows[node] = next_row
            next_row += 1.0
    for node in reversed(preorder):
        if children[node]:
            rows[node] = (rows[children[node][0]] + rows[children[node][-1]]) / 2
    return [(float(depth), row) for depth, row in zip(depths, rows, strict=True)]


def touched_tiles(parents: Sequence[int], tile: int) -> int:
    """How many tile × tile blocks of the ancestor mask (a node sees itself and its ancestors) hold anything."""
    touched = set()
    for node in range(len(parents)):
        seen = node
        while seen >= 0:
            touched.add((node // tile, seen // tile))
            seen = parents[seen]
    return len(touched)


Path = tuple[int, ...]

MOST_CHARACTERS = 40_000
"""of a list; 512 paths of 32 ranks fit"""
FORM = "such as 0; 1; 0,0; 0,1 or [[0], [1], [0, 0], [0, 1]]"
_BRACKETED = re.compile(r"[\[(]([^\[\]()]*)[\])]")


def read_paths(text: str) -> tuple[Path, ...]:
    """The paths, level by level and by rank, whatever their order in the text.

    Raises OptionError, naming the path, where one is no list of ranks, stands twice, or hangs below one that is not in
    the list.
    """
    if len(text) > MOST_CHARACTERS:
        raise OptionError(f"paths has {len(text):,} characters, but at most {MOST_CHARACTERS:,} are read; list fewer.")
    paths = [_path(part) for part in _parts(text)]
    if not paths:
        raise OptionError(f"paths is empty; list at least one, {FORM}.")
    listed = set[Path]()
    for path in paths:
        if path in listed:
            raise OptionError(f"paths lists {written(path)} twice; keep it once.")
        listed.add(path)
    for path in paths:
        if path[:-1] and path[:-1] not in listed:
            raise OptionError(
                f"paths lists {written(path)}, but not {written(path[:-1])}, below which it hangs; add that, or leave "
                "this one out."
            )
    return tuple(sorted(paths, key=lambda path: (len(path), path)))


def gap(paths: Iterable[Path]) -> Path | None:
    """The first path that is missing between its siblings: a rank left out below a node. None: no rank is."""
    listed = set(paths)
    for path in sorted(listed, key=lambda path: (len(path), path)):
        for rank in range(path[-1]):
            if (*path[:-1], rank) not in listed:
                return (*path[:-1], rank)
    return None


def families(paths: Iterable[Path]) -> dict[Path, list[int]]:
    """Path → the ranks of its children, rising; the root is the empty path."""
    found: dict[Path, list[int]] = {}
    for path in sorted(paths):
        found.setdefault(path[:-1], []).append(path[-1])
    return found


def written(path: Path) -> str:
    return ",".join(map(str, path))


def _parts(text: str) -> list[str]:
    """One text per path."""
    if not re.search(r"[\[\]()]", text):
        return [part for part in re.split(r"[;\n]", text) if part.strip()]
    left = re.sub(r"[\[\]()\s,]", "", _BRACKETED.sub("", text))
    if left:
        raise OptionError(f"paths has '{left[:20]}' outside the lists, which is no path; write them {FORM}.")
    return [part for part in _BRACKETED.findall(text) if part.strip()]


def _path(part: str) -> Path:
    ranks = [rank.strip() for rank in part.strip().removesuffix(",").split(",")]
    wrong = next((rank for rank in ranks if not (rank.isascii() and rank.isdigit() and len(rank) < 6)), None)
    if wrong is not None:
        raise OptionError(
            f"paths has '{wrong[:20]}' in '{part.strip()[:40]}', which is no rank; ranks count from 0, and paths are "
            f"written {FORM}."
        )
    return tuple(map(int, ranks))

"""A draft's shape as text: a list of paths of ranks from the root, such as `0; 1; 0,0; 0,1`.

0,1 is the second child of the first child of the root. Published static trees (Medusa, EAGLE) are written so, as nested
lists; both forms are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from specviz.errors import OptionError

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


def paths_of(parents: Sequence[int]) -> list[Path]:
    """The shape of a tree: per node but the root its path, a child's rank being its place among its siblings."""
    paths: list[Path] = [()]
    children = [0] * len(parents)
    for parent in parents[1:]:
        paths.append((*paths[parent], children[parent]))
        children[parent] += 1
    return paths[1:]


def written(path: Path) -> str:
    return ",".join(map(str, path))


def paths_text(paths: Iterable[Path]) -> str:
    """The list as `read_paths` reads it."""
    return "; ".join(written(path) for path in paths)


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

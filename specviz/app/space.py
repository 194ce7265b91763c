"""The folder of a Hugging Face Space, of one of three kinds: what `specviz space` sends.

    zero, cpu ─► the program, its assets, the kind's card and requirements
    static    ─► what `specviz.app.site` writes, with the engine for the visitor's own browser

The kinds stand in `spaces_config.yaml`. Sends nothing.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz.app.learn import lessons_of
from specviz.app.page.settings import THUMBNAIL, body, front_matter, kind_of_space
from specviz.app.runs.gallery import gallery
from specviz.app.site import write_site
from specviz.errors import OptionError
from specviz.resources import INSTALLED, ROOT

ZERO, CPU, STATIC = KINDS = ("zero", "cpu", "static")
LARGE = 10_000_000
"""bytes of a file above which the hub keeps it in its storage of large files, where its client brings it by itself"""
PROGRAM = ("specviz", "assets")
BESIDE = ("app.py", "spaces_config.yaml", "LICENSE", "CITATION.cff", THUMBNAIL)
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "*.pyi")
NAME = re.compile(r"[A-Za-z0-9][\w-]*/[A-Za-z0-9][\w.-]*")
PACKAGE = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class SpaceFolder:
    """A folder that is ready to be sent."""

    kind: str
    path: Path
    files: tuple[tuple[str, int], ...]
    """path in the folder, bytes"""

    @property
    def size(self) -> int:
        return sum(size for _, size in self.files)

    @property
    def large(self) -> list[tuple[str, int]]:
        """What goes to the hub's storage of large files."""
        return [(name, size) for name, size in self.files if size > LARGE]

    def by_place(self) -> list[tuple[str, int, int]]:
        """What lies at the top, in folders or as a file: name, files, bytes; the largest first."""
        files, sizes = Counter[str](), Counter[str]()
        for name, size in self.files:
            top, below, _ = name.partition("/")
            files[top + below] += 1
            sizes[top + below] += size
        return [(name, files[name], size) for name, size in sizes.most_common()]


def write_space(kind: str, space: str, out: Path) -> SpaceFolder:
    """Write the folder of the Space `space` (owner/name) to `out`, a new or empty one.

    Raises OptionError for a name that is none, a folder that holds something, and where the program's own files are not
    at hand: an installed package lacks some.
    """
    if NAME.fullmatch(space) is None:
        raise OptionError(f"the Space is called {space[:80]!r}, but must be owner/name, such as ada/specviz.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OptionError(f"'{out}' is not empty; choose a new folder.")
    if kind == STATIC:
        site = gallery(ROOT / "traces")
        write_site(out, site, ROOT / "sweeps", json.loads(lessons_of(site)), engine=True)
        readme = (out / "README.md").read_text(encoding="utf-8")
        if not INSTALLED:
            _copy_beside(out, (THUMBNAIL,))
    else:
        if INSTALLED:
            raise OptionError(f"a Space of the kind {kind} is made from a clone of the repository; run this there.")
        _copy_program(out)
        (out / "requirements.txt").write_text(requirements_of(kind), encoding="utf-8")
        readme = (ROOT.parent / "README.md").read_text(encoding="utf-8")
    (out / "README.md").write_text(front_matter(kind, "" if INSTALLED else space) + body(readme), encoding="utf-8")
    files = sorted(path for path in out.rglob("*") if path.is_file())
    return SpaceFolder(kind, out, tuple((path.relative_to(out).as_posix(), path.stat().st_size) for path in files))


def requirements_of(kind: str) -> str:
    """`requirements.txt` with the kind's own lines in place of those of the same packages, and after them the rest."""
    lines = (ROOT.parent / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = {_package(line): line for line in kind_of_space(kind)["requirements"]}
    kept = [wanted.pop(_package(line), line) for line in lines]
    return "\n".join([*kept, *wanted.values(), ""])


def _package(line: str) -> str:
    name = PACKAGE.match(line)
    return name.group().lower() if name else ""


def _copy_program(out: Path) -> None:
    for name in PROGRAM:
        shutil.copytree(ROOT.parent / name, out / name, ignore=LEFT_OUT)
    _copy_beside(out, BESIDE)


def _copy_beside(out: Path, names: Sequence[str]) -> None:
    for name in names:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT.parent / name, out / name)


def summary(folder: SpaceFolder, space: str) -> Sequence[str]:
    """What would be sent, line by line."""
    kind = kind_of_space(folder.kind)
    card = front_matter(folder.kind, space)
    return [
        f"{space}: a Space of the kind {folder.kind}: {kind['says']}.",
        f"{len(folder.files)} files, {_megabytes(folder.size)}, from {folder.path}:",
        *(
            f"  {name:<24}{files:>5} {'file ' if files == 1 else 'files'}{_megabytes(size):>10}"
            for name, files, size in folder.by_place()
        ),
        *(f"  to the storage of large files: {name}, {_megabytes(size)}" for name, size in folder.large),
        "The card:",
        *(f"  {line}" for line in card.splitlines()[1:-1]),
    ]


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"

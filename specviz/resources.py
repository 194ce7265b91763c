"""Where the shipped files are: models, prompts, recorded traces, scripts and styles.

In the repository they lie in `assets/` at the top; a wheel carries the same folder inside the package. One that is
damaged is left out and named, so that the rest can be used; weights, in which a damage would not be seen, have a hash.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from specviz.errors import SpecVizError

log = logging.getLogger(__name__)
T = TypeVar("T")

_PACKAGE = Path(__file__).resolve().parent
INSTALLED = (_PACKAGE / "assets").is_dir()
"""whether this SpecViz was installed from a wheel and has no repository around it"""
ROOT = (_PACKAGE if INSTALLED else _PACKAGE.parent) / "assets"
SPACE_SETTINGS = (ROOT if INSTALLED else ROOT.parent) / "spaces_config.yaml"
ACCEPTANCE_VECTOR = "acceptance_vector.json"
"""how often each sibling is the accepted one, as `specviz bench vector` measured it on the bundled pair"""
RECORDINGS = "recordings.toml"
"""beside the recorded runs: what `specviz record` makes, with a comment where the text of a run is wrong"""


def asset_path(*parts: str) -> Path:
    """The path of a shipped file or folder. Raises SpecVizError where it is missing."""
    path = ROOT.joinpath(*parts)
    if not path.exists():
        raise SpecVizError(
            f"{Path('assets', *parts)} is missing, which SpecViz is shipped with; install it again, or restore the "
            "file in your clone with `git checkout assets`."
        )
    return path


LEFT_OUT: dict[str, str] = {}
"""shipped files that this process could not use → why"""
HASHES = "hashes.json"
"""sha256 of what is shipped and holds weights, or is read with them; written by `make generate`"""
HASHED = (
    "models/*/*.safetensors",
    "models/*/config.json",
    "models/*/tokenizer*.json",
    "modules/**/*",
    "stops/*.json",
    ACCEPTANCE_VECTOR,
    "skips.json",
)
DAMAGES = (
    OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, zlib.error,
    struct.error, SpecVizError,
)  # fmt: skip
"""what reading a damaged file raises, whatever is read"""


def without(path: Path, read: Callable[[Path], T], otherwise: T) -> T:
    """What `read` makes of a file that can be done without; `otherwise` where it is missing or damaged."""
    try:
        return read(path)
    except DAMAGES as error:
        leave_out(path, error)
        return otherwise


def leave_out(path: Path, error: Exception) -> None:
    """Say once, in the log and by `LEFT_OUT` on the page, that a file is not used."""
    why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    if path.is_relative_to(ROOT) and name in LEFT_OUT:
        return
    log.warning("%s is missing or damaged, and left out (%s)", name, why)
    if path.is_relative_to(ROOT):
        LEFT_OUT[name] = why


def read_json(path: Path) -> Any:
    """A shipped file's content. Raises SpecVizError in a sentence where it is missing or damaged."""
    if problem := altered(path):
        raise SpecVizError(problem)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SpecVizError(f"{path.name} cannot be read ({type(error).__name__}); {_RESTORE}") from error


def read_text(path: Path) -> str:
    """A shipped file that the page is made of. Raises SpecVizError in a sentence where it is missing or damaged."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecVizError(f"{path.name} cannot be read ({type(error).__name__}); {_RESTORE}") from error


_RESTORE = "restore it with `git checkout assets`, or install SpecViz again."


def altered(path: Path) -> str:
    """A sentence where a shipped file is not the one that was shipped; empty where it is, or where it is no such file.
    Hashed once per process for as long as it is not written to."""
    if not path.is_relative_to(ROOT) or not path.is_file():
        return ""
    name = path.relative_to(ROOT).as_posix()
    expected = _hashes().get(name)
    if expected is None or file_sha256(path) == expected:
        return ""
    return (
        f"assets/{name} is not the file that was shipped: it is damaged, or was made anew; {_RESTORE} Where you "
        "changed it on purpose, `make generate` takes it over."
    )


def file_sha256(path: Path) -> str:
    """Of a file's content, in hexadecimal; read once per process for as long as the file is not written to."""
    stat = path.stat()
    return _digest(path, stat.st_mtime_ns, stat.st_size)


@cache
def _digest(path: Path, written_at: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _hashes() -> dict[str, str]:
    return without(ROOT / HASHES, _read_hashes, {})


def _read_hashes(path: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise ValueError("no table of hashes")
    return found


def take_over(path: Path) -> None:
    """The shipped weights have been made anew at a file or folder: from now on these are the ones that are expected.
    For whoever writes them; what lies elsewhere has no hashes."""
    if path.resolve().is_relative_to(ROOT):
        (ROOT / HASHES).write_text(hashes_text(), encoding="utf-8")
        _hashes.cache_clear()


def hashes_text() -> str:
    """What `assets/hashes.json` must say of the files that are there."""
    files = sorted({path for pattern in HASHED for path in ROOT.glob(pattern) if path.is_file()})
    table = {file.relative_to(ROOT).as_posix(): file_sha256(file) for file in files}
    return json.dumps(table, indent=1) + "\n"


def cache_folder() -> Path:
    """`SPECVIZ_CACHE`, or the folder of the user's cache."""
    told = os.environ.get("SPECVIZ_CACHE")
    return Path(told) if told else Path.home() / ".cache" / "specviz"


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which becomes `folder` when all went well: that is there whole or not at all. Where
    another process was faster, its folder stays."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".unfinished-") as temporary:
        made = Path(temporary) / folder.name
        made.mkdir()
        yield made
        if not folder.is_dir():
            shutil.move(made, folder)

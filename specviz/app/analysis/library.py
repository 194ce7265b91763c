"""Where the traces of an analysis come from (the run on the stage, the page's recordings, a visitor's files and zips),
and how they are taken away: the tables of `Trace.tables` in one zip, a CSV file each, all runs one below the other.

A place is kept instead of the trace, so that an example can be opened long after the tables were counted. Lines of the
tables go to disk as they come, so that hundreds of traces are never in memory together. Text of models and files is
hostile: a cell that a spreadsheet would run gets a leading apostrophe.
"""

from __future__ import annotations

import csv
import lzma
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory, mkdtemp
from typing import Literal
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from specviz.app.form.request import Limits
from specviz.app.runs.gallery import Gallery, as_recorded, name_of
from specviz.app.runs.stage import pack, unpack
from specviz.errors import TraceError
from specviz.protocol.sweeps.store import cell
from specviz.scratch import scratch
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.exports.tables import COLUMNS, lines
from specviz.trace.files import SUFFIXES, UPLOAD
from specviz.trace.guard import text_of

MOST_TRACES = 300
MOST_NODES = 400_000
"""in all traces of one analysis; what comes after is left out, and said to be"""
END, LONG_END = b"PK\x05\x06", b"PK\x06\x07"
"""how a zip's last record begins, and the one before it in a zip of more than 65,535 members or 4 GB"""
LAST_RECORD, MOST_COMMENT = 22, 65_535
"""bytes of that record, and of the comment behind it"""
MOST_LIST = 200_000
"""bytes: 300 members, each with a long name, and their folders"""
SWEEP_ZIP = "failures.traces.zip.xz"
"""in assets/sweeps: `specviz bench sweep assets/sweeps/failures.toml --write-failures --zip-traces …` writes it"""
ON_STAGE = "the run in Watch"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one trace can be read again."""

    kind: Literal["stage", "recorded", "file"]
    key: str = ""
    """a file of the gallery, or a path"""
    member: str = ""
    """of a zip"""
    packed: bytes = b""
    """the run that was on the stage"""


@dataclass(frozen=True, slots=True)
class Named:
    """A trace under the name that examples and tables give it."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class Library:
    """Reads traces of this page and of strangers, the latter with the limits for them."""

    gallery: Gallery
    limits: Limits
    sweep: Path | None = None
    """the packed zip of the traces of the shipped sweep, where there is one"""

    def swept(self) -> list[Named]:
        """The runs of the shipped sweep. Raises TraceError where there are none, or they cannot be unpacked."""
        return self.files([str(_unpacked(self.sweep))] if self.sweep else [])

    def recorded(self, targets: Collection[str] | None = None) -> list[Named]:
        """Those of these targets; None: all."""
        cards = self.gallery.cards if targets is None else self.gallery.of(targets).cards
        return [Named(name_of(card.file), Place("recorded", card.file)) for card in cards]

    def stage(self, player: str) -> list[Named]:
        """Raises TraceError where nothing is on the stage."""
        if not player:
            raise TraceError("no run is on the stage; open or run one in Watch, or choose other runs here.")
        return [Named(ON_STAGE, Place("stage", packed=pack(player)))]

    def files(self, paths: Sequence[str]) -> list[Named]:
        """A trace per file and per member of a zip, each under a name of its own. Raises TraceError for a zip that
        cannot be read, or where there are none or too many."""
        found = [place for path in paths for place in self._places(path)]
        if not found:
            raise TraceError(f"these files hold no trace; choose {' or '.join(SUFFIXES)} files, or a zip of such.")
        if len(found) > MOST_TRACES:
            raise TraceError(f"these are {len(found)} traces, but at most {MOST_TRACES} are read at a time.")
        names = list(_distinct(_stem(place.member or place.key) for place in found))
        return [Named(name, place) for name, place in zip(names, found, strict=True)]

    def read(self, place: Place) -> Trace:
        """Raises TraceError with one sentence."""
        return self.measured(place)[0]

    def measured(self, place: Place) -> tuple[Trace, int]:
        """The trace, and the characters that a file unpacked to; 0 of the page's own. Raises TraceError."""
        if place.kind == "recorded":
            return self.gallery.read(place.key), 0
        if place.kind == "stage":
            return as_recorded(codec.loads(unpack(place.packed), UPLOAD)), 0
        text = text_of(self._content(place), UPLOAD)
        return as_recorded(codec.loads(text, UPLOAD)), len(text)

    def _places(self, path: str) -> Iterator[Place]:
        if not zipfile.is_zipfile(path):
            if path.endswith(SUFFIXES):
                yield Place("file", path)
            return
        if Path(path).stat().st_size > self.limits.zip_bytes:
            most = self.limits.zip_bytes / 1e6
            raise TraceError(f"{Path(path).name} is larger than the {most:g} MB of zip this machine takes.")
        try:
            check_list(Path(path))
            with zipfile.ZipFile(path) as archive:
                members = [one.filename for one in archive.infolist() if not one.is_dir()]
        except zipfile.BadZipFile:
            raise TraceError(f"{Path(path).name} is a damaged zip; pack the traces again.") from None
        yield from (Place("file", path, member) for member in members if member.endswith(SUFFIXES))

    def _content(self, place: Place) -> bytes:
        most = self.limits.import_bytes
        try:
            if not place.member:
                with Path(place.key).open("rb") as file:
                    content = file.read(most + 1)
            else:
                with zipfile.ZipFile(place.key) as archive, archive.open(place.member) as file:
                    content = file.read(most + 1)
        except OSError as error:
            raise TraceError(f"the file is gone ({error.strerror}); choose it again.") from None
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, KeyError, zlib.error, EOFError, lzma.LZMAError):
            raise TraceError(
                "this member of the zip cannot be unpacked; it is damaged, or it has a password."
            ) from None
        if len(content) > most:
            raise TraceError(f"it is larger than the {most / 1e6:g} MB this machine takes.")
        return content


def check_list(path: Path) -> None:
    """Raises TraceError for a zip whose list of members is longer than what a zip of traces has: to read it alone would
    take seconds and hundreds of megabytes. The list's length stands in the zip's last record (APPNOTE 4.3.16)."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - len(LONG_END) - LAST_RECORD - MOST_COMMENT))
        tail = file.read()
    at = tail.rfind(END)
    listed = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if listed > MOST_LIST or LONG_END in tail[:at]:
        raise TraceError(f"{path.name} lists more members than {MOST_TRACES} traces need; pack the traces alone.")


def shipped(folder: Path) -> Path | None:
    """The packed zip of the shipped sweep's traces in the folder of sweeps; None where there is none."""
    path = folder / SWEEP_ZIP
    return path if path.is_file() else None


@cache
def _unpacked(packed: Path) -> Path:
    """The zip, in a folder of this process: its traces repeat each other, so it is packed as a whole."""
    path = Path(mkdtemp(dir=scratch())) / packed.stem
    try:
        with lzma.open(packed) as source, path.open("wb") as target:
            copyfileobj(source, target)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise TraceError(f"{packed.name} cannot be unpacked ({error}); restore it.") from None
    return path


def _stem(path: str) -> str:
    name = Path(path).name
    return next((name.removesuffix(end) for end in reversed(SUFFIXES) if name.endswith(end)), name)


def _distinct(names: Iterable[str]) -> Iterator[str]:
    """The same name again gets a number."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


# --- tables to take away ---------------------------------------------------------------------------------------------


ZIP = "specviz-analysis.zip"
NAME = "trace"
"""the first column: what the page calls the trace; `run` is the id that stands in it, which two files may share"""
TERMS = "trials"
"""the table that has a column per named term of the verifiers"""


def table_files() -> list[str]:
    """Of the files in the zip."""
    return [f"{table}.csv" for table in COLUMNS]


def tables_zip(named: Iterable[tuple[str, Trace]], terms: Sequence[str]) -> bytes:
    """The zip; equal traces give equal bytes. `terms`: every column that `term_columns` names for one of the traces.
    Raises TraceError where a trace cannot be read."""
    columns = {table: [NAME, *own, *(terms if table == TERMS else ())] for table, own in COLUMNS.items()}
    with TemporaryDirectory(prefix="specviz-tables-") as folder:
        files = {table: Path(folder) / f"{table}.csv" for table in columns}
        _write(named, columns, files)
        packed = BytesIO()
        with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
            for path in files.values():
                with path.open("rb") as source, archive.open(_member(path), "w") as target:
                    while piece := source.read(1 << 20):
                        target.write(piece)
        return packed.getvalue()


def _member(path: Path) -> ZipInfo:
    """Without the moment of writing, which would make every zip another one."""
    member = ZipInfo(path.name)
    member.compress_type = ZIP_DEFLATED
    return member


def _write(named: Iterable[tuple[str, Trace]], columns: dict[str, list[str]], files: dict[str, Path]) -> None:
    with ExitStack() as stack:
        writers = {}
        for table, path in files.items():
            file = stack.enter_context(path.open("w", encoding="utf-8", newline=""))
            writers[table] = csv.DictWriter(file, columns[table], lineterminator="\n")
            writers[table].writer.writerow(map(cell, columns[table]))
        for name, trace in named:
            for table, rows in lines(trace).items():
                writers[table].writerows(
                    {NAME: cell(name), **{column: cell(value) for column, value in row.items()}} for row in rows
                )

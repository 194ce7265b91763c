"""The counted runs as tables in one zip: those of `Trace.tables`, a CSV file each, all runs one below the other.

Place in the flow: traces → bytes. Lines go to disk as they come, so that hundreds of traces are never in memory
together. Text of models and files is hostile: a cell that a spreadsheet would run gets a leading apostrophe.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from specviz.protocol.sweeps.store import cell
from specviz.trace.events import Trace
from specviz.trace.exports.tables import COLUMNS, lines

ZIP = "specviz-analysis.zip"
NAME = "trace"
"""the first column: what the page calls the trace; `run` is the id that stands in it, which two files may share"""
TERMS = "trials"
"""the table that has a column per named term of the verifiers"""


def names() -> list[str]:
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

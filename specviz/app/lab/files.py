"""A chart's numbers as CSV."""

from __future__ import annotations

import csv
import io

from specviz.app.lab.cases import Rows


def rows_csv(rows: Rows) -> str:
    """A header and one line per row; empty for no rows. Spreadsheets run cells that begin like a formula: such text
    gets a leading apostrophe."""
    text = io.StringIO()
    if rows:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([[_cell(value) for value in row.values()] for row in rows])
    return text.getvalue()


def _cell(value: object) -> object:
    return "'" + value if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value

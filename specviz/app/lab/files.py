"""A chart's numbers as CSV."""

from __future__ import annotations

import csv
import io

from specviz.app.lab.cases import Rows
from specviz.protocol.sweeps.csv_file import cell


def rows_csv(rows: Rows) -> str:
    """A header and one line per row; empty for no rows. Spreadsheets run cells that begin like a formula: such text
    gets a leading apostrophe."""
    text = io.StringIO()
    if rows:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([[cell(value) for value in row.values()] for row in rows])
    return text.getvalue()

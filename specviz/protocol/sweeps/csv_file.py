"""A sweep's points as a CSV file with one line per run; the whole JSON is `specviz.protocol.sweeps.store`'s."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import fields

from specviz.protocol.sweeps.points import Policies, RunCost, SweepPoint

LEFT_OUT = ("step_times", "policies", "accepted_lengths", "by_depth", "levels", "cost")
"""nested fields; the JSON has them"""
FORMULA = tuple("=+-@\t\r\n＝＋－＠")
"""how a cell begins that a spreadsheet runs; the full-width signs too, where the spreadsheet's language has them"""


def sweep_csv(points: Sequence[SweepPoint]) -> str:
    """A header first; options stand as JSON in one cell."""
    columns = [column.name for column in fields(SweepPoint) if column.name not in LEFT_OUT]
    policies, costs = ([column.name for column in fields(kind)] for kind in (Policies, RunCost))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, *policies, *costs])
    for point in points:
        cells = [getattr(point, name) for name in columns]
        cells += [getattr(point.policies, name) for name in policies]
        cells += [getattr(point.cost, name) for name in costs]
        writer.writerow(list(map(cell, cells)))
    return text.getvalue()


def cell(value: object) -> object:
    """A value as a cell. Spreadsheets run cells that begin like a formula: such text gets a leading apostrophe."""
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return value

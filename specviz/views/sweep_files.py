"""A sweep's points as files: JSON with everything, CSV with one line per run.

Knows nothing about the page.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, fields

from specviz.bench.points import SweepPoint, summarise

LEFT_OUT = ("options", "step_times", "policies", "accepted_lengths", "by_depth", "levels", "cost")
"""nested fields; the JSON has them"""


def sweep_json(points: Sequence[SweepPoint]) -> str:
    """Rows (medians, quartiles) and every run."""
    content = {
        "kind": "specviz-sweep",
        "clock": "engine time: drafting, target pass, judging, committing",
        "rows": [asdict(row) for row in summarise(points)],
        "runs": [asdict(point) for point in points],
    }
    return json.dumps(content, indent=1, default=dict)


def sweep_csv(points: Sequence[SweepPoint]) -> str:
    """One line per run, a header first."""
    columns = [column.name for column in fields(SweepPoint) if column.name not in LEFT_OUT]
    policies = ("growth", "stopping")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, *policies])
    for point in points:
        chosen = [getattr(point.policies, name) for name in policies]
        writer.writerow([_cell(value) for value in (*(getattr(point, column) for column in columns), *chosen)])
    return text.getvalue()


def _cell(value: object) -> object:
    """Spreadsheets run cells that begin like a formula: such text gets a leading apostrophe."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value

"""Which test catches which planted bug, read from the tests themselves; `make generate` puts it into the docs.

A test plants a bug if it carries the mark `planted`, which names the kind, or stands in a file `test_planted_bugs.py`.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from specviz.proof.document import table
from specviz.proof.planted import BUGS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "losslessness.md"
FROM_TABLE = "test_a_bug_of_the_table_is_caught"


class Planted(NamedTuple):
    kind: str
    """empty: a bug of one rule alone"""
    bug: str
    test: str


@cache
def planted() -> tuple[Planted, ...]:
    """All of them, file by file; a bug of the table by its name."""
    return tuple(_planted())


def _planted() -> Iterator[Planted]:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        place, code = path.relative_to(ROOT), path.read_text(encoding="utf-8")
        if path.name != "test_planted_bugs.py" and "pytest.mark.planted(" not in code:
            continue  # not even parsed
        for node in ast.parse(code).body:
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            kind = _kind(node)
            if node.name == FROM_TABLE:
                yield from (Planted(bug.name, bug.summary, f"{place}::{node.name}[{bug.name}]") for bug in BUGS)
            elif kind or (path.name == "test_planted_bugs.py" and "monkeypatch" in [one.arg for one in node.args.args]):
                yield Planted(kind, node.name.removeprefix("test_").replace("_", " "), f"{place}::{node.name}")


def _kind(node: ast.FunctionDef) -> str:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.planted":
            return str(ast.literal_eval(mark.args[0]))
    return ""


def section() -> str:
    """The table for the docs: kinds first, together."""
    found = sorted(planted(), key=lambda one: (one.kind == "", one.kind))
    lines = [[one.kind or "of one rule", one.bug, f"`{one.test.removeprefix('tests/')}`"] for one in found]
    return table(["kind", "bug", "caught by (in `tests/`)"], lines)

"""Measured tables in the documentation: they stand between two marks and are written by the command that measured them.

Knows nothing about what is in them.
"""

from __future__ import annotations

from pathlib import Path

from specviz.errors import BenchError


def check_marks(page: Path, name: str) -> None:
    """Raises BenchError where the marks are missing: asked before a long measurement, not after it."""
    _parts(page, name)


def write_between(page: Path, name: str, text: str) -> None:
    """Put `text` between `<!-- name -->` and `<!-- /name -->` of a page. Raises BenchError where they are missing."""
    head, tail = _parts(page, name)
    page.write_text(f"{head}<!-- {name} -->\n{text.rstrip()}\n<!-- /{name} -->{tail}", encoding="utf-8")


def _parts(page: Path, name: str) -> tuple[str, str]:
    """What stands before and after the marked part."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise BenchError(
            f"{page.name} has no place for the tables, which stand between '{begin.strip()}' and '{end}'; "
            "give a page that has these marks."
        )
    return head, tail

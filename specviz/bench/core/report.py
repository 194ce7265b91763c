"""How reports are written: tables in Markdown, plain data for JSON, and the place of tables in the documentation.

Place in the flow: every experiment's `table.py` puts its report together from these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from specviz.errors import BenchError
from specviz.protocol.sweeps.intervals import Estimate
from specviz.protocol.sweeps.points import Quartiles

DASH = "–"


def plain_data(value: Any) -> Any:
    """Dicts and lists all the way down, for JSON: dataclasses and named tuples by the names of their fields."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain_data(one) for name, one in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: plain_data(one) for name, one in value.items()}
    return [plain_data(one) for one in value] if isinstance(value, list | tuple) else value


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]], words: int = 1) -> str:
    """A table whose first `words` columns are words and whose others are numbers."""
    lines = [head, [*["---"] * words, *["---:"] * (len(head) - words)], *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def spread(value: Quartiles | None) -> str:
    """The median with its quartiles."""
    return DASH if value is None else f"{value.median:.2f} [{value.low:.2f}–{value.high:.2f}]"


def with_interval(estimate: Estimate | None, digits: int = 2) -> str:
    """The value with its interval."""
    if estimate is None:
        return DASH
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}–{estimate.high:.{digits}f}]"


def value_of(estimate: Estimate | None, form: str = "{:.2f}") -> str:
    """The value alone, where a table has no room for more."""
    return or_dash(None if estimate is None else estimate.value, form)


def or_dash(value: float | None, form: str) -> str:
    """The number in that form, or a dash where there is none."""
    return DASH if value is None else form.format(value)


def check_section(page: Path, name: str) -> None:
    """Raises BenchError where the comments are missing: asked before a long measurement, not after it."""
    _parts(page, name)


def write_between(page: Path, name: str, text: str) -> None:
    """Put `text` between `<!-- name -->` and `<!-- /name -->` of a page. Raises BenchError where they are missing."""
    head, tail = _parts(page, name)
    page.write_text(f"{head}<!-- {name} -->\n{text.rstrip()}\n<!-- /{name} -->{tail}", encoding="utf-8")


def between(page: Path, name: str) -> str:
    """What stands between the marks. Raises BenchError where they are missing."""
    head, tail = _parts(page, name)
    text = page.read_text(encoding="utf-8")
    return text[len(head) : len(text) - len(tail)].removeprefix(f"<!-- {name} -->\n").removesuffix(f"<!-- /{name} -->")


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

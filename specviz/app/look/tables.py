"""Tables as HTML whose rows become blocks on a phone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def blocks_table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Heads and caption are text; cells are HTML, escaped by whoever wrote them."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(f"<tr>{_cells(heads, row)}</tr>" for row in rows)
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    inner = f"{told}<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="sv-table-scroll" tabindex="0"><table class="sv-table sv-blocks">{inner}</table></div>'


def _cells(heads: Sequence[str], row: Sequence[str]) -> str:
    return "".join(
        f'<td data-column="{escape(head, quote=True)}">{cell}</td>' for head, cell in zip(heads, row, strict=True)
    )

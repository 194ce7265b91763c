"""A matrix of followers as it stands after a run, token by token, with what each row was learnt from: cold or hot.

Put together from the exhibits of a trace. Every text goes through `html.escape`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from specviz.trace.events import Round, Trace, VocabEntry
from specviz.trace.exhibits import MATRIX_AT_START, MATRIX_BEHIND, MATRIX_REWRITTEN, Exhibit

EARLIER = "before this run's rounds"
"""where a row comes from that older recordings show only where it was used"""
PAGE = 50
MOST = 1000
"""rows on the page"""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    token: int
    followers: tuple[int, ...]
    """most probable first"""
    origin: str
    """`from earlier runs`, `from the prompt`, `round 3`"""


@dataclass(frozen=True, slots=True)
class Matrix:
    """All rows that the trace tells of, as they stand after the last round."""

    rows: tuple[MatrixRow, ...]
    """by token id"""
    size_bytes: int
    """of the whole matrix, known rows or not"""
    hot: bool
    """it began with what earlier runs left"""
    known_at_start: int
    """rows known when the first round began"""

    def count(self, origin: str) -> int:
        return sum(row.origin == origin for row in self.rows)


def matrix_of(trace: Trace) -> Matrix | None:
    """The matrix after the run; None for a run that shows none."""
    rows: dict[int, MatrixRow] = {}
    for this in trace.rounds:
        for exhibit in this.drafted.knew:
            for token, followers, origin in _known(exhibit, this):
                rows.setdefault(token, MatrixRow(token, followers, origin))
        for exhibit in this.drafted.learned:
            if exhibit.title == MATRIX_REWRITTEN:
                for row in (one for one in exhibit.rows if one.nodes):
                    token = this.nodes[row.nodes[0]].token
                    rows[token] = MatrixRow(token, tuple(row.tokens), f"round {this.index}")
    if not rows:
        return None
    note = trace.rounds[0].drafted.note
    size, known = note.get("matrix_bytes"), note.get("rows_known")
    return Matrix(
        tuple(rows[token] for token in sorted(rows)),
        size if isinstance(size, int) else 0,
        trace.started.memory is not None,
        known if isinstance(known, int) else 0,
    )


def _known(exhibit: Exhibit, this: Round) -> list[tuple[int, tuple[int, ...], str]]:
    """(token, followers, origin) of the rows that were known before the round."""
    if exhibit.title == MATRIX_AT_START:
        return [(row.tokens[0], tuple(row.tokens[1:]), row.label) for row in exhibit.rows if row.tokens]
    if exhibit.title == MATRIX_BEHIND:
        made = [(this.nodes[row.nodes[0]], row) for row in exhibit.rows if row.nodes and row.nodes[0] > 0]
        return [(this.nodes[node.parent].token, tuple(row.tokens), EARLIER) for node, row in made]
    return []


# --- the table -------------------------------------------------------------------------------------------------------


def matrix_table(matrix: Matrix | None, vocab: Mapping[str, VocabEntry]) -> str:
    """The matrix in pages of rows that open one by one; nothing where there is none."""
    if matrix is None:
        return ""
    shown = matrix.rows[:MOST]
    pages = "".join(_page(shown[at : at + PAGE], at, vocab) for at in range(0, len(shown), PAGE))
    left = len(matrix.rows) - len(shown)
    rest = f'<p class="sv-panel-axis">and {left:,} more rows</p>' if left else ""
    return (
        '<figure class="sv-panel sv-matrix"><figcaption class="sv-panel-title">The matrix after the run: token → '
        f'followers</figcaption><p class="sv-panel-axis">{escape(summary_of(matrix))}</p>{pages}{rest}</figure>'
    )


def summary_of(matrix: Matrix) -> str:
    """How much is known, how it began, and where the rows come from."""
    began = "hot start, with what earlier runs left" if matrix.hot else "cold start"
    origins = [row.origin for row in matrix.rows]
    rounds = sum(origin.startswith("round ") for origin in origins)
    parts = [
        f"{matrix.count(origin):,} {origin}"
        for origin in ("from earlier runs", "from the prompt", EARLIER)
        if matrix.count(origin)
    ]
    return (
        f"{began}: {matrix.known_at_start:,} rows known before the first round; {len(matrix.rows):,} shown here, of "
        f"which {', '.join([*parts, f'{rounds:,} written last by a round'])}. The whole matrix takes "
        f"{matrix.size_bytes:,} bytes."
    )


def _page(rows: tuple[MatrixRow, ...], first: int, vocab: Mapping[str, VocabEntry]) -> str:
    lines = "".join(
        f"<tr><th scope=row><code>{_text(row.token, vocab)}</code></th><td>"
        f"{' '.join(f'<code>{_text(token, vocab)}</code>' for token in row.followers)}</td>"
        f"<td>{escape(row.origin)}</td></tr>"
        for row in rows
    )
    head = "<tr><th scope=col>token</th><th scope=col>followers, likeliest first</th><th scope=col>learnt</th></tr>"
    return (
        f"<details{'' if first else ' open'}><summary>rows {first + 1:,} to {first + len(rows):,}</summary>"
        f'<div class="sv-panel-scroll"><table><thead>{head}</thead><tbody>{lines}</tbody></table></div></details>'
    )


def _text(token: int, vocab: Mapping[str, VocabEntry]) -> str:
    entry = vocab.get(str(token))
    text = entry.text if entry is not None else f"<{token}>"
    return escape(text.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥"))

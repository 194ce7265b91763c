"""A run as a whole, as panels below the player: how much of the draft survived, by depth and per round; how a parallel
decoding converged, iterations down and positions of the text across; and a matrix of followers as it stands after the
run, token by token, with what each row was learnt from.

SVG and HTML, light enough to stand there without loading a chart library; every text goes through `html.escape`. Reads
traces and their exhibits; the numbers are defined in `theory/metrics.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from specviz.theory import metrics
from specviz.trace.events import Round, Trace, VocabEntry
from specviz.trace.header import ITERATIONS, MATRIX_AT_START, MATRIX_BEHIND, MATRIX_REWRITTEN, Exhibit


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: `height` in [0, 1] of the panel, `value` as printed above it, `explanation` for hover and readers."""

    label: str
    height: float
    value: str
    explanation: str


@dataclass(frozen=True, slots=True)
class BarPanel:
    title: str
    axis: str
    bars: tuple[Bar, ...]
    empty: str
    """what to say where there is nothing to draw"""


NOTHING_DRAFTED = "Nothing was drafted in this run, so there is nothing to accept: this is plain decoding."


def acceptance_by_depth(rounds: Sequence[Round]) -> BarPanel:
    """Per depth: rounds that accepted it / rounds that drafted to it."""
    bars = []
    for depth, (drafted, accepted) in enumerate(metrics.acceptance_by_depth(rounds), start=1):
        share = accepted / drafted if drafted else 0.0
        bars.append(
            Bar(
                str(depth),
                share,
                f"{share:.2f}",
                f"depth {depth}: accepted in {accepted} of {drafted} rounds that drafted it",
            )
        )
    return BarPanel("Accepted, by depth in the draft", "depth", tuple(bars), NOTHING_DRAFTED)


def accepted_lengths(rounds: Sequence[Round]) -> BarPanel:
    """Per number of accepted tokens: how many rounds ended with it."""
    counts, steps = metrics.acceptance_histogram(rounds), metrics.num_spec_steps(rounds)
    most = max(counts, default=0)
    bars = tuple(
        Bar(
            str(length),
            count / most if most else 0.0,
            str(count),
            f"{count} of {steps} rounds accepted {length}",
        )
        for length, count in enumerate(counts)
    )
    return BarPanel("Tokens accepted per round", "accepted tokens", bars, NOTHING_DRAFTED)


BAR = 26
GAP = 10
HEIGHT = 96
ABOVE = 16
BELOW = 18


def bar_panels(panels: list[BarPanel]) -> str:
    """All panels side by side, as one HTML string."""
    return f'<div class="sv-panels">{"".join(_panel(panel) for panel in panels)}</div>'


def _panel(panel: BarPanel) -> str:
    title = f'<figcaption class="sv-panel-title">{escape(panel.title)}</figcaption>'
    if not panel.bars:
        return f'<figure class="sv-panel">{title}<p class="sv-panel-empty">{escape(panel.empty)}</p></figure>'
    axis = f'<p class="sv-panel-axis">{escape(panel.axis)}</p>'
    return f'<figure class="sv-panel">{title}<div class="sv-panel-scroll">{_chart(panel)}</div>{axis}</figure>'


def _chart(panel: BarPanel) -> str:
    width, height, floor = GAP + len(panel.bars) * (BAR + GAP), ABOVE + HEIGHT + BELOW, ABOVE + HEIGHT
    label = escape(f"{panel.title}: " + "; ".join(bar.explanation for bar in panel.bars), quote=True)
    bars = "".join(_bar(index, bar) for index, bar in enumerate(panel.bars))
    return (
        f'<svg role="img" aria-label="{label}" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<line class="sv-bar-axis" x1="0" x2="{width}" y1="{floor}" y2="{floor}"/>{bars}</svg>'
    )


def _bar(place: int, bar: Bar) -> str:
    x = GAP + place * (BAR + GAP)
    height = max(1.0, HEIGHT * bar.height)
    y, middle, floor = ABOVE + HEIGHT - height, x + BAR / 2, ABOVE + HEIGHT
    return (
        f"<g><title>{escape(bar.explanation)}</title>"
        f'<rect class="sv-bar" x="{x}" y="{y:.1f}" width="{BAR}" height="{height:.1f}" rx="2"/>'
        f'<text class="sv-bar-value" x="{middle}" y="{y - 4:.1f}" text-anchor="middle">{escape(bar.value)}</text>'
        f'<text class="sv-bar-label" x="{middle}" y="{floor + 14}" text-anchor="middle">{escape(bar.label)}</text>'
        "</g>"
    )


# --- iterations ------------------------------------------------------------------------------------------------------


State = Literal["final", "frozen", "right", "wrong", "last"]
WORDS: Mapping[State, str] = {
    "final": "final before this iteration",
    "frozen": "frozen: a right guess after a right prefix",
    "last": "the token that ends the iteration",
    "right": "a right guess, but after a wrong one",
    "wrong": "guessed wrong",
}
CELL, LEFT, TOP = 16, 34, 18
MOST_ITERATIONS = 200
"""iterations drawn"""


@dataclass(frozen=True, slots=True)
class Cell:
    """One position in one iteration."""

    position: int
    """in the output, from 0"""
    state: State
    text: str
    """the guess, or the token"""


@dataclass(frozen=True, slots=True)
class Iteration:
    """One target pass."""

    number: int
    """1, 2, …"""
    final: int
    """so many positions were final before it"""
    cells: tuple[Cell, ...]
    """what was guessed, by position; where every guess was right, the token that ends the iteration too"""


def iterations(trace: Trace) -> list[Iteration]:
    """The run iteration by iteration; empty where it shows no iterations.

    A guess is right where it is the token that the output has there in the end, and wrong where it is not or the text
    ended before.
    """
    if not any(exhibit.title == ITERATIONS for this in trace.rounds for exhibit in this.drafted.learned):
        return []
    return [_iteration(trace, this) for this in trace.rounds]


def _iteration(trace: Trace, this: Round) -> Iteration:
    output, base = trace.finished.output_ids, max(0, this.base_length - len(trace.started.prompt_ids))
    frozen, cells = len(this.judged.path), list[Cell]()
    for index, node in enumerate(this.nodes[1:], start=base):
        right = index < len(output) and output[index] == node.token
        state: State = "frozen" if index < base + frozen else "right" if right else "wrong"
        cells.append(Cell(index, state, _guess(trace.vocab, node.token)))
    after = base + frozen
    if frozen == len(this.nodes) - 1 and after < len(output):
        cells.append(Cell(after, "last", _guess(trace.vocab, output[after])))
    return Iteration(this.index + 1, base, tuple(cells))


def _guess(vocab: Mapping[str, VocabEntry], token: int) -> str:
    entry = vocab.get(str(token))
    return entry.text if entry is not None else f"<{token}>"


# --- the picture -----------------------------------------------------------------------------------------------------


def heat_map(found: Sequence[Iteration]) -> str:
    """The iterations as SVG with its key; nothing where there are none."""
    if not found:
        return ""
    cells = [cell for iteration in found for cell in iteration.cells]
    wide = 1 + max((cell.position for cell in cells), default=0)
    guessed = sum(cell.state != "last" for cell in cells)
    frozen = sum(cell.state == "frozen" for cell in cells)
    told = f"{len(found)} iterations over {wide} positions: {frozen} of {guessed} guesses were frozen"
    shown = found[:MOST_ITERATIONS]
    if len(found) > len(shown):
        told += f"; the first {len(shown)} iterations are drawn"
    width, height = LEFT + CELL * wide, TOP + CELL * len(shown)
    key = "".join(
        f'<span><svg width="12" height="12" aria-hidden="true"><rect class="sv-heat-{state}" width="12" height="12"/>'
        f"</svg> {escape(words)}</span>"
        for state, words in WORDS.items()
    )
    rows = "".join(map(_iteration_row, shown))
    return (
        '<figure class="sv-panel"><figcaption class="sv-panel-title">Convergence: iterations × positions</figcaption>'
        f'<p class="sv-panel-axis">{escape(told)}. Down: iterations, one target pass each; across: positions of the '
        f'output.</p><div class="sv-panel-scroll"><svg role="img" aria-label="{escape(told)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}">{_across(wide)}{rows}</svg></div>'
        f'<p class="sv-panel-axis sv-heat-key">{key}</p></figure>'
    )


def _across(wide: int) -> str:
    places = [(LEFT + CELL * at + CELL / 2, at + 1) for at in range(0, wide, 5)]
    return "".join(
        f'<text class="sv-bar-label" x="{x}" y="{TOP - 5}" text-anchor="middle">{number}</text>' for x, number in places
    )


def _iteration_row(iteration: Iteration) -> str:
    y = TOP + CELL * (iteration.number - 1)
    label = f'<text class="sv-bar-label" x="{LEFT - 5}" y="{y + 12}" text-anchor="end">{iteration.number}</text>'
    final = _box(
        "final",
        0,
        y,
        iteration.final,
        f"iteration {iteration.number}: {iteration.final} positions were final before it",
    )
    return (
        label
        + final
        + "".join(
            _box(
                cell.state,
                cell.position,
                y,
                1,
                f"iteration {iteration.number}, position {cell.position + 1}: {cell.text!r}, {WORDS[cell.state]}",
            )
            for cell in iteration.cells
        )
    )


def _box(state: State, position: int, y: int, positions: int, told: str) -> str:
    if not positions:
        return ""
    return (
        f'<rect class="sv-heat-{state}" x="{LEFT + CELL * position}" y="{y}" width="{CELL * positions - 1}" '
        f'height="{CELL - 1}"><title>{escape(told)}</title></rect>'
    )


# --- the matrix of followers -----------------------------------------------------------------------------------------


EARLIER = "before this run's rounds"
"""where a row comes from that older recordings show only where it was used"""
PAGE = 50
MOST_ROWS = 1000
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
    shown = matrix.rows[:MOST_ROWS]
    pages = "".join(_rows_page(shown[at : at + PAGE], at, vocab) for at in range(0, len(shown), PAGE))
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


def _rows_page(rows: tuple[MatrixRow, ...], first: int, vocab: Mapping[str, VocabEntry]) -> str:
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

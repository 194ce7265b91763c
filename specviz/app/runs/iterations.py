"""A parallel decoding's convergence as a heat map: iterations down, positions of the text across.

Reads a trace whose rounds show iterations; what a cell means is said below and in words on the picture. Every text
goes through `html.escape`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from specviz.trace.events import Round, Trace, VocabEntry
from specviz.trace.exhibits import ITERATIONS

State = Literal["final", "frozen", "right", "wrong", "last"]
WORDS: Mapping[State, str] = {
    "final": "final before this iteration",
    "frozen": "frozen: guessed right behind a right prefix",
    "last": "the token that ends the iteration",
    "right": "guessed right, but behind a wrong guess",
    "wrong": "guessed wrong",
}
CELL, LEFT, TOP = 16, 34, 18
MOST = 200
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
        cells.append(Cell(index, state, _text(trace.vocab, node.token)))
    after = base + frozen
    if frozen == len(this.nodes) - 1 and after < len(output):
        cells.append(Cell(after, "last", _text(trace.vocab, output[after])))
    return Iteration(this.index + 1, base, tuple(cells))


def _text(vocab: Mapping[str, VocabEntry], token: int) -> str:
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
    shown = found[:MOST]
    if len(found) > len(shown):
        told += f"; the first {len(shown)} iterations are drawn"
    width, height = LEFT + CELL * wide, TOP + CELL * len(shown)
    key = "".join(
        f'<span><svg width="12" height="12" aria-hidden="true"><rect class="sv-heat-{state}" width="12" height="12"/>'
        f"</svg> {escape(words)}</span>"
        for state, words in WORDS.items()
    )
    return (
        '<figure class="sv-panel"><figcaption class="sv-panel-title">Convergence: iterations × positions</figcaption>'
        f'<p class="sv-panel-axis">{escape(told)}. Down: iterations, one target pass each; across: positions of the '
        f'output.</p><div class="sv-panel-scroll"><svg role="img" aria-label="{escape(told)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}">{_across(wide)}{"".join(map(_row, shown))}</svg></div>'
        f'<p class="sv-panel-axis sv-heat-key">{key}</p></figure>'
    )


def _across(wide: int) -> str:
    places = [(LEFT + CELL * at + CELL / 2, at + 1) for at in range(0, wide, 5)]
    return "".join(
        f'<text class="sv-bar-label" x="{x}" y="{TOP - 5}" text-anchor="middle">{number}</text>' for x, number in places
    )


def _row(iteration: Iteration) -> str:
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

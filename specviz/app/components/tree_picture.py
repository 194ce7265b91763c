"""One round's draft tree as an SVG file at slide size, for the command line; the page saves what it shows itself.

Shapes and colours are the player's: a circle for accepted, a cross for rejected, a dashed ring for unreached.
"""

from __future__ import annotations

import re
from functools import cache
from xml.sax.saxutils import escape

from specviz.resources import asset_path
from specviz.trace.events import Node, Trace
from specviz.trace.exports.markdown import number, picked

WIDTH, HEIGHT = 1920, 1080
MARGIN = 90
LONGEST = 14
"""characters of a token's label"""
SHAPES = {
    "root": "M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0",
    "accepted": "M-7,0a7,7 0 1,0 14,0a7,7 0 1,0 -14,0",
    "rejected": "M-5.5,-5.5L5.5,5.5M5.5,-5.5L-5.5,5.5",
    "unreached": "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0",
}
DASHED = "unreached"


@cache
def _colour(name: str) -> str:
    """The light shade of a colour of meaning."""
    sheet = asset_path("css", "tokens.css").read_text(encoding="utf-8")
    match = re.search(rf"--sv-{name}: light-dark\((.+?),", sheet)
    if match is None:
        raise ValueError(f"tokens.css has no colour --sv-{name}.")
    return match[1]


def tree_svg(trace: Trace, index: int) -> str:
    """The tree of round `index` (the first is 0): every node with its token and draft → target probability.

    Raises OptionError where there is no such round.
    """
    this = picked(trace, index)
    deepest = max(node.depth for node in this.nodes)
    rows = max(node.y for node in this.nodes)
    across = (WIDTH - 2 * MARGIN - 160) / max(1, deepest)
    down = min(120.0, (HEIGHT - 2 * MARGIN - 40) / max(1.0, rows))
    size = max(12.0, min(26.0, down * 0.42))
    place = {node.id: (MARGIN + node.depth * across, MARGIN + 50 + node.y * down) for node in this.nodes}
    edges = [_edge(place[node.parent], place[node.id], node.fate) for node in this.nodes if node.parent >= 0]
    marks = [_node(trace, node, place[node.id], size) for node in this.nodes]
    ink, ground = _colour("ink"), _colour("ground")
    title = f"Round {index + 1} of {len(trace.rounds)}: {trace.started.drafter.name} + {trace.started.verifier.name}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
            ' font-family="ui-monospace, Consolas, monospace">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{ground}"/>',
            f'<text x="{MARGIN}" y="60" font-size="30" fill="{ink}">{escape(title)}</text>',
            *edges,
            *marks,
            "</svg>",
            "",
        ]
    )


def _edge(start: tuple[float, float], end: tuple[float, float], fate: str) -> str:
    middle = (start[0] + end[0]) / 2
    points = (start, (middle, start[1]), (middle, end[1]), end)
    first, *bend = (f"{x:.1f},{y:.1f}" for x, y in points)
    path = f"M{first}C{' '.join(bend)}"
    return f'<path d="{path}" fill="none" stroke="{_colour(_tone(fate))}" stroke-width="2"{_dash(fate)}/>'


def _node(trace: Trace, node: Node, place: tuple[float, float], size: float) -> str:
    tone = _colour(_tone(node.fate))
    fill = tone if node.fate == "accepted" else "none"
    shape = f'<path d="{SHAPES[node.fate]}" fill="{fill}" stroke="{tone}" stroke-width="2"{_dash(node.fate)}/>'
    odds = "" if node.id == 0 else f"{number(node.draft_prob)} → {number(node.target_prob)}"
    struck = ' text-decoration="line-through"' if node.fate == "rejected" else ""
    label = f'<text x="14" y="-6" font-size="{size:.1f}" fill="{tone}"{struck}>{escape(_label(trace, node))}</text>'
    below = f'<text x="14" y="{size * 0.8:.1f}" font-size="{size * 0.7:.1f}" fill="{_colour("quiet")}">{odds}</text>'
    return f'<g transform="translate({place[0]:.1f},{place[1]:.1f})">{shape}{label}{below}</g>'


def _label(trace: Trace, node: Node) -> str:
    """The token's text with signs for what one cannot see; characters that XML cannot hold show as U+FFFD."""
    text = trace.vocab[str(node.token)].text.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")
    text = re.sub(r"[\x00-\x1f\x7f\ufffe\uffff]", "\ufffd", text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _tone(fate: str) -> str:
    return "ink" if fate == "root" else fate


def _dash(fate: str) -> str:
    return ' stroke-dasharray="3 3"' if fate == DASHED else ""

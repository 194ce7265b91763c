"""The player and its pictures as files: scripts and styles as text for the page's head, one self-contained HTML file
with a trace in it (for export, offline use, notebooks and tests), and a round's draft tree as SVG.

A new file in a folder of assets/js, or in assets/css, is picked up by itself; a script's `// needs:` line says which
scripts must stand before it. Everything is inlined, so nothing is fetched and the same player runs from a folder, a
Space or a notebook; the file's own policy forbids it to fetch anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from html import escape
from pathlib import Path
from typing import Any
from xml.sax import saxutils

from specviz.app.look.glossary import shipped
from specviz.errors import SpecVizError
from specviz.lessons.exercises import shipped_sets
from specviz.resources import asset_path, read_text
from specviz.theory.two_clocks import clocks
from specviz.trace.characters import token_alone
from specviz.trace.declared_rule import declarations
from specviz.trace.events import Node, Trace
from specviz.trace.exports.markdown import number, picked
from specviz.written_rules.verdict import for_the_page

NEEDS = re.compile(r"^// needs: (.+)$", re.MULTILINE)
"""a line in which a script names others whose names it uses; they stand before it"""
NOTHING = "nothing"
COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*.*?\*/)[ \t]*\n", re.MULTILINE | re.DOTALL)
"""of a script, where it stands on lines of its own: a sixth of what a visitor fetches. No text of a script may have a
line that begins so"""
WRITTEN_RULES = for_the_page()
"""read with the module, so that the page says at its start where the file is damaged"""
ENGINE = "engine"
"""folder of the scripts that run models in a worker of the browser, and are no part of the player"""
FIRST, LAST, OF_THE_PAGE = ("tokens.css", "player.css"), ("present.css",), ("page.css", "opening.css")
"""style sheets that others build on, those that overrule others, and those that are no part of the player"""


@cache
def script_names() -> tuple[str, ...]:
    """The files of assets/js, such as `rules/state.js`, so that each comes after those its `// needs:` line names; one
    without the line comes after all that have one. Raises SpecVizError where a line names no script, or scripts need
    each other in a ring."""
    files = {file.stem: file for file in sorted(asset_path("js").glob("*/*.js"))}
    needs = {name: _needs(file) for name, file in files.items()}
    said = [name for name, own in needs.items() if own is not None]
    before = {name: said if own is None else own for name, own in needs.items()}
    for name, own in before.items():
        for other in own:
            if other not in needs:
                raise SpecVizError(
                    f"the script '{name}' in assets/js needs '{other}', which is in none of its folders."
                )
    try:
        order = [files[name] for name in TopologicalSorter(before).static_order()]
    except CycleError as error:
        raise SpecVizError(f"scripts in assets/js need each other in a ring: {' → '.join(error.args[1])}.") from error
    return tuple(f"{file.parent.name}/{file.name}" for file in order)


def _needs(file: Path) -> list[str] | None:
    """The names that a script's lines give, without `.js`; None where there is no such line."""
    lines = NEEDS.findall(read_text(file))
    return [name for name in re.findall(r"\w+", " ".join(lines)) if name != NOTHING] if lines else None


def needed(names: tuple[str, ...]) -> tuple[str, ...]:
    """These scripts and all that they need, in order."""
    stems = {Path(name).stem: name for name in script_names()}
    wanted, asked = set[str](), [Path(name).stem for name in names]
    while asked:
        stem = asked.pop()
        if stem not in wanted:
            wanted.add(stem)
            asked += _needs(asset_path("js", *stems[stem].split("/"))) or []
    return tuple(name for stem, name in stems.items() if stem in wanted)


@cache
def scripts() -> str:
    """All scripts of the page without their comments, joined, after what the verifiers declare of their rules; in a
    block, where their names are no names of the page."""
    names = (name for name in script_names() if not name.startswith(f"{ENGINE}/"))
    texts = (COMMENT.sub("", read_text(asset_path("js", *name.split("/")))) for name in names)
    return "\n".join([_declared(), "{", *texts, "}"])


def _declared() -> str:
    """What scripts read: the rules, the glossary, two machines' times, questions, mistakes and tasks of written rules,
    the frame of a page that stands alone. No `<`, so that nothing in it can end the script element."""
    texts = {
        "DECLARED": declarations(),
        "GLOSSARY": shipped(),
        "CLOCKS": clocks(),
        "EXERCISES": shipped_sets(),
        "WRITTEN": WRITTEN_RULES,
        "FRAME": FRAME,
    }
    said = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    return f"globalThis.SpecViz = {said};".replace("<", "\\u003c")


@cache
def styles() -> str:
    """Colours and the player's looks; the page's own style sheet is not part of it."""
    return "\n".join(read_text(asset_path("css", name)) for name in style_names())


@cache
def style_names() -> tuple[str, ...]:
    """The files of assets/css but the page's own, those that others build on before them."""
    found = [path.name for path in sorted(asset_path("css").glob("*.css")) if path.name not in OF_THE_PAGE]
    between = [name for name in found if name not in (*FIRST, *LAST)]
    return (*FIRST, *between, *LAST)


def head() -> str:
    """For `launch(head=…)`: gradio rewrites the selectors of `css=`, a head it leaves alone. The names of recorded runs
    come later: until then no run may take a link's moment for its own."""
    return (
        f"<style data-specviz>\n{styles()}</style>\n"
        f"<script data-specviz>\n{scripts()}\nSpecViz.AWAITS_NAMES = true;</script>\n"
    )


def css_paths() -> list[Path]:
    """For `launch(css_paths=…)`: the page around the player."""
    return [asset_path("css", "page.css")]


POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:"
)
FRAME = f"""<!doctype html>
<html lang="en" class="sv-standalone">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>SpecViz: one run, step by step</title>
<style data-specviz>
{{{{styles}}}}</style>
</head>
<body>
<main><div class="sv-player"></div></main>
<script type="application/json" id="sv-trace">{{{{trace}}}}</script>
<script type="application/json" id="sv-moment">{{{{moment}}}}</script>
<script type="application/json" id="sv-lesson">{{{{lesson}}}}</script>
<script data-specviz>
{{{{scripts}}}}</script>
<script>
SpecViz.standAlone(document);
</script>
</body>
</html>
"""


# --- a file that stands alone ----------------------------------------------------------------------------------------


Moment = Mapping[str, int | str | None]
"""{round, beat, node} as the player counts: the first round is 0, and `end` is the round's last token"""
MOST_CHARACTERS = 20_000_000
"""of a trace in a notebook's output: the notebook's file holds it once more"""
HEIGHT = 900
"""of the player in a notebook, in pixels"""


def standalone_html(trace_json: str, moment: Moment | None = None, lesson: Mapping[str, Any] | None = None) -> str:
    """A page that shows the trace, opened at `moment` and with the player of `lesson` where they are given.

    `trace_json` may hold any text: no `<` of it reaches the HTML parser.
    """
    parts = {
        "styles": styles(),
        "scripts": scripts(),
        "trace": _quoted(trace_json),
        "moment": _quoted(_json(moment)),
        "lesson": _quoted(_json(lesson)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], FRAME)


def notebook_html(trace_json: str) -> str | None:
    """The same as a frame inside a notebook's output, cut off from the notebook; None where the trace is too large."""
    if len(trace_json) > MOST_CHARACTERS:
        return None
    look = f"width:100%;height:{HEIGHT}px;border:0"
    page = escape(standalone_html(trace_json), quote=True)
    return f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" style="{look}" title="SpecViz"></iframe>'


def _json(value: Mapping[str, Any] | None) -> str:
    """As the browser writes it."""
    return json.dumps(dict(value) if value else None, separators=(",", ":"), ensure_ascii=False)


def _quoted(text: str) -> str:
    return text.replace("<", "\\u003c")


# --- a round's tree as SVG, for the command line; the page saves what it shows itself --------------------------------


WIDE, TALL = 1920, 1080
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
    across = (WIDE - 2 * MARGIN - 160) / max(1, deepest)
    down = min(120.0, (TALL - 2 * MARGIN - 40) / max(1.0, rows))
    size = max(12.0, min(26.0, down * 0.42))
    place = {node.id: (MARGIN + node.depth * across, MARGIN + 50 + node.y * down) for node in this.nodes}
    edges = [_edge(place[node.parent], place[node.id], node.fate) for node in this.nodes if node.parent >= 0]
    marks = [_node(trace, node, place[node.id], size) for node in this.nodes]
    ink, ground = _colour("ink"), _colour("ground")
    title = f"Round {index + 1} of {len(trace.rounds)}: {trace.started.drafter.name} + {trace.started.verifier.name}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {TALL}" width="{WIDE}" height="{TALL}"'
            ' font-family="ui-monospace, Consolas, monospace">',
            f'<rect width="{WIDE}" height="{TALL}" fill="{ground}"/>',
            f'<text x="{MARGIN}" y="60" font-size="30" fill="{ink}">{saxutils.escape(title)}</text>',
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
    text = saxutils.escape(_label(trace, node))
    label = f'<text x="14" y="-6" font-size="{size:.1f}" fill="{tone}"{struck}>{text}</text>'
    below = f'<text x="14" y="{size * 0.8:.1f}" font-size="{size * 0.7:.1f}" fill="{_colour("quiet")}">{odds}</text>'
    return f'<g transform="translate({place[0]:.1f},{place[1]:.1f})">{shape}{label}{below}</g>'


def _label(trace: Trace, node: Node) -> str:
    """The token's text with signs for what one cannot see; characters that XML cannot hold show as U+FFFD."""
    text = token_alone(trace, node.token).replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")
    text = re.sub(r"[\x00-\x1f\x7f\ufffe\uffff]", "\ufffd", text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _tone(fate: str) -> str:
    return "ink" if fate == "root" else fate


def _dash(fate: str) -> str:
    return ' stroke-dasharray="3 3"' if fate == DASHED else ""

"""The player's scripts and styles as text: for the page's head, and for a file that stands alone.

A new file in a folder of assets/js, or in assets/css, is picked up by itself; a script's `// needs:` line says which
scripts must stand before it.
Everything is inlined, so nothing is fetched and the same player runs from a folder, a Space or a notebook.
"""

from __future__ import annotations

import json
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from specviz.app.look.glossary import shipped
from specviz.errors import SpecVizError
from specviz.resources import asset_path, read_text
from specviz.trace.known_rules import declarations

NEEDS = re.compile(r"^// needs: (.+)$", re.MULTILINE)
"""a line in which a script names others whose names it uses; they stand before it"""
NOTHING = "nothing"
ENGINE = "engine"
"""folder of the scripts that run models in a worker of the browser, and are no part of the player"""
FIRST, LAST, OF_THE_PAGE = ("tokens.css", "player.css"), ("present.css",), "page.css"
"""style sheets that others build on, those that overrule others, and the one that is no part of the player"""


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


def _needs(file: Path) -> list[str] | None:
    """The names that a script's lines give, without `.js`; None where there is no such line."""
    lines = NEEDS.findall(read_text(file))
    return [name for name in re.findall(r"\w+", " ".join(lines)) if name != NOTHING] if lines else None


@cache
def scripts() -> str:
    """All scripts of the page, joined, after what the verifiers declare of their rules; in a block, where their names
    are no names of the page."""
    names = (name for name in script_names() if not name.startswith(f"{ENGINE}/"))
    texts = (read_text(asset_path("js", *name.split("/"))) for name in names)
    return "\n".join([_declared(), "{", *texts, "}"])


def _declared() -> str:
    """What scripts read: the rules, the glossary, the frame of a page that stands alone. No `<`, so that nothing in
    it can end the script element."""
    rules = json.dumps(declarations(), separators=(",", ":"))
    words = json.dumps(shipped(), ensure_ascii=False)
    said = f"{{ DECLARED: {rules}, GLOSSARY: {words}, FRAME: {json.dumps(FRAME)} }}"
    return f"globalThis.SpecViz = {said};".replace("<", "\\u003c")


@cache
def styles() -> str:
    """Colours and the player's looks; the page's own style sheet is not part of it."""
    return "\n".join(read_text(asset_path("css", name)) for name in style_names())


@cache
def style_names() -> tuple[str, ...]:
    """The files of assets/css but the page's own, those that others build on before them."""
    found = [path.name for path in sorted(asset_path("css").glob("*.css")) if path.name != OF_THE_PAGE]
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


POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
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

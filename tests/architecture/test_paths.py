"""Every module, folder and test that a document or a make target names is there, after any move."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "Makefile", *ROOT.glob(".ci/*")]
HISTORY = ROOT / "CHANGELOG.md"
"""names what was there at the time"""
NAMED = re.compile(r"(?<![\w/.-])(?:specviz|tests|examples)(?:/[\w.-]*\w)+")
IMPORTED = re.compile(r"(?<![\w/.-])specviz(?:\.[a-z_]+){2,}")


def missing(text: str) -> list[str]:
    """The paths and modules named in a text that are not in the repository. The last part of a dotted name may be
    something in its module."""
    paths = [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
    modules = [name for name in IMPORTED.findall(text) if not (_is_there(name) or _is_there(name.rpartition(".")[0]))]
    return [*paths, *modules]


def _is_there(module: str) -> bool:
    path = ROOT / module.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_pages_name_only_what_is_there() -> None:
    wrong = {page.name: missing(page.read_text(encoding="utf-8")) for page in PAGES if page != HISTORY}
    assert {name: names for name, names in wrong.items() if names} == {}


def test_a_name_of_before_the_move_is_found() -> None:
    text = "see `specviz/ui/page.py`, `specviz.bench.points.points` and `specviz/app/lab/`; `specviz.trace.check.check`"
    assert missing(text) == ["specviz/ui/page.py", "specviz.bench.points.points"]

"""The player's scripts under node: the pure functions' own tests, and the syntax of every file."""

from __future__ import annotations

from specviz.app.page.scripts import SCRIPTS, scripts
from tests.js.node import ROOT, run

LONGEST, MOST_LINES = 120, 400


def test_every_script_is_shipped_and_short() -> None:
    files = sorted((ROOT / "assets" / "js").glob("*.js"))
    assert {file.name for file in files} == set(SCRIPTS)
    for file in (*files, *(ROOT / "tests" / "js").glob("*.js")):
        lines = file.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= MOST_LINES, f"{file.name} has {len(lines)} lines; split it."
        long = [number for number, line in enumerate(lines, 1) if len(line) > LONGEST]
        assert not long, f"{file.name} has lines of more than {LONGEST} characters: {long}"


def test_no_script_writes_markup_or_fetches() -> None:
    for file in (ROOT / "assets" / "js").glob("*.js"):
        text = file.read_text(encoding="utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "</script"):
            assert word not in text, f"{file.name} contains {word}"


def test_every_script_parses() -> None:
    for name in SCRIPTS:
        checked = run("--check", str(ROOT / "assets" / "js" / name))
        assert checked.returncode == 0, checked.stderr


def test_the_pure_functions() -> None:
    tested = run("--test", *map(str, sorted((ROOT / "tests" / "js").glob("*.test.js"))))
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_what_the_verifiers_declare_stands_before_the_scripts_and_cannot_end_them() -> None:
    text = scripts()
    assert text.startswith('globalThis.SpecViz = { DECLARED: {"block":')
    assert "<" not in text[: text.index("};\n")]

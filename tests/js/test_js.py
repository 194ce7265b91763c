"""The player's scripts under node: the pure functions' own tests, and the syntax of every file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from specviz.app.page.scripts import SCRIPTS

ROOT = Path(__file__).parents[2]
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed; it runs the scripts' own tests")


def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(NODE), *arguments], cwd=ROOT, capture_output=True, text=True, check=False, input=stdin)


def test_every_script_is_shipped_and_short() -> None:
    files = sorted((ROOT / "assets" / "js").glob("*.js"))
    assert {file.name for file in files} == set(SCRIPTS)
    assert {file.name: lines for file in files if (lines := len(file.read_text().splitlines())) > 300} == {}


def test_no_script_writes_markup_or_fetches() -> None:
    for file in (ROOT / "assets" / "js").glob("*.js"):
        text = file.read_text(encoding="utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "</script"):
            assert word not in text, f"{file.name} contains {word}"


@needs_node
def test_every_script_parses() -> None:
    for name in SCRIPTS:
        checked = run("--check", str(ROOT / "assets" / "js" / name))
        assert checked.returncode == 0, checked.stderr


@needs_node
def test_the_pure_functions() -> None:
    tested = run("--test", *map(str, sorted((ROOT / "tests" / "js").glob("*.test.js"))))
    assert tested.returncode == 0, tested.stdout + tested.stderr

"""Names say what a thing is: words that say nothing may only become fewer, and a docstring cites what is there."""

import ast
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "specviz").rglob("*.py"))
MOST = {"one": 949, "found": 869, "place": 269, "own": 358, "told": 80}
"""word → uses as an identifier; lower a number when you have given things better names"""
CITED = re.compile(r"`([\w./]+)`")


@cache
def used() -> Counter[str]:
    counts = Counter[str]()
    for path in MODULES:
        with path.open("rb") as file:
            counts.update(token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.NAME)
    return counts


@pytest.mark.parametrize("word", MOST)
def test_a_word_that_names_nothing_becomes_rarer(word: str) -> None:
    assert used()[word] <= MOST[word]


@cache
def files() -> tuple[str, ...]:
    """Every file of the repository, by its path from the root."""
    folders = ("specviz", "tests", "assets/js", "examples")
    return tuple(path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*.*"))


def gone(text: str) -> list[str]:
    """The modules and files cited in a text that are not there. A dotted name counts where it begins with a folder of
    `specviz` and has two more parts, of which the last may be something in its module."""
    missing = []
    for cited in CITED.findall(text):
        if re.search(r"\w\.(py|js)$", cited):
            if not any(path == cited or path.endswith(f"/{cited}") for path in files()):
                missing.append(cited)
        elif re.fullmatch(r"[a-z_]+\.[a-z_]+(\.\w+)+", cited) and (ROOT / "specviz" / cited.split(".")[0]).is_dir():
            parts = cited.split(".")
            places = [ROOT.joinpath("specviz", *parts[:length]) for length in range(2, len(parts) + 1)]
            if not any(place.is_dir() or place.with_suffix(".py").is_file() for place in places):
                missing.append(cited)
    return missing


def docstrings(path: Path) -> str:
    """All of a module, one below the other."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return "\n".join(ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds))


def test_docstrings_cite_what_is_there() -> None:
    wrong = {path.relative_to(ROOT).as_posix(): gone(docstrings(path)) for path in MODULES}
    assert {name: missing for name, missing in wrong.items() if missing} == {}


def test_a_name_of_before_a_move_is_found() -> None:
    text = "`trace/codec.py`, `bench.old.rows`, `trace.codec.read`, `sweep_store.py`, `options.out`, `theory.metrics`"
    assert gone(text) == ["bench.old.rows", "sweep_store.py"]

"""The example runs as printed and shows what it says; the reading order names files that are there."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import specviz

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "one_round.py"
TRIAL = re.compile(r"p (\S+)  q (\S+)  acceptance probability (\S+)  u (\S+)  (\w+)")


def test_the_example_is_at_most_eighty_lines() -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 80


@pytest.mark.slow
def test_the_example_judges_a_round_on_the_toy_and_on_the_bundled_pair(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, EXAMPLE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    toy, pair = done.stdout.removeprefix("toy:").split("bundled pair:")
    for part in (toy, pair):
        trials = [(*map(float, found[:4]), found[4]) for found in TRIAL.findall(part)]
        assert trials
        for p, q, threshold, u, word in trials:
            assert threshold == pytest.approx(min(1.0, p / q), rel=0.011)
            assert word == ("accepted" if u < threshold else "rejected")
        assert [word for *_, word in trials[:-1]] == ["accepted"] * (len(trials) - 1)
        ending = "bonus" if trials[-1][-1] == "accepted" else "correction"
        assert part.rstrip().endswith(ending)


def test_the_reading_order_is_ten_files_with_one_sentence_each() -> None:
    page = (ROOT / "docs" / "reading_order.md").read_text(encoding="utf-8")
    entries = re.findall(r"^(\d+)\. \[`([^`]+)`\]\(\.\./([^)]+)\): (.+)$", page, re.MULTILINE)
    assert [int(number) for number, *_ in entries] == list(range(1, 11))
    assert all(name == link for _, name, link, _ in entries)
    assert [name for _, name, *_ in entries if not (ROOT / name).is_file()] == []
    assert [sentence for *_, sentence in entries if sentence.count(". ") or not sentence.endswith(".")] == []


MINIMAL = ROOT / "examples" / "minimal_trace.py"


def test_the_minimal_writer_needs_no_specviz_and_its_trace_is_sound(tmp_path: Path) -> None:
    """Run where specviz cannot be imported: isolated, and in a folder of its own."""
    code = "import sys; sys.modules['specviz'] = None; import runpy; runpy.run_path(sys.argv[1], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{code.replace('sys.argv[1]', repr(str(MINIMAL)))}", "run.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    trace = specviz.read(tmp_path / "run.json")
    assert specviz.check(trace) == []
    assert trace.finished.text == "sat on a mat the cat sat on a mat the cat "
    assert [len(this.judged.path) for this in trace.rounds] == [2, 1, 3, 1, 0]
    seen = [this.judged.origin for this in trace.rounds]
    assert seen == ["correction", "correction", "bonus", "correction", "target"]


def test_the_minimal_writer_is_as_short_as_its_guide_says() -> None:
    source = MINIMAL.read_text(encoding="utf-8")
    functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    sizes = {name: 1 + (node.end_lineno or 0) - node.lineno for name, node in functions.items()}
    guide = (ROOT / "docs" / "minimal_trace.md").read_text(encoding="utf-8")
    assert f"`write` ({sizes['write']} lines) and\n`summary_of` ({sizes['summary_of']})" in guide
    assert sizes["write"] <= 40

"""The example runs as printed and shows what it says; the reading order names files that are there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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

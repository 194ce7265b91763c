"""What the measurements of a site count: visitors' files, and a tab's texts and gains."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.load import tab
from tests.load.files import figures, visits


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A page of 4 bytes, a script of 6, and an engine of two files."""
    (tmp_path / "index.html").write_text("page", encoding="utf-8")
    (tmp_path / "engine.js").write_text("script", encoding="utf-8")
    (tmp_path / "engine").mkdir()
    files = []
    for name, content in (("a.bin", b"12345"), ("b.bin", b"1234567")):
        (tmp_path / "engine" / name).write_bytes(content)
        files.append({"name": name, "sha256": hashlib.sha256(content).hexdigest()})
    (tmp_path / "engine" / "manifest.json").write_text(json.dumps({"files": files}), encoding="utf-8")
    return tmp_path


def test_each_visitor_fetches_everything_once_and_the_page_twice(site: Path) -> None:
    manifest = (site / "engine" / "manifest.json").stat().st_size
    met = visits(site, 3)
    assert [one.problems for one in met] == [(), (), ()]
    assert [one.bytes for one in met] == [2 * (4 + 6 + manifest) + 5 + 7] * 3


def test_a_file_that_is_missing_or_another_one_is_a_problem(site: Path) -> None:
    (site / "engine" / "a.bin").write_bytes(b"12346")
    (site / "engine" / "b.bin").unlink()
    [met] = visits(site, 1)
    assert met.problems[0] == "a.bin: another checksum"
    assert met.problems[1].startswith("engine/b.bin")
    assert figures([met]).splitlines()[0].endswith("| 3 |")


def test_a_text_that_says_six_words_in_a_row_twice_goes_in_circles() -> None:
    assert tab.loops("and then he ran to the sea. And then he ran to the house")
    assert not tab.loops("and then he ran to the sea. And then he ran home")


def test_gains_are_medians_over_turns_of_the_texts_that_count() -> None:
    straight = {"tokens": 60, "plain": [1.0, 2.0, 1.0], "drafted": [0.5, 0.5, 0.4], "texts": ["a b c"]}
    slow = {"tokens": 60, "plain": [3.0, 3.0, 3.0], "drafted": [3.0, 3.0, 3.0], "texts": ["d e f"]}
    circle = {**straight, "texts": ["so on and on we go so on and on we go"]}
    memory = {"opened": {"own": 40.0, "resident": 150.0, "most": 151.0}}
    assert tab.figures([straight, circle, slow], 1.25, memory).splitlines() == [
        "texts: 3, of which 2 do not repeat themselves and count",
        "plain: 40 tokens a second, median",
        "model, γ 4: × 1.75 (1.00 to 2.50), median (least to largest)",
        "first token: 1.2 s after the weights",
        "memory opened: own 40, resident 150, most 151",
    ]

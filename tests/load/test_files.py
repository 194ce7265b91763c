"""Visitors of a site of files: what they count, and that a file which is not as it was sent is one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

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

"""Files of traces, races and trainings: bounded, whole, and every failure one sentence."""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.errors import TraceError
from specviz.trace import files
from specviz.trace.files import STANDARD, read_file, write_file


def test_what_is_written_is_read_back_and_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    for name in ("a.json", "b.json.gz"):
        write_file(tmp_path / name, "{}", "a race")
        first = (tmp_path / name).read_bytes()
        write_file(tmp_path / name, "{}", "a race")
        assert (tmp_path / name).read_bytes() == first
    assert read_file(tmp_path / "a.json", bytes.decode, STANDARD) == "{}\n"


def test_another_suffix_and_a_missing_folder_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"r\.txt: a race is written to a name ending in \.json or \.json\.gz"):
        write_file(tmp_path / "r.txt", "{}", "a race")
    with pytest.raises(TraceError, match=r"r\.json: there is no folder '.*missing' to write it to; make it first"):
        write_file(tmp_path / "missing" / "r.json", "{}", "a race")
    with pytest.raises(TraceError, match=r"r\.json: cannot be read \(No such file or directory\); check the path"):
        read_file(tmp_path / "r.json", bytes.decode, STANDARD)


def test_a_failed_write_leaves_the_file_before_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.json"
    write_file(path, "1", "a race")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(TraceError, match=r"r\.json: cannot be written \(No space left on device\)"):
        write_file(path, "2", "a race")
    assert [one.name for one in tmp_path.iterdir()] == ["r.json"]
    assert path.read_text() == "1\n"


def test_no_more_is_read_than_the_limit_and_one_byte(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(b"12345")
    assert read_file(tmp_path / "r.json", len, replace(STANDARD, stored_bytes=3)) == 4

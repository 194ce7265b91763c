"""A study's result is shown; kept and put into the documentation only when asked for; made only when not kept."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

from specviz.cli.experiment import KeptStudy, add_flags
from specviz.errors import BenchError

PAGE = "before\n<!-- numbers -->\nold\n<!-- /numbers -->\nafter\n"


def write(study: int, path: Path) -> None:
    path.write_text(str(study), encoding="utf-8")


@pytest.fixture
def kept(tmp_path: Path) -> KeptStudy[int]:
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    return KeptStudy(
        tmp_path / "studies" / "numbers.txt",
        tmp_path / "page.md",
        "numbers",
        lambda path: int(path.read_text(encoding="utf-8")),
        write,
        lambda study: f"found {study}",
    )


def run(kept: KeptStudy[int], study: Callable[[], int], *flags: str) -> int:
    parser = argparse.ArgumentParser()
    add_flags(parser.add_argument)
    return kept.run(parser.parse_args(flags), study)


def not_now() -> int:
    raise AssertionError("the study ran")


def test_a_result_is_shown_and_nothing_written(kept: KeptStudy[int], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(kept, lambda: 3) == 0
    assert capsys.readouterr().out == "found 3\n"
    assert not kept.result.exists()
    assert kept.page.read_text(encoding="utf-8") == PAGE


def test_write_keeps_it_and_tables_puts_what_is_kept_into_the_page_anew(kept: KeptStudy[int]) -> None:
    assert run(kept, lambda: 3, "--write") == 0
    assert kept.result.read_text(encoding="utf-8") == "3"
    assert kept.page.read_text(encoding="utf-8") == PAGE.replace("old", "found 3")
    kept.result.write_text("4", encoding="utf-8")
    assert run(kept, not_now, "--tables") == 0
    assert kept.page.read_text(encoding="utf-8") == PAGE.replace("old", "found 4")


@pytest.mark.parametrize("flag", ["--write", "--tables"])
def test_a_page_without_the_section_is_refused_before_anything_runs(kept: KeptStudy[int], flag: str) -> None:
    kept.page.write_text("no marks", encoding="utf-8")
    with pytest.raises(BenchError, match=r"page\.md has no place for the tables"):
        run(kept, not_now, flag)

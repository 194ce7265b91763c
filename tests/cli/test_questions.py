"""`specviz study questions`: what is refused, and where the table goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("content", "said"), [(None, "No such file"), (b"\n \n", "holds no question"), (b"\xff\xfe\xff", "utf-8")]
)
def test_a_file_without_questions_is_refused_by_name(
    specviz: Call, tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / "asked.txt"
    if content is not None:
        path.write_bytes(content)
    result = specviz("study", "questions", "--questions", str(path))
    assert result.code != 0
    assert "asked.txt" in result.err
    assert said in result.err


def test_an_empty_document_is_refused(specviz: Call, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    result = specviz("study", "questions", "--document", str(tmp_path / "empty.txt"))
    assert result.code != 0
    assert "the document has no tokens; write some text." in result.err


def test_own_texts_are_answered_in_all_three_ways(specviz: Call, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Mia has a red kite.")
    (tmp_path / "asked.txt").write_text("Who?\nWhat?\n")
    page = tmp_path / "page.md"
    page.write_text("<!-- bench questions -->\n<!-- /bench questions -->\n")
    files = ("--document", str(tmp_path / "text.txt"), "--questions", str(tmp_path / "asked.txt"))
    result = specviz("study", "questions", *files, "--max-new-tokens", "3", "--repeats", "1", "--write", str(page))
    assert result.code == 0
    assert "2 questions to a document of" in page.read_text()
    rows = [line for line in page.read_text().splitlines() if line.startswith(("| read", "| document", "| all"))]
    assert [row.split("|")[-2].strip() for row in rows] == ["2/2"] * 3

"""Every file that a page of the documentation links to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def targets(text: str) -> list[str]:
    return [one for one in LINK.findall(text) if not re.match(r"[a-z]+:", one)]


def test_a_link_to_a_file_is_told_from_an_address() -> None:
    page = "[one](methods/eagle.md#how) and [two](https://example.org/a.md) and [three](img/a.png)"
    assert targets(page) == ["methods/eagle.md", "img/a.png"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_page_links_to_is_there(page: Path) -> None:
    missing = [one for one in targets(page.read_text(encoding="utf-8")) if not (page.parent / one).exists()]
    assert not missing


def test_every_page_stands_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    listed = set(targets(index.read_text(encoding="utf-8")))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - listed == {"README.md"}


def test_the_front_door_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1200
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_a_page_can_be_read_in_a_diff(page: Path) -> None:
    """Tables aside, and what a measurement writes between its marks."""
    text = re.sub(r"<!-- ([\w ]+)(?::[^>]*)? -->.*?<!-- /\1 -->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert [line[:60] for line in text.splitlines() if len(line) > 300 and not line.startswith("|")] == []

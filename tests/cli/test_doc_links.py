"""Every file that a page of the documentation links to is there."""

from __future__ import annotations

import re
from pathlib import Path

from specviz.app.page.settings import body

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def targets(text: str) -> list[str]:
    return [one for one in LINK.findall(text) if not re.match(r"[a-z]+:", one)]


def test_a_link_to_a_file_is_told_from_an_address() -> None:
    page = "[one](methods/eagle.md#how) and [two](https://example.org/a.md) and [three](img/a.png)"
    assert targets(page) == ["methods/eagle.md", "img/a.png"]


def test_every_file_that_a_page_links_to_is_there() -> None:
    links = [(page, target) for page in PAGES for target in targets(page.read_text(encoding="utf-8"))]
    assert [(page.name, target) for page, target in links if not (page.parent / target).exists()] == []


def test_every_page_stands_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    listed = set(targets(index.read_text(encoding="utf-8")))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - listed == {"README.md"}


def test_the_front_door_is_short() -> None:
    """The Space's card above it apart."""
    assert len(body((ROOT / "README.md").read_text(encoding="utf-8")).split()) <= 1160
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 150


def written(page: Path) -> list[str]:
    """The lines of a page, without what a measurement writes between its marks."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"<!-- ([\w ]+)(?::[^>]*)? -->.*?<!-- /\1 -->", "", text, flags=re.DOTALL).splitlines()


def test_lines_of_a_page_can_be_read_in_a_diff() -> None:
    """Tables aside."""
    long = [(page.name, line[:60]) for page in PAGES for line in written(page) if len(line) > 300]
    assert [(name, line) for name, line in long if not line.startswith("|")] == []

"""Links of the docs lead to files, their commands can be called, and docs/cli.md mentions every command and flag."""

import argparse
import re
import shlex
from pathlib import Path

import pytest

from specviz.app.page.settings import body
from specviz.cli.main import COMMANDS, build_parser

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


DOCS = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def parts(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """What may follow a command, such as `drafters` behind `bench`."""
    found = [one.choices for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return found[0] if found else {}


def own_flags(parser: argparse.ArgumentParser) -> list[str]:
    return [flag for action in parser._actions for flag in action.option_strings if flag not in ("-h", "--help")]


def flags(command: str) -> list[str]:
    return own_flags(parts(build_parser([command]))[command])


def all_flags(command: str) -> list[str]:
    """With those of its parts."""
    parser = parts(build_parser([command]))[command]
    return [*own_flags(parser), *(flag for part in parts(parser).values() for flag in own_flags(part))]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section_and_every_flag_a_mention(command: str) -> None:
    section = DOCS.partition(f"\n## `specviz {command}`\n")[2].partition("\n## ")[0]
    assert section, f"docs/cli.md has no section for `specviz {command}`"
    if command == "train":
        assert "specviz train --help" in section, "its options are described by the training package alone"
    else:
        assert [flag for flag in flags(command) if f"`{flag}" not in section] == []


def commands(text: str) -> list[list[str]]:
    """The words of each command in the fenced blocks of a page, without a comment and what follows `&&`."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text.replace("\\\n", " "), re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    split = [shlex.split(line, comments=True) for line in lines if re.match(r"specviz [a-z]", line)]
    return [words[: words.index("&&")] if "&&" in words else words for words in split]


def test_a_command_is_told_from_its_comment_and_its_output() -> None:
    page = "```\n$ specviz run \\\n  --seed 3   # repeatable\nspeed 3\nspecviz check a && rm a\n```\nspecviz list\n"
    assert commands(page) == [["specviz", "run", "--seed", "3"], ["specviz", "check", "a"]]


GUIDES = {f"adding_a_{kind}.md" for kind in ("drafter", "stop_policy", "study", "tree_policy", "verifier")}
"""pages whose commands name a method that their reader writes; tests/architecture/test_guides.py runs them"""


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in GUIDES], ids=lambda page: page.name)
def test_every_command_of_a_page_can_be_called(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = []
    for command in commands(page.read_text(encoding="utf-8")):
        try:
            build_parser(command[1:]).parse_args(command[1:])
        except SystemExit as left:  # with 0 where the command was `--help`
            refused += [(command, capsys.readouterr().err)] if left.code else []
    assert refused == []


METHOD_PAGES = sorted((Path(__file__).parents[2] / "docs" / "methods").glob("*.md"))


def test_every_flag_on_a_methods_page_is_one() -> None:
    """Flags follow from options by a rule; a page that was written by hand may have missed it."""
    known = {flag for command in COMMANDS for flag in all_flags(command)}
    for page in METHOD_PAGES:
        named = set(re.findall(r"`[^`\n]*?(--[a-z][a-z-]*)", page.read_text(encoding="utf-8")))
        assert named <= known, f"{page.name} names {', '.join(sorted(named - known))}"

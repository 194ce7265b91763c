"""docs/cli.md mentions every command and every flag there is."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from specviz.cli.main import COMMANDS, build_parser

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


METHOD_PAGES = sorted((Path(__file__).parents[2] / "docs" / "methods").glob("*.md"))


def test_every_flag_on_a_methods_page_is_one() -> None:
    """Flags follow from options by a rule; a page that was written by hand may have missed it."""
    known = {flag for command in COMMANDS for flag in all_flags(command)}
    for page in METHOD_PAGES:
        named = set(re.findall(r"`[^`\n]*?(--[a-z][a-z-]*)", page.read_text(encoding="utf-8")))
        assert named <= known, f"{page.name} names {', '.join(sorted(named - known))}"

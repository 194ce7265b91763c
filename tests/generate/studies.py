"""The index of studies and the table of their flags, from their declarations."""

import argparse
from collections.abc import Sequence
from typing import Any

from specviz.cli.main import build_parser
from specviz.proof.document import table
from specviz.studies.study import Study, studies


def index(found: Sequence[Study[Any]] | None = None) -> str:
    """A row for each study: its question, its command, its page of the documentation."""
    return table(
        ["study", "question", "command", "method and result"],
        [
            [study.name, study.question, f"`specviz study {study.command}`", f"[{study.page}]({study.page})"]
            for study in (studies() if found is None else found)
        ],
    )


def flags() -> str:
    """What several studies take, then what one alone does, each flag as its own parser has it."""
    (parsers,) = (one for one in build_parser(["study"])._actions if isinstance(one, argparse._SubParsersAction))
    (parts,) = (one for one in parsers.choices["study"]._actions if isinstance(one, argparse._SubParsersAction))
    takers: dict[tuple[str, str], list[str]] = {}
    for study in studies():
        for action in parts.choices[study.command]._actions:
            if action.dest != "help":
                meaning = _meaning(action)
                for name, told in ((f"docs/{study.page}", "its page"), (f"assets/{study.file}", "its file in assets")):
                    meaning = meaning.replace(name, told)
                takers.setdefault((_flag(action), meaning), []).append(f"`{study.command}`")
    rows = [(_of(names), flag, meaning, len(names)) for (flag, meaning), names in takers.items()]
    return table(["study", "flag", "meaning"], [list(row[:3]) for row in sorted(rows, key=lambda row: row[3] < 2)])


def _of(names: Sequence[str]) -> str:
    """`every study`, where none is missing."""
    every = [f"`{study.command}`" for study in studies()]
    missing = [name for name in every if name not in names]
    return "every study" if not missing else f"every study but {missing[0]}" if len(missing) == 1 else ", ".join(names)


def _flag(action: argparse.Action) -> str:
    value = f" {action.metavar}" if action.metavar else ""
    return f"`{action.option_strings[0]}{f' [{action.metavar}]' if action.nargs == '?' else value}`"


def _meaning(action: argparse.Action) -> str:
    return ((action.help or "") % {"default": action.default}).replace("|", "\\|")

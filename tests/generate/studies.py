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
    """A row for each flag of each study, as its own parser has it."""
    (parsers,) = (one for one in build_parser(["study"])._actions if isinstance(one, argparse._SubParsersAction))
    (parts,) = (one for one in parsers.choices["study"]._actions if isinstance(one, argparse._SubParsersAction))
    rows = [
        [f"`{study.command}`", _flag(action), _meaning(action)]
        for study in studies()
        for action in parts.choices[study.command]._actions
        if action.dest != "help"
    ]
    return table(["study", "flag", "meaning"], rows)


def _flag(action: argparse.Action) -> str:
    value = f" {action.metavar}" if action.metavar else ""
    return f"`{action.option_strings[0]}{f' [{action.metavar}]' if action.nargs == '?' else value}`"


def _meaning(action: argparse.Action) -> str:
    return ((action.help or "") % {"default": action.default}).replace("|", "\\|")

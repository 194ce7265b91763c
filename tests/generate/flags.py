"""The table of `specviz run`'s flags that come from methods, as its own parser has them."""

import argparse

from specviz.cli.main import build_parser
from specviz.proof.document import table


def section() -> str:
    """One row per flag, kind by kind."""
    parser = build_parser(["run"])
    commands = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    groups = [one for one in commands.choices["run"]._action_groups if (one.title or "").endswith(" options")]
    rows = [[_flag(action), _meaning(action)] for group in groups for action in group._group_actions]
    return table(["flag", "method: meaning"], rows)


def _flag(action: argparse.Action) -> str:
    return f"`{action.option_strings[0]} {action.metavar}`".replace("|", "\\|")


def _meaning(action: argparse.Action) -> str:
    return (action.help or "").replace("%%", "%").replace("|", "\\|")

"""Flags of `run` that no one wrote by hand: one per option of every drafter and verifier.

Place in the flow: `run` adds them to its parser from the catalog, and reads the chosen method's back.
Knows methods only as descriptions; ranges are judged where the options are built.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from specviz.cli.commands.list import option_help
from specviz.errors import OptionError
from specviz.protocol.runs import MethodDescription, OptionCard
from specviz.trace.events import Option

METAVARS = {"int": "N", "float": "X", "bool": "true|false", "str": "WORD", "ints": "N,N,…"}


def add_flags(parser: argparse.ArgumentParser, role: str, methods: Sequence[MethodDescription]) -> None:
    """One flag per option name; methods that share a name share the flag. Where the plain name is taken by another
    flag of the command, the role stands before it: `--verifier-top-k`."""
    group = parser.add_argument_group(f"{role} options")
    owners: dict[str, list[tuple[MethodDescription, OptionCard]]] = {}
    for method in methods:
        for option in method.options:
            owners.setdefault(option.name, []).append((method, option))
    for name, users in owners.items():
        plain = "--" + name.replace("_", "-")
        taken = plain in parser._option_string_actions
        group.add_argument(
            f"--{role}-{plain[2:]}" if taken else plain,
            dest=_dest(role, name),
            metavar=METAVARS.get(users[0][1].type, "VALUE"),
            nargs="?" if all(option.type == "bool" for _, option in users) else None,
            const="true" if all(option.type == "bool" for _, option in users) else None,
            help="; ".join(f"{method.name}: {option_help(option)}" for method, option in users).replace("%", "%%"),
        )


def read_flags(
    args: argparse.Namespace, role: str, name: str, methods: Sequence[MethodDescription]
) -> dict[str, Option]:
    """The options given for method `name`, as text: they are typed and judged in one place, where they are built.
    A name that the catalog lacks (`auto`) may use any method's. Raises OptionError for a flag of another method.
    """
    users = [method for method in methods if method.name == name] or list(methods)
    own = {option.name for method in users for option in method.options}
    options: dict[str, Option] = {}
    for method in methods:
        for option in method.options:
            text = getattr(args, _dest(role, option.name))
            if text is None:
                continue
            if option.name not in own:
                raise OptionError(
                    f"--{option.name.replace('_', '-')} belongs to {role} '{method.name}', but '{name}' was chosen; "
                    f"leave it out or add --{role} {method.name}."
                )
            options[option.name] = text
    return options


def _dest(role: str, option: str) -> str:
    return f"{role}_option_{option}"

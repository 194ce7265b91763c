"""Flags of `run` that no one wrote by hand: one per option of every method.

Place in the flow: `run` adds them to its parser from the catalog, and reads the chosen methods' back. Knows methods
only as descriptions; ranges are judged where the options are built.

A drafter's option has the plain name, `--gamma`; that of any other method has its kind before it,
`--tree-policy-budget`, whatever else there is. So no method renames a flag of another. Where the plain name is one of
`run` itself or begins like those of another kind, the drafter's flag has its kind before it as well.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from math import isfinite

from specviz.cli.printed_run import option_text
from specviz.errors import OptionError
from specviz.options import check_range
from specviz.protocol.runs import MethodDescription, OptionCard
from specviz.trace.events import Option

METAVARS = {"int": "N", "float": "X", "bool": "true|false", "str": "WORD", "ints": "N,N,…"}
PLAIN = "drafter"
"""the kind whose options have plain names"""
WORDS = {"tree_policy": "tree policy", "stop_policy": "stop policy"}
"""what a kind is called where that is not its name"""
KINDS = ("drafter", "tree-policy", "stop-policy", "verifier")
"""kinds as their flags begin"""


def flag_of(role: str, option: str, taken: Sequence[str]) -> str:
    """The flag of an option of a method of this kind, `taken` being those that `run` has for itself."""
    plain = option.replace("_", "-")
    is_plain = role == PLAIN and f"--{plain}" not in taken and not plain.startswith(tuple(f"{kind}-" for kind in KINDS))
    flag = f"--{plain}" if is_plain else f"{_kind_flag(role)}-{plain}"
    return f"{_kind_flag(role)}-option-{plain}" if flag in taken else flag


def _kind_flag(role: str) -> str:
    return "--" + _called(role).replace(" ", "-")


def _called(role: str) -> str:
    return WORDS.get(role, role)


def option_help(option: OptionCard) -> str:
    """Help, legal values and default of an option in one line."""
    limits = []
    if option.choices:
        limits.append("one of " + ", ".join(option.choices))
    if option.minimum is not None or option.maximum is not None:
        low = "" if option.minimum is None else f"{option.minimum:g}"
        high = "" if option.maximum is None else f"{option.maximum:g}"
        limits.append(f"{low}…{high}")
    if option.default is not None:
        limits.append(f"default {option_text(option.default) or 'none'}")
    return f"{option.help} ({'; '.join(limits)})" if limits else option.help


def add_flags(
    parser: argparse.ArgumentParser, role: str, methods: Sequence[MethodDescription], own: Sequence[str]
) -> None:
    """One flag per option name; methods of one kind that share a name share it. `own`: the command's own flags."""
    parser.set_defaults(own_flags=tuple(own))
    group = parser.add_argument_group(f"{_called(role)} options")
    owners: dict[str, list[tuple[MethodDescription, OptionCard]]] = {}
    for method in methods:
        for option in method.options:
            owners.setdefault(option.name, []).append((method, option))
    for name, users in owners.items():
        is_switch = all(option.type == "bool" for _, option in users)
        group.add_argument(
            flag_of(role, name, own),
            dest=_dest(role, name),
            metavar=METAVARS.get(users[0][1].type, "VALUE"),
            nargs="?" if is_switch else None,
            const="true" if is_switch else None,
            help="; ".join(f"{method.name}: {option_help(option)}" for method, option in users).replace("%", "%%"),
        )


def read_flags(
    args: argparse.Namespace, role: str, name: str, methods: Sequence[MethodDescription]
) -> dict[str, Option]:
    """The options given for method `name`, as text: they are typed and judged in one place, where they are built.
    A name that the catalog lacks (`auto`) may use any method's. Raises OptionError for a flag of another method, or one
    that the others make useless.
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
                    f"{flag_of(role, option.name, args.own_flags)} belongs to {_called(role)} '{method.name}', but "
                    f"'{name}' was chosen; leave it out or add {_kind_flag(role)} {method.name}."
                )
            options[option.name] = text
            _check_limits(flag_of(role, option.name, args.own_flags), option, text)
    for method in users:
        _check_beside(args, role, method, options)
    return options


def _check_limits(flag: str, option: OptionCard, text: str) -> None:
    """Raises OptionError, naming the flag, for a number outside its limits; what is no number is judged where options
    are built."""
    try:
        numbers = [int(part) if option.type == "ints" else float(part) for part in text.split(",")]
    except ValueError:
        return
    if option.type == "int" and not all(map(isfinite, numbers)):
        return
    if option.type in ("int", "float", "ints"):
        for number in numbers:
            check_range(flag, option.minimum, option.maximum, int(number) if option.type == "int" else number)


def _check_beside(args: argparse.Namespace, role: str, method: MethodDescription, given: Mapping[str, Option]) -> None:
    """Raises OptionError where two of the flags given for a method do not go together."""
    for option in method.options:
        if option.name in given and given.get(option.unless):
            flag, other = (flag_of(role, one, args.own_flags) for one in (option.name, option.unless))
            raise OptionError(f"{flag} does nothing with {other}, which replaces it; leave one of them out.")


def check_shape(args: argparse.Namespace, drafter: MethodDescription, tree_policy: MethodDescription) -> None:
    """Raises OptionError where a flag asks the drafter for a shape that the tree policy decides."""
    for option in drafter.options:
        if option.shape and getattr(args, _dest(PLAIN, option.name)) is not None:
            instead = " or ".join(flag_of("tree_policy", one.name, args.own_flags) for one in tree_policy.options)
            raise OptionError(
                f"{flag_of(PLAIN, option.name, args.own_flags)} is an option of the drafter '{drafter.name}' for runs "
                f"without a tree policy, but --tree-policy {tree_policy.name} decides the shape; use {instead} "
                f"instead, or "
                "leave --tree-policy out."
            )


def _dest(role: str, option: str) -> str:
    return f"{role}_option_{option}"

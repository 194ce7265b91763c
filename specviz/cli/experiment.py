"""What measuring commands share: flags for the pair and the machine, and how a report is given and kept.

Place in the flow: used by `bench`, its experiments and `study`.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from specviz.bench.core.report import check_section
from specviz.cli.terminal import err, out, printable, stop_on_interrupt
from specviz.errors import OptionError
from specviz.options import several_numbers
from specviz.protocol.runs import RunRequest

T = TypeVar("T")
Cancelled = Callable[[], bool]
REQUEST = {field.name: field.default for field in fields(RunRequest)}
PAIR = ("target", "drafter_model", "seed", "dtype", "device")
"""names of the flags that are also fields of a request"""
BOTH = Path()
"""`--write` without a page: the documentation's and README.md"""


def add_machine_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--device", default="auto", metavar="DEV", help="auto, cpu, cuda or mps")
    add("--threads", type=int, default=1, metavar="N", help="torch threads (default %(default)s)")


def add_drafter_model(parser: argparse.ArgumentParser, further: str = "") -> None:
    """`further`: what else there is to say of it."""
    parser.add_argument(
        "--drafter-model",
        default=REQUEST["drafter_model"],
        metavar="NAME",
        help=f"weights of the model drafter (default %(default)s){further}",
    )


def add_target_flags(parser: argparse.ArgumentParser) -> None:
    """The target and the machine."""
    add = parser.add_argument
    add(
        "--target",
        default=REQUEST["target"],
        metavar="NAME",
        help="bundled name, folder or hub id (default %(default)s)",
    )
    add("--dtype", default="auto", metavar="D", help="auto, float32, bfloat16")
    add_machine_flags(parser)


def add_pair_flags(parser: argparse.ArgumentParser) -> None:
    """The target, the machine, the drafter's model and the seed."""
    add_target_flags(parser)
    add_drafter_model(parser)
    parser.add_argument(
        "--seed", type=int, default=REQUEST["seed"], metavar="S", help="seed of all that is drawn (default %(default)s)"
    )


def add_temperatures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--temperatures", default="0,0.8", metavar="T,T,…", help="everything is run at each (default %(default)s)"
    )


def temperatures(args: argparse.Namespace) -> tuple[float, ...]:
    """Raises OptionError for none, for one twice and for one below 0."""
    found = numbers(args, "temperatures", float, "0,0.8")
    if not found or len(set(found)) < len(found) or min(found) < 0:
        raise OptionError(f"--temperatures is '{args.temperatures}', but must be different numbers of at least 0.")
    return found


def add_write(parser: argparse.ArgumentParser, page: str, also: str = "") -> None:
    parser.add_argument(
        "--write",
        type=Path,
        nargs="?",
        const=BOTH,
        metavar="PAGE",
        help=f"write the tables between the marks of a page; where none is named, of {page}{also}",
    )


def page_of(where: Path, page: Path) -> Path:
    """The page that `--write` means."""
    return page if where == BOTH else where


def check_write(where: Path | None, mark: str, *pages: Path) -> None:
    """Raises BenchError where a page that `--write` means (`pages` where it names none) has no place for tables:
    before the measurement."""
    for page in () if where is None else pages if where == BOTH else (where,):
        check_section(page, mark)


def add_count(parser: argparse.ArgumentParser, flag: str, default: int, meaning: str) -> None:
    parser.add_argument(flag, type=int, default=default, metavar="N", help=f"{meaning} (default %(default)s)")


def at_least_one(args: argparse.Namespace, names: Iterable[str]) -> None:
    """Raises OptionError for a count below one."""
    for name in names:
        if getattr(args, name) < 1:
            raise OptionError(f"--{name.replace('_', '-')} is {getattr(args, name)}, but must be at least 1.")


def numbers(args: argparse.Namespace, name: str, kind: Callable[[str], T], example: str) -> tuple[T, ...]:
    """A flag with several numbers; empty where it is empty. Raises OptionError where they are none."""
    return several_numbers(f"--{name.replace('_', '-')}", getattr(args, name), kind, example)


@contextmanager
def time_limit(max_minutes: float | None = None) -> Iterator[Cancelled]:
    """Says whether to stop: after Ctrl-C, or once the minutes are over."""
    stopped, begun = threading.Event(), threading.Event()
    begun.set()
    deadline = time.monotonic() + max_minutes * 60 if max_minutes else float("inf")
    with stop_on_interrupt(begun, stopped):
        yield lambda: stopped.is_set() or time.monotonic() > deadline


def complain(unequal: Sequence[str]) -> int:
    """Says where lossless drafters broke what is asserted of them; the exit code, 1 where one did."""
    for sentence in unequal:
        err().line(f"specviz: {printable(sentence, keep='')} A lossless drafter may not; please report it.")
    return 1 if unequal else 0


def deliver(where: Path | None, data: Mapping[str, Any], tables: str) -> int:
    """Tables to standard output and JSON to the file `where`; `-` prints it instead of the tables."""
    if where is not None:
        text = json.dumps(data, indent=1)
        if str(where) == "-":
            out().line(text)
            return 0
        where.write_text(text + "\n", encoding="utf-8")
    out().write(printable(tables))
    return 0

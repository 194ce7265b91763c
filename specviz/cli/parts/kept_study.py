"""What every study's command ends with: the result is shown, and with `--write` kept and put into the documentation."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from specviz.bench.core.report import check_section, write_between
from specviz.cli.parts.terminal import out

StudyT = TypeVar("StudyT")


@dataclass(frozen=True, slots=True)
class KeptStudy(Generic[StudyT]):
    """Where the result of a study is kept, and where its tables stand."""

    result: Path
    page: Path
    mark: str
    """name of the page's section"""
    read: Callable[[Path], StudyT]
    write: Callable[[StudyT, Path], None]
    tables: Callable[[StudyT], str]
    """Markdown"""

    def run(self, args: argparse.Namespace, study: Callable[[], StudyT]) -> int:
        """Runs the study, unless `add_flags`'s `--tables` asks for the kept result. Raises BenchError before that where
        the page has no such section."""
        if args.tables or args.write:
            check_section(self.page, self.mark)
        found = self.read(self.result) if args.tables else study()
        tables = self.tables(found)
        out().line(tables)
        if args.write:
            self.result.parent.mkdir(parents=True, exist_ok=True)
            self.write(found, self.result)
        if args.tables or args.write:
            write_between(self.page, self.mark, tables)
        return 0


def add_flags(add: Callable[..., object], only: Callable[..., object] | None = None, kept: str = "the result") -> None:
    """`--write` and `--tables`; the latter to `only`, where it excludes other flags."""
    (only or add)("--tables", action="store_true", help="run nothing: write the tables of the kept result anew")
    add("--write", action="store_true", help=f"keep {kept} in assets and write the tables into docs")

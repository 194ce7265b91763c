"""What feature sampling and partial alignment each bring to FSPAD-style drafting: ten networks and their acceptance.

Place in the flow: `measure` trains and measures them; the page of the drafter has the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from specviz.studies.study import STUDIES, THREADS, Codec, Flag, Remade, Study, Table, work_folder


@dataclass(frozen=True, slots=True)
class Cell:
    """One network and what became of it."""

    sampling: int
    alignment: float
    beside: float
    parameters: int
    before: dict[str, Any]
    after: dict[str, Any]
    """as `measure.Acceptance` says"""
    losses: dict[str, float]


@dataclass(frozen=True, slots=True)
class FspadStudy:
    """All cells, EAGLE-1 first."""

    command: str
    target: str
    target_sha256: str
    tokens: int
    steps: int
    seconds: float
    cells: tuple[Cell, ...] = field(default_factory=tuple)


def markdown(study: FspadStudy) -> str:
    """The table: tokens of a greedy chain of four that are accepted, and acceptance at depths 1 and 4."""
    heads = ("m", "β", "r", "parameters", "accepted of 4, greedy", "acceptance, depth 1", "acceptance, depth 4")
    rows = []
    for cell in study.cells:
        acceptance: Sequence[float] = cell.after["acceptance"]
        named = " (EAGLE-1)" if (cell.sampling, cell.alignment, cell.beside) == (1, 1.0, 0.0) else ""
        rows.append(
            [
                f"{cell.sampling}{named}",
                f"{cell.alignment:g}",
                f"{cell.beside:g}",
                f"{cell.parameters / 1e6:.2f} M",
                f"{cell.after['accepted']:.2f}",
                f"{acceptance[0]:.3f}",
                f"{acceptance[-1]:.3f}",
            ]
        )
    target = f"Target `{study.target}` (sha256 {study.target_sha256[:12]})"
    return "\n\n".join(
        (
            f"{target}, {study.tokens / 1000:.0f} k tokens for every cell.",
            Table(heads, rows, words=len(heads)).markdown(),
            f"Made by `{study.command}`.",
        )
    )


STUDY = STUDIES.add(
    Study(
        name="fspad",
        home=__package__,
        summary="train FSPAD-style drafters with each idea stronger and weaker for equally many tokens, and measure "
        "them",
        question="Feature sampling or partial alignment?",
        order=None,
        codec=Codec(FspadStudy, "FSPAD study", None, "specviz study fspad --write", indented=True),
        file="studies/fspad.json",
        page="methods/fspad.md",
        section="fspad study",
        tables=markdown,
        flags=(
            Flag("--minutes", "most minutes for all cells (default %(default)s)", 10.0, float, "M"),
            Flag("--tokens", "most tokens for each cell (default %(default)s)", 2_000_000, int, "N"),
            Flag("--target", "bundled name or folder of the target (default %(default)s)", "target", str, "NAME"),
            work_folder("train", "texts and checkpoints; a study goes on from it"),
            THREADS,
        ),
        remade=Remade("what each half of FSPAD brings", 35, ("--minutes", "30"), rests_on=("target",), shares=True),
    )
)

"""One document, many questions: what reading it once is worth, and what answering all of them in one pass. Nothing is
drafted: it is there for comparison.

Place in the flow: `measure` makes it; the documentation and the command show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz.studies.study import STUDIES, Flag, Remade, Study, Table, count

HEAD = ("way", "× read again", "quartiles", "tokens/s", "passes", "rows computed", "rows held", "same answers")


@dataclass(frozen=True, slots=True)
class WayRow:
    """One way over all repeats."""

    way: str
    ratio: float
    """median of the time of `read again` in the same repeat over its own"""
    ratio_low: float
    ratio_high: float
    """first and third quartile"""
    tokens_per_s: float
    """median"""
    passes: int
    rows: int
    held: int
    same: int
    """answers that are those of `read again`"""


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """One measurement."""

    rows: Sequence[WayRow]
    questions: int
    document_tokens: int
    most: int
    """tokens of an answer"""
    repeats: int
    origin: str
    """machine, versions, weights and date as a sentence"""


def markdown(report: QuestionReport) -> str:
    rows = [
        (row.way, f"{row.ratio:.2f}", f"{row.ratio_low:.2f} to {row.ratio_high:.2f}", f"{row.tokens_per_s:.0f}",
         str(row.passes), str(row.rows), str(row.held), f"{row.same}/{report.questions}")
        for row in report.rows
    ]  # fmt: skip
    return (
        f"{report.questions} questions to a document of {report.document_tokens} tokens, at most {report.most} tokens "
        f"an answer, greedy, {report.repeats} repeats:\n\n{Table(HEAD, rows).markdown()}\n\n{report.origin}"
    )


STUDY = STUDIES.add(
    Study(
        name="questions",
        home=__package__,
        summary="one document, many questions: read once, answered together (no speculation, for comparison)",
        question="One document, many questions?",
        order=None,
        formerly=("bench questions",),
        page="questions.md",
        section="bench questions",
        tables=markdown,
        flags=(
            Flag("--document", "UTF-8 text that all questions share (default: a short one)", None, Path, "FILE"),
            Flag("--questions", "UTF-8 text, one question a line, set behind the document", None, Path, "FILE"),
            count("--max-new-tokens", 32, "tokens per answer, where it does not end before"),
            count("--repeats", 5, "times everything is answered in each way"),
        ),
        shared_flags="target",
        remade=Remade("one document, many questions", 1, ("--dtype", "float32"), ("target",)),
    )
)

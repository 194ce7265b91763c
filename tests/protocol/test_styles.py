"""Prompt styles as a file: what is written is read back, and what cannot be so is refused in one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.errors import TraceError
from specviz.protocol import styles
from specviz.protocol.styles import FORMAT, PLAIN, VERSION, Cell, StyleAnswer, StyleFile, StyleRun
from specviz.trace import codec

STARTED = codec.read(Path(__file__).parent.parent / "golden" / "trace-1.0-sample.json").started
RIGHT = {"direct": (False, True), "chain": (True, True), "draft": (False, False)}
"""style → which of its two answers are right"""
TOKENS = {"direct": 10, "chain": 30, "draft": 20}


def run(style: str, number: int, drafter: str, seconds: float, accepted: int) -> StyleRun:
    """Ten candidates drafted in five rounds, eight of them tested; nothing by plain decoding."""
    drafts = drafter != PLAIN
    cell = Cell("sums", "words", style, number)
    return StyleRun(cell, drafter, 0, seconds, TOKENS[style], 5 * drafts, 10 * drafts, accepted * drafts, 8 * drafts,
                    RIGHT[style][number], True)  # fmt: skip


def sample(followed: tuple[str, ...] = ("direct", "chain"), accepted: dict[str, int] | None = None) -> StyleFile:
    """Two sums asked in three styles. A token takes 10 ms by plain decoding, 5 ms by `model`."""
    found = accepted or {"direct": 4, "chain": 6, "draft": 2}
    cells = [(style, number) for number in (0, 1) for style in TOKENS]
    answers = tuple(
        StyleAnswer(Cell("sums", "words", style, number), f"{style}?", 4, f"<b>{style}</b> {number}", style in followed)
        for style, number in cells
    )
    runs = [run(style, number, drafter, TOKENS[style] * each, found[style])
            for style, number in cells for drafter, each in ((PLAIN, 0.01), ("model", 0.005))]  # fmt: skip
    return StyleFile(
        FORMAT, VERSION, STARTED.machine, STARTED.target, (STARTED.target,), "2026-01-31T12:00:00Z", "process", 0.5,
        "the command", 7, 96, answers, tuple(runs),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["styles.json", "styles.json.gz"])
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    styles.write(sample(), tmp_path / name)
    assert styles.read(tmp_path / name) == sample()


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"format": "specviz-batches", "version": "1.0"}))
    with pytest.raises(TraceError, match=r"other\.json: this is no file of styles of version 1\.0"):
        styles.read(path)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (replace(sample(), clock="sun"), "its clock is neither of the two"),
        (replace(sample(), runs=tuple(one for one in sample().runs if one.drafter == PLAIN)), "nothing was measured"),
        (replace(sample(), runs=(*sample().runs, sample().runs[0])), "is there twice"),
        (replace(sample(), runs=sample().runs[1:]), "has no plain decoding beside it"),
        (replace(sample(), answers=sample().answers[1:]), "has no answer of plain decoding"),
        (replace(sample(), runs=(*sample().runs[:-1], replace(sample().runs[-1], accepted=9))), "impossible times"),
        (replace(sample(), runs=(*sample().runs[:-1], replace(sample().runs[-1], drafts=11))), "impossible drafts"),
        (replace(sample(), answers=(replace(sample().answers[0], cell=Cell("sums", "words", "poem", 0)),)),
         "sums 1 words poem is of no kind, way or style"),
    ],
)  # fmt: skip
def test_what_cannot_be_so_is_refused_when_it_is_written(tmp_path: Path, changed: StyleFile, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        styles.write(changed, tmp_path / "styles.json")
    assert not list(tmp_path.iterdir())

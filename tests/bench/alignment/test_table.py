"""The alignment study as Markdown: what was run later stands with its like."""

from __future__ import annotations

from specviz.bench.alignment.table import markdown
from specviz.studies.alignment.result import AlignmentCell, AlignmentFigures, AlignmentStart, AlignmentStudy, Measured

SAME: Measured = {"0": dict.fromkeys(("english", "python"), AlignmentFigures(0.5, 2.0, 1.5, 0.6, (0.5, 0.4)))}


def cell(loss: str, data: str) -> AlignmentCell:
    return AlignmentCell("grid", "weak", loss, data, "both", (0.0,), 1.0, SAME)


def test_rows_on_the_same_texts_stand_together_in_the_order_of_the_first() -> None:
    cells = (cell("fkl", "target"), cell("fkl", "corpus"), cell("rkl", "target"), cell("fkl", "drafter"))
    start = {"weak": AlignmentStart(4.0, 0.01, SAME)}
    study = AlignmentStudy(4, 1000, {"english": 1, "python": 1}, start, cells, 4, {}, "the command", "a machine")
    rows = [line.split(" | ")[:2] for line in markdown(study).splitlines() if line.startswith("| ")]
    grid = ["before", "target", "target", "corpus", "drafter"]
    assert [texts.removeprefix("| ") for texts, _ in rows if "---" not in texts] == 2 * ["texts", *grid]
    assert [loss for _, loss in rows[2:5]] == ["–", "fkl", "rkl"]

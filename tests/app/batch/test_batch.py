"""The study of batches: what the chart, the table and the sentence say of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from specviz.app.batch.figure import batch_figure
from specviz.app.batch.study import batch_table
from specviz.app.batch.view import batch_view, shipped
from specviz.studies.batches.result import PLAIN
from tests.protocol.test_batches import CHAIN, point, sample

TREE = (2, 1)
FILE = sample({1: 1.5, 2: 1.25, 4: 0.5}, (CHAIN, TREE))


def test_the_chart_has_a_line_for_each_shape_in_both_panels_and_one_for_plain_decoding() -> None:
    figure = batch_figure(batch_view(FILE))
    assert [(line.name, line.yaxis) for line in figure.data] == [
        ("γ = 2", "y"), ("γ = 2", "y2"), ("tree 2,1", "y"), ("tree 2,1", "y2"), ("plain decoding", "y"),
    ]  # fmt: skip
    speedup, acceptance = figure.data[:2]
    assert [round(y, 6) for y in speedup.y] == [1.5, 1.25, 0.5]
    assert list(acceptance.y) == [0.5, 0.5, 0.5]
    assert list(figure.data[-1].y) == [1, 1]
    assert list(figure.layout.xaxis.tickvals) == [1, 2, 4]
    assert len({line.marker.symbol for line in figure.data[:4]}) == 2


def test_intervals_are_quartiles_above_and_of_prompts_below() -> None:
    more = (point(PLAIN, 1, 1.0, 1), point(CHAIN, 1, 1 / 2.5, 1))
    figure = batch_figure(batch_view(replace(FILE, points=FILE.points + more)))
    speedup, acceptance = figure.data[:2]
    assert round(speedup.y[0], 6) == 2.0
    assert round(speedup.error_y.array[0], 6) == round(speedup.error_y.arrayminus[0], 6) == 0.25
    assert (acceptance.error_y.array[0], acceptance.error_y.arrayminus[0]) == (0.25, 0.25)
    assert "<b>γ = 2</b>, B = 1<br>2.00 × plain (1.75 to 2.25)" in speedup.hovertext[0]


def test_the_table_has_a_row_for_each_size_and_a_column_for_each_way() -> None:
    table = batch_table(batch_view(FILE))
    assert table.count("<tr>") == 1 + 3
    assert table.count('data-column="plain decoding">40 tokens/s') == 3
    assert table.count("1.50× (1.50 to 1.50)") == 2
    assert table.count('data-column="tree 2,1"') == 3


def test_it_is_said_to_be_recorded_and_where() -> None:
    view = batch_view(FILE)
    assert view.sentence.startswith("With γ = 2 speculation pays up to B = 2 (1.25×) and stops paying at B = 4 (0.50×)")
    assert view.origin.startswith(f"Recorded 2026-01-31T12:00:00Z on {FILE.machine.processor}, ")
    assert (
        "; 2 texts of at most 20 tokens, the same at every batch size B, temperature 0, seed 7, 1 repeat, by the time "
        in view.origin
    )


def test_the_shipped_measurement_is_drawn() -> None:
    file = shipped()
    assert file is not None
    view = batch_view(file)
    assert {row.size for row in view.rows} >= {1, 2, 4, 8, 16}
    assert {max(row.shape, default=0) > 1 for row in view.rows} == {False, True}, "chains and a tree"
    assert all(row.same == row.texts for row in view.rows)
    assert batch_figure(view).data


def test_a_damaged_file_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "batch.json").write_text("{}")
    assert shipped(tmp_path / "batch.json") is None
    assert shipped(tmp_path / "missing.json") is None

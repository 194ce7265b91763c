"""Batches: what cannot be so is refused, numbers, the sentence that follows from them, chart and table."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.app.studies.chart import draw
from specviz.app.studies.tab import tables_html
from specviz.errors import TraceError
from specviz.studies.batches.points import (
    FORMAT,
    PLAIN,
    VERSION,
    BatchFile,
    BatchPoint,
    BatchText,
    Shape,
    name_of,
    problems,
)
from specviz.studies.batches.result import STUDY, markdown, rows, sentence, stops_paying, unequal, view
from specviz.trace import codec

STARTED = codec.read(Path(__file__).parents[1] / "golden" / "trace-1.0-sample.json").started
CHAIN: Shape = (1, 1)


def point(shape: Shape, size: int, seconds: float, repeat: int = 0) -> BatchPoint:
    """40 tokens; half of the time in passes, of which each serves all texts."""
    passes = 40 // size
    return BatchPoint(shape, size, repeat, seconds, seconds / 2, 40, passes, passes * size, 0 if shape == PLAIN else 8)


def text(shape: Shape, size: int, prompt: str = "a", accepted: int = 6, same: bool = True) -> BatchText:
    drafted = 0 if shape == PLAIN else 8
    return BatchText(shape, size, prompt, drafted // 2, drafted, accepted if drafted else 0, same)


def sample(speedups: dict[int, float], shapes: tuple[Shape, ...] = (CHAIN,)) -> BatchFile:
    """Plain decoding takes a second at every size; every shape is `speedups` times as fast."""
    points = [point(PLAIN, size, 1.0) for size in speedups]
    points += [point(shape, size, 1 / ratio) for shape in shapes for size, ratio in speedups.items()]
    texts = [
        text(shape, size, prompt, accepted)
        for shape in (PLAIN, *shapes)
        for size in speedups
        for prompt, accepted in (("a", 6), ("b", 2))
    ]
    return BatchFile(
        FORMAT, VERSION, STARTED.machine, STARTED.target, STARTED.target, "2026-01-31T12:00:00Z", "process",
        1.25, 0.0, 7, 20,
        tuple(points), tuple(texts),
    )  # fmt: skip


GOOD = sample({1: 1.5, 2: 1.25})


@pytest.mark.parametrize(
    ("shape", "name"),
    [((), "plain decoding"), ((1, 1, 1), "γ = 3"), ((3, 2, 1), "tree 3,2,1"), ((0, 0), "a budget up to 2")],
)
def test_a_shape_has_a_name(shape: Shape, name: str) -> None:
    assert name_of(shape) == name


def _points(*more: BatchPoint, without: int = 0) -> BatchFile:
    return replace(GOOD, points=(*GOOD.points[without:], *more))


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (replace(GOOD, clock="sun"), "its clock is neither of the two"),
        (replace(GOOD, points=GOOD.points[:2]), "nothing but plain decoding was measured"),
        (_points(without=1), "γ = 2 in batches of 1, repeat 1, has no plain decoding to compare with"),
        (_points(point(CHAIN, 2, 1.0)), "γ = 2 in batches of 2, repeat 1, is there twice"),
        (replace(GOOD, texts=GOOD.texts[2:]), "plain decoding in batches of 1, repeat 1, has no texts"),
        (_points(replace(point(PLAIN, 1, 1.0, 1), pass_s=2.0)), "batches of 1 has impossible times or counts"),
        (_points(replace(point(PLAIN, 1, 1.0, 1), tokens=3)), "batches of 1 has impossible times or counts"),
        (_points(replace(point(PLAIN, 1, 1.0, 1), shares=41)), "has more texts in its passes than there are"),
        (replace(GOOD, texts=(*GOOD.texts, text(CHAIN, 1, "c", 9))), "γ = 2 on c has impossible counts"),
    ],
)
def test_what_cannot_be_so_is_neither_written_nor_read(tmp_path: Path, file: BatchFile, said: str) -> None:
    assert any(said in problem for problem in problems(file))
    with pytest.raises(TraceError, match=said):
        STUDY.codec.write(file, tmp_path / "batch.json")
    assert not list(tmp_path.iterdir())


def test_another_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "batch.json"
    STUDY.codec.write(GOOD, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seed": "seven"}))
    with pytest.raises(TraceError, match="seed"):
        STUDY.codec.read(path)


TREE = (2, 1)


def test_a_speedup_is_over_plain_decoding_of_the_same_size_and_repeat() -> None:
    file = sample({1: 2.0, 4: 0.5})
    more = (point(PLAIN, 1, 3.0, 1), point(CHAIN, 1, 0.75, 1), point(PLAIN, 1, 1.0, 2), point(CHAIN, 1, 0.25, 2))
    by_size = {row.size: row for row in rows(replace(file, points=file.points + more)) if row.shape == CHAIN}
    assert by_size[1].speedup == (3.0, 4.0, 4.0)
    assert by_size[1].pass_speedup == 4.0
    assert by_size[4].speedup == (0.5, 0.5, 0.5)
    assert (by_size[1].tokens_per_s, by_size[4].tokens_per_s) == (80.0, 20.0)
    assert (by_size[1].texts_per_pass, by_size[4].texts_per_pass) == (1.0, 4.0)


def test_acceptance_is_over_all_texts_and_its_interval_over_prompts() -> None:
    (plain, chain) = rows(sample({1: 2.0}))
    assert (plain.speedup, plain.pass_speedup, plain.acceptance, plain.length) == (None, None, None, None)
    assert chain.acceptance == (0.5, 0.25, 0.75)
    assert chain.length.value == (8 + 8) / 8
    assert (chain.same, chain.texts) == (2, 2)


def test_plain_decoding_comes_first_then_chains_by_length_then_trees() -> None:
    found = rows(sample({2: 1.0, 1: 1.0}, (TREE, (1, 1, 1), (1,))))
    seen = [(row.shape, row.size) for row in found]
    assert seen == [((), 1), ((), 2), ((1,), 1), ((1,), 2), ((1, 1, 1), 1), ((1, 1, 1), 2), (TREE, 1), (TREE, 2)]


@pytest.mark.parametrize(
    ("speedups", "stop", "said"),
    [
        ({1: 1.5, 4: 1.2, 8: 0.9}, 8, "pays up to B = 4 (1.20×) and stops paying at B = 8 (0.90×)."),
        ({1: 1.5, 4: 0.9, 8: 0.8}, 4, "pays up to B = 1 (1.50×) and stops paying at B = 4 (0.90×)."),
        ({1: 1.5, 4: 1.1}, None, "pays up to B = 4 (1.10×), the largest batch measured."),
        ({1: 1.5, 4: 0.9, 8: 1.1}, None, "pays at B = 1 (1.50×), B = 8 (1.10×), the largest batch measured."),
        ({1: 0.9, 2: 1.1, 4: 0.9}, 4, "pays at B = 2 (1.10×) and stops paying at B = 4 (0.90×)."),
        ({1: 0.9, 4: 0.8}, 1, "pays at no size measured; best is B = 1 (0.90×)."),
        ({1: 1.0}, 1, "pays at no size measured; best is B = 1 (1.00×)."),
    ],
)
def test_it_stops_paying_at_the_size_from_which_on_none_is_faster(speedups, stop, said) -> None:
    found = rows(sample(speedups))
    assert stops_paying([row for row in found if row.shape == CHAIN]) == stop
    assert sentence(found) == f"With γ = 2 speculation {said} Acceptance is the same at every size."


def test_a_size_pays_only_where_its_lower_quartile_does() -> None:
    file = sample({1: 1.5})
    again = [
        (point(PLAIN, 1, 1.0, repeat), point(CHAIN, 1, seconds, repeat)) for repeat, seconds in ((1, 2.0), (2, 0.5))
    ]
    plain, found = rows(replace(file, points=(*file.points, *(one for pair in again for one in pair))))
    assert found.speedup == (1.0, 1.5, 1.75), "0.5, 1.5 and 2: the median is faster than plain decoding"
    assert "pays at no size measured" in sentence([plain, found])


def test_texts_in_a_pass_and_texts_as_without_a_batch_are_over_all_repeats() -> None:
    """40 texts' shares in 10 passes, then 30 in 20; one of the three texts is not what it is alone."""
    file = sample({4: 2.0})
    again = (point(PLAIN, 4, 1.0, 1), replace(point(CHAIN, 4, 0.5, 1), target_passes=20, shares=30))
    texts = (*file.texts, text(CHAIN, 4, "c", same=False))
    (_, chain) = rows(replace(file, points=file.points + again, texts=texts))
    assert chain.texts_per_pass == (40 + 30) / (10 + 20)
    assert (chain.same, chain.texts) == (2, 3)


def test_each_shape_has_its_verdict_and_other_acceptance_is_said() -> None:
    file = sample({1: 1.5, 2: 0.5}, (CHAIN, TREE))
    found = sentence(rows(replace(file, texts=(*file.texts, text(TREE, 2, "c", 0)))))
    assert "With γ = 2 speculation pays up to B = 1" in found
    assert "With tree 2,1 speculation pays up to B = 1" in found
    assert found.endswith("Acceptance differs by at most 0.1667 between sizes.")


CUT: Shape = (0, 0, 0)


def full(shape: Shape, size: int, seconds: float) -> BatchPoint:
    """So many seconds, and as many modelled ones for 20 tokens until the first text ended."""
    return replace(point(shape, size, seconds), full_tokens=20, modelled_s=seconds)


def test_a_budget_is_held_against_plain_decoding_and_the_best_chain() -> None:
    """Plain decoding takes 4 s. γ = 2: 2 and 5 s, the budget: 2.5 and 3.2 s: 1.6 × and 1.25 × plain."""
    seconds = {(PLAIN, 1): 4.0, (PLAIN, 8): 4.0, (CHAIN, 1): 2.0, (CHAIN, 8): 5.0, (CUT, 1): 2.5, (CUT, 8): 3.2}
    points = tuple(full(shape, size, time) for (shape, size), time in seconds.items())
    texts = tuple(text(shape, size, accepted=6 if shape == CHAIN else size) for shape, size in seconds)
    found = rows(replace(GOOD, points=points, texts=texts))
    assert [(row.shape, row.size, row.modelled) for row in found[2:]] == [
        (CHAIN, 1, 2.0), (CHAIN, 8, 0.8), (CUT, 1, 1.6), (CUT, 8, 1.25),
    ]  # fmt: skip
    assert (
        "With a budget up to 3 a batch is at worst 1.25 × as fast as plain (B = 8) and 0.80 × as fast as with the best "
        "fixed γ (B = 1)." in sentence(found)
    )
    assert sentence(found).endswith("Acceptance is the same at every size."), "that of a budget depends on the size"


def test_the_tables_have_a_column_of_modelled_time_only_where_it_is_known() -> None:
    points = (full(PLAIN, 1, 4.0), full(CHAIN, 1, 2.0))
    texts = (text(PLAIN, 1), text(CHAIN, 1))
    assert "× modelled, batch full" not in markdown(GOOD)
    assert "| same text | × modelled, batch full |" in markdown(replace(GOOD, points=points, texts=texts))


FILE = sample({1: 1.5, 2: 1.25, 4: 0.5}, (CHAIN, TREE))


def test_the_chart_has_a_line_for_each_shape_in_both_panels_and_one_for_plain_decoding() -> None:
    figure = draw(view(FILE).chart)
    seen = [(line.name, line.yaxis) for line in figure.data]
    assert seen == [("γ = 2", "y"), ("γ = 2", "y2"), ("tree 2,1", "y"), ("tree 2,1", "y2"), ("plain decoding", "y")]
    speedup, acceptance = figure.data[:2]
    assert [round(y, 6) for y in speedup.y] == [1.5, 1.25, 0.5]
    assert list(acceptance.y) == [0.5, 0.5, 0.5]
    assert list(figure.data[-1].y) == [1, 1]
    assert list(figure.layout.xaxis.tickvals) == [1, 2, 4]
    assert len({line.marker.symbol for line in figure.data[:4]}) == 2


def test_intervals_are_quartiles_above_and_of_prompts_below() -> None:
    more = (point(PLAIN, 1, 1.0, 1), point(CHAIN, 1, 1 / 2.5, 1))
    figure = draw(view(replace(FILE, points=FILE.points + more)).chart)
    speedup, acceptance = figure.data[:2]
    assert round(speedup.y[0], 6) == 2.0
    assert round(speedup.error_y.array[0], 6) == round(speedup.error_y.arrayminus[0], 6) == 0.25
    assert (acceptance.error_y.array[0], acceptance.error_y.arrayminus[0]) == (0.25, 0.25)
    assert "<b>γ = 2</b>, B = 1<br>2.00 × plain (1.75 to 2.25)" in speedup.hovertext[0]


def test_the_table_has_a_row_for_each_size_and_a_column_for_each_way() -> None:
    table = tables_html(view(FILE))
    assert table.count("<tr>") == 1 + 3
    assert table.count('data-column="plain decoding">40 tokens/s') == 3
    assert table.count("1.50× (1.50 to 1.50)") == 2
    assert table.count('data-column="tree 2,1"') == 3


def test_it_is_said_to_be_recorded_and_where() -> None:
    said = view(FILE)
    assert said.sentence.startswith("With γ = 2 speculation pays up to B = 2 (1.25×) and stops paying at B = 4 (0.50×)")
    assert said.origin.startswith(f"Recorded 2026-01-31T12:00:00Z on {FILE.machine.processor}, ")
    assert (
        "; 2 texts of at most 20 tokens, the same at every batch size B, temperature 0, seed 7, 1 repeat, by the time "
        in said.origin
    )


def test_the_shipped_measurement_has_five_sizes_chains_and_a_tree() -> None:
    file = STUDY.shipped()
    found = rows(file)
    assert {row.size for row in found} >= {1, 2, 4, 8, 16}
    assert {max(row.shape, default=0) > 1 for row in found} == {False, True}, "chains and a tree"
    assert all(row.same == row.texts for row in found)


def test_a_text_that_differs_is_said_with_its_prompt_size_and_shape() -> None:
    texts = (text(CHAIN, 4, "a", same=False), text(CHAIN, 4, "b"), text((2,), 2, "a", same=False))
    wrong = replace(FILE, texts=texts, target=replace(FILE.target, dtype="float32"))
    assert unequal(wrong) == [
        "γ = 2 in batches of 4 wrote another text than without a batch on a.",
        "tree 2 in batches of 2 wrote another text than without a batch on a.",
    ]
    assert unequal(replace(wrong, temperature=0.8)) == []
    assert unequal(replace(wrong, target=replace(FILE.target, dtype="bfloat16"))) == []

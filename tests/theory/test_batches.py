"""Speedup and acceptance against batch size, and the sentence that follows from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specviz.studies.batches.result import PLAIN
from specviz.theory.batches import rows, sentence, stops_paying
from tests.protocol.test_batches import CHAIN, point, sample, text

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
    assert chain.acceptance is not None
    assert chain.length is not None
    assert chain.acceptance == (0.5, 0.25, 0.75)
    assert chain.length.value == (8 + 8) / 8
    assert (chain.same, chain.texts) == (2, 2)


def test_plain_decoding_comes_first_then_chains_by_length_then_trees() -> None:
    found = rows(sample({2: 1.0, 1: 1.0}, (TREE, (1, 1, 1), (1,))))
    assert [(row.shape, row.size) for row in found] == [
        ((), 1), ((), 2), ((1,), 1), ((1,), 2), ((1, 1, 1), 1), ((1, 1, 1), 2), (TREE, 1), (TREE, 2),
    ]  # fmt: skip


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

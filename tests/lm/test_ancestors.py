"""The mask of the largest tree serves all trees that begin like it; every call's mask is what it is from scratch."""

import random

import numpy as np

from specviz.lm.rows import AncestorMasks, TreeCache, build

FORK = [-1, 0, 0, 1, 2, 3, 4]
"""a root, two candidates, and a chain of two below each"""


def test_a_row_sees_its_ancestors_and_itself():
    assert build([-1, 0, 0, 1]).tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [True, False, True, False],
        [True, True, False, True],
    ]


def test_the_largest_mask_is_built_once_and_cut():
    masks = AncestorMasks()
    for rows in (7, 3, 5, 1, 7):
        assert np.array_equal(masks.of(FORK[:rows]), build(FORK[:rows]))
    assert (masks.built, masks.largest) == (1, 7)


def test_a_larger_tree_takes_the_place_of_the_one_it_goes_on_from():
    masks = AncestorMasks()
    masks.of(FORK[:3])
    masks.of(FORK)
    masks.of(FORK[:3])
    assert (masks.built, len(masks._kept)) == (2, 1)


def test_another_shape_does_not_drive_out_the_first():
    masks = AncestorMasks()
    for parents in (FORK, [-1, 0, 1, 1], FORK[:5], [-1, 0, 1]):
        assert np.array_equal(masks.of(parents), build(parents))
    assert masks.built == 2


class Bare(TreeCache):
    def _move_rows(self, rows, start):
        pass

    def _drop_rows(self, length):
        pass


def test_every_calls_mask_is_the_one_worked_out_row_by_row():
    """Random trees on random texts, fed level by level and kept in part; some hang from the middle of the text."""
    rng = random.Random(4)
    cut, branched = 0, 0
    for _ in range(60):
        cache = Bare()
        cache.add(cache.place(range(3), None, 99))
        cache.keep(range(3))
        for _ in range(4):
            start = cache.length
            lowest = 0 if rng.random() < 0.1 else cache.base - 1
            parents = [rng.randrange(lowest, start + i) for i in range(rng.randint(1, 5))]
            placed = cache.place([0] * len(parents), parents, 99)
            if placed.visible is not None:
                alone = cache._visible_row_by_row(start, len(parents), placed.on_spine, placed.beside)
                assert np.array_equal(placed.visible, alone)
                cut += 1
                branched += lowest == 0
            cache.add(placed)
    assert cut > 100
    assert branched > 5

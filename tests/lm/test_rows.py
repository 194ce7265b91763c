"""Row bookkeeping, on masks small enough to be written out."""

import pytest

from specviz.errors import ModelError
from specviz.lm.rows import TreeCache


class Paper(TreeCache):
    """Keeps row contents on paper: what is at each place, and which moves were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.moves: list[tuple[list[int], int]] = []

    def _move_rows(self, rows: list[int], start: int) -> None:
        self.moves.append((rows, start))

    def _drop_rows(self, length: int) -> None:
        self.dropped_from = length


def add(cache: Paper, tokens, parents=None):
    placement = cache.place(tokens, parents, 100)
    cache.add(placement)
    return placement


def after_text(*tokens: int) -> Paper:
    cache = Paper()
    add(cache, tokens)
    cache.keep(range(len(tokens)))
    cache.moves.clear()
    return cache


def picture(placement) -> list[str]:
    return ["".join("x" if seen else "." for seen in row) for row in placement.visible]


def test_a_chain_after_the_text_needs_no_mask():
    placement = add(after_text(7, 8), [1, 2, 3])
    assert placement.visible is None
    assert placement.positions == [2, 3, 4]


def test_a_chain_that_went_on_behind_the_text_can_be_branched_from_and_kept_like_any_rows():
    cache = after_text(7, 8)
    cache.go_on([1, 2, 3])
    assert cache.tokens == [7, 8, 1, 2, 3]
    placement = add(cache, [4, 5], [4, 2])
    assert placement.positions == [5, 3]
    assert picture(placement) == ["xxxxxx.", "xxx...x"]
    cache.keep([2, 6])
    assert (cache.tokens, cache.base, cache.moves) == ([7, 8, 1, 5], 4, [([6], 3)])


def test_siblings_do_not_see_each_other_and_share_a_position():
    cache = after_text(7, 8)
    placement = add(cache, [1, 2, 3, 4], [1, 2, 2, 4])
    assert placement.positions == [2, 3, 3, 4]
    assert picture(placement) == ["xxx...", "xxxx..", "xxx.x.", "xxx.xx"]


def test_a_row_may_branch_off_inside_the_text():
    placement = add(after_text(7, 8, 9), [1], [0])
    assert placement.positions == [1]
    assert picture(placement) == ["x..x"]


def test_a_later_call_can_grow_any_branch():
    cache = after_text(7)
    add(cache, [1, 2], [0, 0])
    placement = add(cache, [3, 4], [2, 1])
    assert placement.positions == [2, 2]
    assert picture(placement) == ["x.xx.", "xx..x"]


@pytest.mark.parametrize("rows", [[1, 2], range(1, 3)])
def test_keeping_a_prefix_moves_nothing(rows):
    cache = after_text(7)
    add(cache, [1, 2, 3])
    cache.keep(rows)
    assert (cache.tokens, cache.base, cache.length, cache.moves) == ([7, 1, 2], 3, 3, [])
    assert add(cache, [5, 6]).positions == [3, 4]


def test_keeping_a_branch_moves_only_the_rows_that_are_out_of_place():
    cache = after_text(7)
    add(cache, [1, 2, 3, 4], [0, 1, 1, 3])
    cache.keep([1, 3, 4])
    assert (cache.tokens, cache.base, cache.moves) == ([7, 1, 3, 4], 4, [([3, 4], 2)])


def test_after_keep_the_kept_rows_are_text():
    cache = after_text(7)
    add(cache, [1, 2, 3], [0, 1, 1])
    cache.keep([1, 3])
    assert add(cache, [5]).visible is None


def test_an_empty_path_drops_the_tree():
    cache = after_text(7)
    add(cache, [1, 2], [0, 0])
    cache.keep([])
    assert (cache.tokens, cache.base, cache.dropped_from) == ([7], 1, 1)


def test_truncate_forgets_text_and_tree():
    cache = after_text(7, 8, 9)
    add(cache, [1])
    cache.truncate(1)
    assert (cache.tokens, cache.base, cache.length) == ([7], 1, 1)


def test_a_path_that_skips_a_generation_is_our_mistake():
    cache = after_text(7)
    add(cache, [1, 2, 3])
    with pytest.raises(AssertionError, match="row 3 continues row 2, not row 1"):
        cache.keep([1, 3])


def test_siblings_in_a_row_are_no_path():
    cache = after_text(7)
    add(cache, [1, 2], [0, 0])
    with pytest.raises(AssertionError, match="row 2 continues row 0, not row 1"):
        cache.keep(range(1, 3))


def test_a_row_of_the_text_cannot_be_kept_again():
    with pytest.raises(AssertionError, match="row 0 is not a tree row"):
        after_text(7).keep([0])


def test_a_parent_must_exist():
    with pytest.raises(AssertionError, match="names parent 2"):
        add(after_text(7), [1, 2], [0, 2])


def test_only_text_can_be_truncated():
    cache = after_text(7)
    add(cache, [1, 2])
    with pytest.raises(AssertionError, match="row 2 is not on the text"):
        cache.truncate(2)


def test_positions_fill_the_context_not_rows():
    """Five rows fit a context of three where they are no deeper than three."""
    cache = after_text(7)
    assert cache.place([1, 2, 3, 4], [0, 0, 0, 1], 3).positions == [1, 1, 1, 2]
    with pytest.raises(ModelError, match="4 tokens, but the model's context holds 3"):
        cache.place([1, 2, 3], [0, 1, 2], 3)

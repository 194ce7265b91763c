"""Times of passes over several texts: straight lines between what was measured."""

from collections.abc import Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from specviz.batch.pass_times import PassTimes, pass_times, rising, row_counts, switch_times
from specviz.lm.load import load
from tests.lm.conftest import checkpoint, one_thread

__all__ = ["checkpoint", "one_thread"]

TIMES = PassTimes(((1, ((1, 2.0), (3, 4.0))), (3, ((1, 6.0), (3, 8.0), (9, 14.0)))))


def test_between_rows_and_between_texts_there_are_straight_lines() -> None:
    assert [TIMES.seconds(1, rows) for rows in (1, 2, 3)] == [2.0, 3.0, 4.0]
    assert [TIMES.seconds(3, rows) for rows in (3, 6, 9)] == [8.0, 11.0, 14.0]
    assert TIMES.seconds(2, 3) == 6.0


def test_beyond_what_was_measured_the_nearest_counts() -> None:
    assert (TIMES.seconds(1, 9), TIMES.seconds(8, 9)) == (4.0, 14.0)


def test_no_pass_is_dearer_than_one_over_more_rows() -> None:
    assert rising([(1, 3.0), (2, 5.0), (3, 4.0), (4, 6.0)]) == ((1, 3.0), (2, 4.0), (3, 4.0), (4, 6.0))


def test_measured_are_one_row_two_half_of_the_texts_each_text_half_as_many_more_and_every_level() -> None:
    assert row_counts(8, 2) == [1, 2, 4, 8, 12, 16, 24]
    assert row_counts(4, 3) == [1, 2, 4, 6, 8, 12, 16]
    assert row_counts(1, 2) == [1, 2, 3]
    assert row_counts(3, 1) == [1, 2, 3, 5, 6]


def test_every_size_is_measured_by_the_clock_that_is_given(checkpoint) -> None:
    """A clock that ticks at each look: every pass takes one tick."""
    model = load(str(checkpoint("llama", num_key_value_heads=2)), adapter="lean-llama").model
    ticks = count()
    times = pass_times(model, (2, 1), 1, lambda: float(next(ticks)), repeats=2)
    assert times == PassTimes(((1, ((1, 1.0), (2, 1.0))), (2, ((1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)))))
    assert next(ticks) == (2 + 4) * (3 + 3)


class Lane:
    """Where a model that is watched keeps how many tokens of one text it has read."""

    def __init__(self) -> None:
        self.kept = self.read = 0

    def keep(self, rows: Sequence[int]) -> None:
        self.kept += len(rows)
        self.read = self.kept


class Watched:
    """A model that takes a second for a row, and a hundred more where it has not computed so many before."""

    def __init__(self, context_length: int) -> None:
        self.info = SimpleNamespace(context_length=context_length)
        self.passes: list[list[tuple[int, int]]] = []
        """of each its texts: (tokens that were read before it, rows)"""
        self.now = 0.0

    def new_batch(self) -> "Watched":
        return self

    def new_cache(self) -> Lane:
        return Lane()

    def forward(self, shares: Sequence[Any]) -> None:
        asked = [(share.cache.read, len(share.tokens)) for share in shares]
        self.now += sum(rows for _, rows in asked) + 100.0 * (asked not in self.passes)
        self.passes.append(asked)
        for share in shares:
            share.cache.read += len(share.tokens)


@pytest.mark.parametrize(("context_length", "cached"), [(200, 96), (9, 7), (2, 1)])
def test_every_pass_shares_its_rows_out_among_texts_of_96_tokens_or_as_many_as_leave_room_and_the_first_does_not_count(
    context_length: int, cached: int
) -> None:
    model = Watched(context_length)
    times = pass_times(model, (2,), 1, lambda: model.now, repeats=1)
    turn = [[(cached, 1)], [(cached, 1), (cached, 1)], [(cached, 2), (cached, 1)], [(cached, 2), (cached, 2)]]
    assert model.passes == [[(0, cached)], [(0, cached)], *turn, *turn]
    assert times == PassTimes(((2, ((1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0))),))


class Cold:
    """A model that takes a second for a row, `cold_s` more where the other model was asked before it, and a hundred
    more the first time after it read a text."""

    info = SimpleNamespace(context_length=9)

    def __init__(self, asked: "list[Cold]", cold_s: float) -> None:
        self.asked, self.cold_s = asked, cold_s
        self.now, self.is_new = 0.0, False

    def new_batch(self) -> "Cold":
        return self

    def new_cache(self) -> Any:
        self.is_new = True
        return SimpleNamespace(keep=lambda rows: None)

    def forward(self, shares: Sequence[Any]) -> None:
        reads = len(shares[0].tokens) > 1
        self.now += len(shares) + self.cold_s * (self.asked[-1:] != [self]) + 100.0 * (self.is_new and not reads)
        self.is_new &= reads
        self.asked.append(self)


@pytest.mark.parametrize(("cold_s", "switch_s"), [(3.0, 6.0), (-1.0, 0.0)], ids=["dearer", "cheaper"])
def test_a_switch_is_what_both_models_take_longer_behind_each_other_than_behind_themselves(
    cold_s: float, switch_s: float
) -> None:
    asked: list[Cold] = []
    large, small = Cold(asked, cold_s), Cold(asked, cold_s)
    found = switch_times(large, small, (1, 4), lambda: large.now + small.now, repeats=1)
    assert found == {1: switch_s, 4: switch_s}

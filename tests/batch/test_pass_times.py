"""Times of passes over several texts: straight lines between what was measured."""

from itertools import count
from types import SimpleNamespace
from typing import Any, ClassVar

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


def test_every_size_is_measured_by_the_clock_that_is_given(checkpoint) -> None:
    """A clock that ticks at each look: every pass takes one tick."""
    model = load(str(checkpoint("llama", num_key_value_heads=2)), adapter="lean-llama").model
    ticks = count()
    times = pass_times(model, (2, 1), 1, lambda: float(next(ticks)), repeats=2)
    assert times == PassTimes(((1, ((1, 1.0), (2, 1.0))), (2, ((1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)))))
    assert next(ticks) == (2 + 4) * (3 + 3)


class Cold:
    """A model that takes a second for a row, and three more where the other model was asked before it."""

    info = SimpleNamespace(context_length=9)
    asked: ClassVar[list[object]] = []
    now: ClassVar[list[float]] = [0.0]

    def new_batch(self) -> "Cold":
        return self

    def new_cache(self) -> Any:
        return SimpleNamespace(keep=lambda rows: None)

    def forward(self, shares) -> None:
        self.now[0] += len(shares) + 3.0 * (self.asked[-1:] != [self])
        self.asked.append(self)


def test_a_switch_is_what_both_models_take_longer_behind_each_other_than_behind_themselves() -> None:
    assert switch_times(Cold(), Cold(), (1, 4), lambda: Cold.now[0]) == {1: 6.0, 4: 6.0}

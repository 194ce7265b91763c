"""Data that nobody changes: what a frozen dataclass gives, but for the calls that set its fields."""

import pickle
from dataclasses import replace

import pytest

from specviz.frozen import FormedLater, frozen


@frozen
class Spot:
    x: int
    y: int = 2


def test_it_is_equal_and_hashed_by_its_fields_and_can_be_made_anew_with_one_of_them_changed():
    assert Spot(1) == Spot(1, 2) != Spot(1, 3)
    assert {Spot(1), Spot(1, 2), Spot(2)} == {Spot(1), Spot(2)}
    assert replace(Spot(1), y=5) == Spot(1, 5)


def test_its_fields_are_set_without_a_call_each_and_no_other_can_be():
    assert Spot.__setattr__ is object.__setattr__
    with pytest.raises(AttributeError):
        Spot(1).z = 3


@frozen
class Sum(FormedLater):
    LATER = "total"
    parts: tuple[int, ...]
    total: int

    def form_later(self, form, number):
        self._form_later(form, number)


def test_a_field_that_is_formed_later_is_formed_once_at_the_first_look_at_it():
    asked = []

    def form(number):
        asked.append(number)
        return 5

    later = Sum((2, 3), 0)
    later.form_later(form, 7)
    assert later.parts == (2, 3)
    assert asked == []
    assert later == Sum((2, 3), 5)
    assert later.total == 5
    assert asked == [7]


def test_data_that_is_sent_elsewhere_takes_its_field_along():
    later = Sum((2, 3), 0)
    later.form_later(lambda number: 5, 0)
    assert pickle.loads(pickle.dumps(later)) == Sum((2, 3), 5)


def test_a_name_that_data_does_not_have_is_refused_and_forms_nothing():
    later = Sum((2, 3), 0)
    later.form_later(lambda number: pytest.fail("nobody looked"), 0)
    with pytest.raises(AttributeError, match="a Sum has no 'totals'"):
        _ = later.totals

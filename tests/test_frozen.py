"""Data that nobody changes: what a frozen dataclass gives, but for the calls that set its fields."""

from dataclasses import replace

import pytest

from specviz.frozen import frozen


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

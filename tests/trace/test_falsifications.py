"""Every falsification of a good trace is found, and a good trace is left alone."""

from __future__ import annotations

import json

import pytest

from specviz.trace.check import check, errors
from specviz.trace.codec import loads
from tests.trace.falsifications import BASES, FALSIFICATIONS, Falsification, base

ALL = [pytest.param(one, id=f"{one.base}: {one.name}") for one in FALSIFICATIONS]


@pytest.mark.parametrize("name", BASES)
def test_a_good_trace_has_no_finding(name: str) -> None:
    assert check(loads(json.dumps(base(name)))) == []


@pytest.mark.parametrize("falsification", ALL)
def test_a_falsification_is_found(falsification: Falsification) -> None:
    found = errors(check(falsification.apply()))
    if not falsification.is_of_noise:  # a moved u shows by itself, but the claim behind it is what is to be found
        found = [problem for problem in found if not problem.place.endswith(".u")]
    assert found, "nothing was noticed"


def test_there_are_more_than_a_hundred_of_them_and_none_twice() -> None:
    names = [(one.base, one.name) for one in FALSIFICATIONS]
    assert len(set(names)) == len(names) >= 100
    assert {one.base for one in FALSIFICATIONS} == set(BASES)

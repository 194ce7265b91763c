"""Every falsification of a good trace is found, and a good trace is left alone."""

import pytest

from specviz.trace.check import check, errors
from specviz.trace.codec import read
from tests.trace.falsifications import BASES, FALSIFICATIONS, Falsification

SAID = {
    "block: another probability of the parent's path": "but the probability of its path is",
    "block: another probability of the root's path, and all that follows in the trial": "but the root's is 1",
    "kseq: another rho, and the threshold with it": "which do not fit 3 siblings",
    "kseq: another beta": "which do not fit 3 siblings",
    "lenience: a threshold": "but min(1, p/(l q)) (at temperature 0: p >= l max p) is",
    "lenience: another verifier in the header": "give no threshold ('lenience'), which 'lenience' needs",
    "longest path: a relaxed run as sequential": "order is 'longest', but 'sequential' goes 'top_down'",
    "traversal: a threshold": "but the probability of its path is",
    "traversal: two trials exchanged bottom-up": "but from the leaves up they are",
    "typical: a threshold of a typical run": "but p > min(epsilon, delta exp(-H)) is",
}
"""falsification → what is said of it"""
ALL = [pytest.param(one, id=str(one)) for one in FALSIFICATIONS]


@pytest.mark.parametrize("name", BASES)
def test_a_good_trace_has_no_finding(name: str) -> None:
    assert check(read(BASES[name])) == []


@pytest.mark.parametrize("falsification", ALL)
def test_a_falsification_is_found(falsification: Falsification) -> None:
    found = errors(check(falsification.apply()))
    if not falsification.is_of_noise:  # a moved u shows by itself, but the claim behind it is what is to be found
        found = [problem for problem in found if not problem.place.endswith(".u")]
    assert found, "nothing was noticed"
    assert SAID.get(str(falsification), "") in "\n".join(map(str, found))


def test_there_are_more_than_a_hundred_of_them_and_none_twice() -> None:
    names = list(map(str, FALSIFICATIONS))
    assert len(set(names)) == len(names) >= 100
    assert {one.base for one in FALSIFICATIONS} == set(BASES)
    assert SAID.keys() <= set(names)

"""When a text ends, decided token by token."""

import pytest

from specviz.engine.termination import Ending, Limits
from specviz.errors import OptionError

TOKENS = {0: b"", 1: b"ab", 2: b"c", 3: b"\xe2\x82", 4: b"\xac!", 5: b"xyz\n\nmore"}


def run(limits: Limits, tokens: list[int]) -> tuple[list[str | None], str]:
    ending = Ending(limits, TOKENS.__getitem__)
    reasons = [ending.commit(token) for token in tokens]
    return reasons, ending.text(tokens)


def test_length_ends_a_text_at_its_last_token():
    assert run(Limits(2), [1, 2]) == ([None, "length"], "abc")


def test_end_of_text_counts_before_length():
    assert run(Limits(2, frozenset([0])), [1, 0]) == ([None, "eos"], "ab")


def test_a_stop_string_is_found_across_tokens():
    assert run(Limits(9, stop=("bc",)), [1, 2]) == ([None, "stop"], "abc")


def test_text_after_the_stop_string_is_cut_from_the_last_token():
    assert run(Limits(9, stop=("\n\n",)), [1, 5]) == ([None, "stop"], "abxyz\n\n")


def test_the_first_of_several_stop_strings_counts():
    assert run(Limits(9, stop=("more", "yz", "zzz")), [5]) == (["stop"], "xyz")


def test_a_stop_string_may_lie_inside_the_bytes_of_split_characters():
    assert run(Limits(9, stop=("€",)), [1, 3, 4]) == ([None, None, "stop"], "ab€")


def test_an_unfinished_character_at_the_end_shows_as_replaced():
    assert run(Limits(2), [1, 3]) == ([None, "length"], "ab\ufffd")


def test_a_long_stop_string_is_remembered_over_many_tokens():
    assert run(Limits(9, stop=("abcabcab",)), [1, 2, 1, 2, 1])[0] == [None, None, None, None, "stop"]


def test_what_is_left_counts_down():
    ending = Ending(Limits(3), TOKENS.__getitem__)
    ending.commit(1)
    assert ending.left == 2


@pytest.mark.parametrize(("limits", "message"), [((0,), "max_new_tokens is 0"), ((5, frozenset(), ("",)), "empty")])
def test_limits_that_make_no_sense_are_refused(limits, message):
    with pytest.raises(OptionError, match=message):
        Limits(*limits)

"""A draft's shape as a list of paths: both forms in which they are written, and what is refused."""

import pytest

from specviz.errors import OptionError
from specviz.trace.tree_shape import MOST_CHARACTERS, families, gap, read_paths

SHAPE = ((0,), (1,), (0, 0), (0, 1), (0, 0, 0))


@pytest.mark.parametrize(
    "text",
    [
        "0; 1; 0,0; 0,1; 0,0,0",
        "0,0,0;0,1;1;0;0,0",
        "0\n1\n0, 0\n0, 1\n0,0,0\n",
        "[[0], [1], [0, 0], [0, 1], [0, 0, 0]]",
        "[(0,), (0, 0), (1,), (0, 1), (0, 0, 0)]",
        "[0], [1],\n[0, 0], [0, 1], [0, 0, 0],",
    ],
)
def test_a_list_is_read_in_any_order_and_in_both_forms(text):
    assert read_paths(text) == SHAPE


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "paths is empty; list at least one"),
        (" ; ", "paths is empty; list at least one"),
        ("[]", "paths is empty; list at least one"),
        ("0; 0,1,0", "paths lists 0,1,0, but not 0,1, below which it hangs"),
        ("0; 1; 0", "paths lists 0 twice"),
        ("0; 0,a", "paths has 'a' in '0,a', which is no rank"),
        ("0; 0,-1", "paths has '-1' in '0,-1', which is no rank"),
        ("0; 0,,1", "paths has '' in '0,,1', which is no rank"),
        ("0; 0,1.5", "paths has '1.5' in '0,1.5', which is no rank"),
        ("0; ²", "paths has '²' in '²', which is no rank"),
        ("[[0], [1]] and more", "paths has 'andmore' outside the lists"),
        ("0;" * MOST_CHARACTERS, "but at most 40,000 are read"),
    ],
)
def test_what_is_no_shape_is_refused_in_words(text, sentence):
    with pytest.raises(OptionError, match=sentence):
        read_paths(text)


def test_a_rank_left_out_is_found():
    assert gap(SHAPE) is None
    assert gap(read_paths("0; 2; 0,0")) == (1,)
    assert gap(read_paths("0; 0,1")) == (0, 0)


def test_a_family_is_the_ranks_below_a_path():
    assert families(SHAPE) == {(): [0, 1], (0,): [0, 1], (0, 0): [0]}

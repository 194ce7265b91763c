"""Prompt lookup: what is found, what is copied, and that nothing is scanned twice."""

import pytest

from specviz.core.sampling import Sampling
from specviz.drafters.ngram import NgramDrafter, NgramIndex, NgramOptions
from specviz.errors import OptionError
from tests.drafters.asking import proposed


@pytest.mark.parametrize(
    ("tokens", "options", "copied", "length", "position"),
    [
        pytest.param([1, 2, 3, 4, 5, 9, 3, 6, 1, 2, 3], {"gamma": 2}, [4, 5], 3, 3, id="behind the longest suffix"),
        pytest.param([2, 3, 4, 5, 9, 2, 3], {"gamma": 2}, [4, 5], 2, 2, id="the longest does not recur"),
        pytest.param([7, 1, 7, 2, 7], {"gamma": 1}, [2], 1, 3, id="the most recent of several"),
        pytest.param([5, 1, 2, 1, 2], {"gamma": 5}, [1, 2, 1, 2, 1], 2, 3, id="goes on with itself at the end"),
        pytest.param([1, 2, 3], {}, [], 0, None, id="nothing recurs"),
        pytest.param([1], {}, [], 0, None, id="a single token has no past"),
        pytest.param([1, 9, 2, 1], {"min_ngram": 2}, [], 0, None, id="a suffix shorter than the shortest"),
    ],
)
def test_it_copies_what_followed_the_latest_of_the_longest_matches(tokens, options, copied, length, position):
    drafter = NgramDrafter(NgramOptions(**options))
    drafter.begin(tokens[:3])
    proposal = proposed(drafter, tokens)
    where = {} if position is None else {"source_position": position}
    assert (proposal.tree.tokens[1:], proposal.note) == (copied, {"match_length": length, **where})


def test_a_copy_ends_behind_what_ends_a_text_and_before_a_mark_of_the_template():
    def drafted(**marks):
        return proposed(NgramDrafter(NgramOptions(gamma=4)), [5, 7, 2, 9, 1, 6, 5], **marks).tree.tokens[1:]

    assert drafted() == [7, 2, 9, 1]
    assert drafted(ends=frozenset({2})) == [7, 2]
    assert drafted(unsaid=frozenset({9})) == [7, 2]
    assert drafted(unsaid=frozenset({7})) == []


def tree(tokens, **options):
    """(parent, token) of every candidate, and the exhibits."""
    proposal = proposed(NgramDrafter(NgramOptions(**options)), tokens)
    made = proposal.tree
    return [(made.parents[node], made.tokens[node]) for node in range(1, len(made))], proposal.exhibits


def test_several_continuations_make_a_tree_the_longest_match_first_then_the_latest():
    text = [1, 2, 3, 2, 4, 2, 5, 1, 2]
    assert tree(text, gamma=1, continuations=8)[0] == [(0, 3), (0, 5), (0, 4)]
    assert tree(text, gamma=1, continuations=2)[0] == [(0, 3), (0, 5)]


def test_continuations_share_the_tokens_they_begin_with_and_equal_ones_count_once():
    text = [7, 1, 2, 7, 1, 3, 7, 1, 3, 7]
    assert tree(text, gamma=2, max_ngram=1, continuations=2)[0] == [(0, 1), (1, 3), (1, 2)]


def test_only_with_several_continuations_is_the_draft_a_tree():
    assert NgramDrafter(NgramOptions()).shape(Sampling(0.0)) == "chain"
    assert NgramDrafter(NgramOptions(continuations=2)).shape(Sampling(0.0)) == "tree"


def test_each_copied_token_is_linked_to_its_place_in_the_text():
    text = [7, 1, 2, 7, 1, 3, 7]
    _, (exhibit,) = tree(text, gamma=2, max_ngram=1, continuations=2)
    rows = [(row.label, row.tokens, row.marks, row.nodes, row.position) for row in exhibit.rows]
    assert rows == [
        ("after a match of 1", [7, 1, 3], [1, 2], [1, 2], 3),
        ("after a match of 1", [7, 1, 2], [1, 2], [1, 3], 0),
    ]
    for row in exhibit.rows:
        assert row.tokens == text[row.position : row.position + 3]


def test_what_is_copied_from_the_copy_has_no_place_in_the_text():
    _, (exhibit,) = tree([5, 1, 2, 1, 2], gamma=5)
    rows = [(row.label, row.tokens, row.marks, row.nodes, row.position) for row in exhibit.rows]
    assert rows == [
        ("after a match of 2", [1, 2, 1, 2], [2, 3], [1, 2], 1),
        ("the copy, copied on", [1, 2, 1], [0, 1, 2], [3, 4, 5], None),
    ]


def test_without_a_match_nothing_is_shown():
    assert tree([1, 2, 3]) == ([], [])


def test_the_index_reads_every_token_once():
    class Counting(list):
        reads = 0

        def __getitem__(self, key):
            Counting.reads += 1
            return super().__getitem__(key)

    text, index = Counting(range(1000)), NgramIndex(1, 3)
    index.extend(text)
    first = Counting.reads
    text.append(5)
    index.extend(text)
    next(index.find(text), None)
    assert first <= 3 * 1000
    assert Counting.reads - first <= 3 + 3


def test_a_shortest_suffix_longer_than_the_longest_is_refused():
    with pytest.raises(OptionError, match="min_ngram is 4 and max_ngram 3"):
        NgramOptions(min_ngram=4)

"""Retrieval: which places are found, what is drafted from them, and what is shown of it."""

import pytest

from specviz.datastore.store import from_ids
from specviz.drafters.rest import RestDrafter, RestOptions
from specviz.errors import DatastoreError, OptionError
from tests.drafters.asking import paths, proposed

DOCUMENTS = [("a.py", [1, 2, 3, 4]), ("b.py", [1, 2, 3, 5]), ("c.py", [1, 2, 6]), ("d.py", [9, 2, 7, 7, 7])]


def retriever(tokens, **options):
    drafter = RestDrafter(RestOptions(**options))
    drafter.consult(from_ids("test", DOCUMENTS, "", 10))
    drafter.begin(tokens)
    return drafter


def draft(tokens, max_depth=9, **options):
    return proposed(retriever(tokens, **options), tokens, max_depth)


def test_the_most_frequent_prefixes_of_all_snippets_are_merged_into_a_tree():
    proposal = draft([8, 1, 2])
    assert paths(proposal.tree) == [[3], [6], [3, 4], [3, 5]]
    assert proposal.note == {"match_length": 2, "places": 3}
    assert set(proposal.tree.kinds[1:]) == {"point_mass"}


def test_only_the_longest_match_counts():
    assert paths(draft([8, 9, 2]).tree)[0] == [7]
    assert paths(draft([8, 8, 2], min_match=1).tree)[0] == [3]


def test_the_draft_is_held_to_its_budget_snippet_and_depth():
    assert paths(draft([1, 2], max_nodes=2).tree) == [[3], [6]]
    assert paths(draft([9, 2], snippet=2).tree) == [[7], [7, 7]]
    assert paths(draft([9, 2], max_depth=1).tree) == [[7]]
    assert draft([9, 2], max_depth=0).tree.drafted == 0


def test_nothing_is_drafted_behind_an_end_of_text_nor_a_mark_of_the_template():
    drafter = retriever([1, 2])
    assert paths(proposed(drafter, [1, 2], ends=frozenset({3})).tree) == [[3], [6]]
    assert paths(proposed(drafter, [1, 2], unsaid=frozenset({4, 6})).tree) == [[3], [3, 5]]


def test_nothing_is_drafted_where_nothing_matches_or_nothing_followed():
    assert draft([2, 1]).note == {"match_length": 0}
    assert draft([3, 4]).tree.drafted == 0


def test_the_exhibits_show_snippets_with_counts_and_a_file_each():
    looked_up, followed = draft([8, 1, 2]).exhibits
    assert [(row.label, row.tokens) for row in looked_up.rows] == [("at 3 places", [1, 2])]
    assert [(row.label, row.tokens, row.nodes) for row in followed.rows] == [
        ("1 of 3, as in c.py", [6], [2]),
        ("1 of 3, as in a.py", [3, 4], [1, 3]),
        ("1 of 3, as in b.py", [3, 5], [1, 4]),
    ]
    assert followed.rows[1].scores == [pytest.approx(2 / 3, abs=1e-6), pytest.approx(1 / 3, abs=1e-6)]


def test_without_a_datastore_it_says_how_to_build_one():
    with pytest.raises(DatastoreError, match="has no datastore to look in; build one with `specviz datastore build`"):
        RestDrafter(RestOptions()).begin([1])


def test_a_shortest_match_longer_than_the_longest_is_refused():
    with pytest.raises(OptionError, match="min_match is 4 and max_match 3"):
        RestOptions(min_match=4, max_match=3)

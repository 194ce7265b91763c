"""Suffix decoding: what is matched, what is drafted from it, and what a later run still knows."""

import random

import pytest

from specviz.drafters.base import DRAFTERS
from specviz.drafters.capabilities import UsesModel
from specviz.drafters.drafting.matching import Cursor, SuffixAutomaton, best_first
from specviz.drafters.suffix import SuffixDrafter, SuffixOptions
from specviz.errors import MemoryFileError, OptionError
from tests.drafters.asking import paths, proposed
from tests.proof.letters import toy_run, toy_source

FORKED = [1, 2, 3, 9, 1, 2, 4, 8, 1, 2, 3, 7, 1, 2]
"""after 1 2 came 3 twice and 4 once"""


def draft(tokens, max_depth=9, memory=None, **options):
    drafter = SuffixDrafter(SuffixOptions(**options))
    if memory is not None:
        drafter.recall(memory)
    drafter.begin(tokens[:3])
    return proposed(drafter, tokens, max_depth)


def automaton_of(text):
    automaton = SuffixAutomaton()
    for token in text:
        automaton.extend(token)
    return automaton


def test_an_automaton_counts_every_substring_as_a_search_of_the_text_does():
    rng = random.Random(5)
    for _ in range(20):
        text = [rng.randrange(3) for _ in range(12)]
        automaton = automaton_of(text)
        for start in range(12):
            state = 0
            for stop in range(start + 1, 13):
                state = automaton.following[state][text[stop - 1]]
                places = [i for i in range(13 - stop + start) if text[i : i + stop - start] == text[start:stop]]
                assert automaton.count[state] == len(places)
                assert automaton.first_end[state] == places[0] + stop - start - 1


def test_suffixes_get_shorter_and_more_frequent():
    automaton = automaton_of([1, 2, 3, 9, 2, 3, 8, 3, 7, 1, 2, 3])
    suffixes = list(automaton.suffixes(automaton.whole, 12))
    assert [(length, automaton.count[state]) for length, state in suffixes] == [(12, 1), (3, 2), (2, 3), (1, 4)]
    assert [length for length, _ in automaton.suffixes(automaton.whole, 2)] == [2, 1]


def test_a_cursor_holds_the_longest_suffix_known_elsewhere():
    automaton = automaton_of([1, 2, 3, 4, 9, 3, 5])
    cursor, lengths = Cursor(automaton), []
    for token in [2, 3, 5, 7, 1, 2, 3, 4]:
        cursor.step(token)
        lengths.append(cursor.length)
    assert lengths == [1, 2, 2, 0, 1, 2, 3, 4]


def test_the_most_frequent_prefixes_are_kept_and_their_shares_multiply():
    following = {
        "": [(1, 3, "a"), (2, 1, "b")],
        "a": [(5, 2, "c"), (6, 1, "d")],
        "b": [(7, 1, "e")],
        "c": [(-1, 2, "")],
    }
    found = best_first("", lambda place: following.get(place, []), most=4, depth=3, floor=0.0)
    assert [(one.token, one.parent, one.count) for one in found] == [(1, -1, 3), (5, 0, 2), (2, -1, 1), (6, 0, 1)]
    assert [one.share for one in found] == pytest.approx([0.75, 0.5, 0.25, 0.25])
    assert [one.token for one in best_first("", following.get, most=4, depth=1, floor=0.3)] == [1]
    assert [one.token for one in best_first("", following.get, most=2, depth=3, floor=0.0, width=1)] == [1, 5]


def test_an_end_counts_as_something_that_followed_but_is_never_drafted():
    found = best_first("", {"": [(-1, 1, "x"), (4, 3, "y")], "y": []}.get, most=5, depth=5, floor=0.0)
    assert [(one.token, one.share) for one in found] == [(4, 0.75)]


def test_nothing_is_drafted_behind_an_end_of_text_nor_a_mark_of_the_template():
    text = [5, 7, 2, 9, 5, 7, 3, 9, 5, 8, 1, 5]

    def drafted(**marks):
        drafter = SuffixDrafter(SuffixOptions(factor=8.0))
        drafter.begin(text)
        return sorted(paths(proposed(drafter, text, 3, **marks).tree))

    assert drafted() == [[7], [7, 2], [7, 2, 9], [7, 3], [7, 3, 9], [8], [8, 1], [8, 1, 5]]
    assert drafted(ends=frozenset({2})) == [[7], [7, 2], [7, 3], [7, 3, 9], [8], [8, 1], [8, 1, 5]]
    assert drafted(unsaid=frozenset({1, 9})) == [[7], [7, 2], [7, 3], [8]]


def test_several_continuations_become_a_tree_with_the_most_frequent_first():
    proposal = draft(FORKED, max_match=2, factor=2.0)
    assert paths(proposal.tree) == [[3], [4], [3, 9], [3, 7]]
    assert proposal.note == {"match_length": 2, "match_source": "text", "expected": pytest.approx(5 / 3, abs=1e-6)}


def test_the_longer_the_match_the_larger_the_draft():
    sizes = [draft([*range(m), 50, 51, 52, 53, 54, 55, *range(m)]).tree.drafted for m in (1, 2, 3, 5)]
    assert sizes == [1, 2, 3, 5]
    assert draft([*range(5), 50, 51, 52, 53, 54, 55, *range(5)], max_nodes=4).tree.drafted == 4
    assert draft([*range(2), 50, 51, 52, 53, 54, 55, *range(2)], factor=2.5).tree.drafted == 5


def test_the_match_whose_continuation_is_surer_wins_over_a_longer_one():
    """After 1 2 came 3, 4 and 5, once each; after 2 alone came 7 four times of seven."""
    proposal = draft([2, 7, 2, 7, 2, 7, 2, 7, 1, 2, 3, 1, 2, 4, 1, 2, 5, 1, 2], max_nodes=1)
    assert paths(proposal.tree) == [[7]]
    assert proposal.note == {"match_length": 1, "match_source": "text", "expected": pytest.approx(4 / 7, abs=1e-6)}


def test_a_chain_takes_the_most_frequent_continuation_alone():
    tree = draft(FORKED, max_match=2, factor=2.0, tree=False).tree
    assert (tree.is_chain(), tree.tokens[1:]) == (True, [3, 9, 1, 2])


def test_rare_continuations_are_left_out():
    text = [1, 2, *[1, 3] * 9, 1]
    assert [2] in paths(draft(text, max_depth=1, max_match=1, factor=2.0, min_share=0.05).tree)
    assert [2] not in paths(draft(text, max_depth=1, max_match=1, factor=2.0, min_share=0.2).tree)


@pytest.mark.parametrize("tokens", [[1], [1, 2, 3]])
def test_nothing_is_drafted_where_nothing_recurs(tokens):
    proposal = draft(tokens)
    assert (proposal.tree.drafted, proposal.note) == (0, {"match_length": 0})


def test_the_exhibits_show_the_matched_span_and_what_followed():
    proposal = draft([7, 1, 2, 3, 1, 2, 4, 9, 1, 2], max_match=2, factor=2.0)
    span, followed = proposal.exhibits
    assert [(row.tokens, row.position) for row in span.rows] == [([1, 2], 1)]
    assert [(row.label, row.tokens, row.nodes) for row in followed.rows] == [
        ("1 of 2", [3, 1], [1, 3]),
        ("1 of 2", [4, 9], [2, 4]),
    ]
    assert followed.rows[0].scores == [0.5, 0.5]


def test_outputs_of_earlier_runs_are_matched_and_never_across_two_of_them():
    memory = b"[[1, 2, 3], [4, 5, 6]]"
    proposal = draft([9, 8, 1, 2], memory=memory)
    assert (paths(proposal.tree), proposal.note["match_source"]) == ([[3]], "memory")
    assert proposal.exhibits[0].rows[0].position is None
    assert draft([9, 2, 3], memory=memory).tree.drafted == 0


def test_of_equal_matches_the_texts_own_wins():
    assert draft([1, 2, 8, 1, 2], memory=b"[[1, 2, 3]]").note["match_source"] == "text"


def test_a_later_run_drafts_what_an_earlier_one_wrote():
    source = toy_source()
    cold, warm = (toy_run(source, "abc", drafter="suffix", max_new_tokens=16, memory="warm") for _ in range(2))
    assert warm.finished.output_ids == cold.finished.output_ids
    assert len(warm.rounds) < len(cold.rounds)
    assert "memory" in {this.drafted.note["match_source"] for this in warm.rounds if len(this.nodes) > 1}


def test_only_outputs_are_remembered_and_the_oldest_forgotten_first(monkeypatch):
    monkeypatch.setattr("specviz.drafters.suffix.MOST_REMEMBERED", 3)
    drafter = SuffixDrafter(SuffixOptions())
    drafter.recall(b"[[1, 2], [3, 4]]")
    drafter.begin([7, 8])
    proposed(drafter, [7, 8, 5, 6])
    assert drafter.memory() == b"[[4], [5, 6]]"


@pytest.mark.parametrize("memory", [b"{", b"[1]", b'[["x"]]', b"3", b"null"])
def test_a_memory_that_is_no_list_of_outputs_is_refused(memory):
    with pytest.raises(MemoryFileError, match="begin with a reset"):
        SuffixDrafter(SuffixOptions()).recall(memory)


HYBRID = {"fallback": "model", "gamma": 2, "threshold": 1.5}


def hybrid_trace(temperature: float, **options: object):
    return toy_run(prompt="abcabcabd", drafter="suffix", drafter_options={**HYBRID, **options}, temperature=temperature)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_where_the_match_promises_too_little_the_model_drafts(temperature):
    trace = hybrid_trace(temperature)
    assert trace.started.drafter.model.name == "table-6-2"
    by = [(one.drafted.note["drafted_by"], one.drafted.note.get("expected", 0.0)) for one in trace.rounds]
    assert {name for name, _ in by} == {"suffix", "model"}
    assert all((name == "suffix") == (expected >= 1.5) for name, expected in by)
    for one, (name, _) in zip(trace.rounds, by, strict=True):
        assert {node.source for node in one.nodes[1:]} <= {name}
        assert bool(one.drafted.passes) == (name == "model" and len(one.nodes) > 1)
    drawn = {node.kind for one in trace.rounds for node in one.nodes[1:] if node.source == "model"}
    assert drawn == {"iid" if temperature else "point_mass"}


def test_without_a_fallback_it_needs_no_model_and_its_options_are_refused():
    kind = DRAFTERS.get("suffix")
    assert isinstance(kind.of(HYBRID), UsesModel)
    assert not isinstance(kind.of({}), UsesModel)
    with pytest.raises(OptionError, match="without fallback it does nothing"):
        kind.of({"gamma": 2})


def test_a_threshold_of_zero_never_asks_the_model():
    assert {one.drafted.note["drafted_by"] for one in hybrid_trace(0.8, threshold=0.0).rounds} == {"suffix"}

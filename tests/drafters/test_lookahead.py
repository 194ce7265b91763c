"""Lookahead decoding: the window as a tree, its n-grams, and where they are guessed."""

from dataclasses import replace

import pytest
import torch

from specviz.drafters.base import RoundOutcome
from specviz.drafters.lookahead import LookaheadDrafter, LookaheadOptions, NgramPool, Window, columns_that_fit
from specviz.errors import MemoryFileError
from specviz.trace.check import check
from specviz.trace.structure import structure
from specviz.trace.summary import summary
from tests.drafters.asking import proposed
from tests.proof.letters import toy_run, toy_source


def run(source=None, **changes):
    return toy_run(source, "abcabc", drafter="lookahead", **changes)


def answer(drafter, proposal, said, path, tokens):
    """The target says `said[path to a node]`, 0 where nothing else is given."""
    tree = proposal.tree
    logits = torch.zeros(len(tree), 100)
    for node in range(len(tree)):
        logits[node, said.get(tuple(tree.token_path(node)), 0)] = 1.0
    return drafter.observe(RoundOutcome(tree, logits, path, tokens))


def paths(tree):
    leaves = [node for node in range(len(tree)) if not tree.children(node)]
    return sorted(tree.token_path(node) for node in leaves)


def drafter_of(text, **options):
    drafter = LookaheadDrafter(LookaheadOptions(**options))
    drafter.begin(text)
    return drafter


def test_a_column_hangs_below_its_token_of_the_trunk_as_the_papers_mask_has_it():
    """A token of level l, column i sees level 0 up to column i, and its own column above it."""
    drafter = drafter_of([7], window=3, ngram=4)
    drafter._window.levels = [[0, 11, 12], [20, 21, 22], [30, 31, 32]]
    proposal = proposed(drafter, [7])
    assert paths(proposal.tree) == [[11, 12, 22, 32], [11, 21, 31], [20, 30]]
    assert [row.tokens for row in proposal.exhibits[0].rows] == [[7, 11, 12], [20, 21, 22], [30, 31, 32]]
    for level, row in enumerate(proposal.exhibits[0].rows):
        assert [proposal.tree.depths[node] for node in row.nodes] == [level, 1 + level, 2 + level]


def test_paths_that_begin_alike_share_their_nodes():
    drafter = drafter_of([7], window=2, ngram=3)
    drafter._window.levels = [[0, 11], [11, 12]]
    drafter._pool.add([7, 11, 12])
    proposal = proposed(drafter, [7])
    assert proposal.tree.tokens == [7, 11, 12]
    assert proposal.exhibits[0].rows[0].nodes == [1, 2]
    assert [row.nodes for row in proposal.exhibits[1].rows] == [[0, 1], [1, 2]]


def test_the_window_fills_level_by_level_and_then_gives_an_ngram_per_column():
    drafter, text = drafter_of([7], window=2, ngram=3), [7]
    first = proposed(drafter, text)
    assert paths(first.tree) == [[7]]
    text += [50]
    answer(drafter, first, {(): 50, (7,): 51}, [], text)
    assert drafter._window.levels == [[7, 7], [51, 50]]
    second = proposed(drafter, text)
    assert paths(second.tree) == [[7, 50], [51]]
    text += [60]
    learned = answer(drafter, second, {(): 60, (51,): 61, (7, 50): 62}, [], text)
    assert [one.title for one in learned] == ["the window's next level", "n-grams new in the pool"]
    assert [row.tokens for row in learned[1].rows] == [[50, 51, 61], [7, 50, 62]]
    assert drafter._window.levels == [[51, 50], [61, 62]]


def test_accepted_tokens_shift_the_columns():
    window = Window(3, 2)
    window.levels = [[0, 11, 12], [20, 21, 22]]
    window.advance([30, 31, 32], 2, [9, 8])
    assert window.levels == [[21, 22, 9], [31, 32, 8]]


def test_a_window_that_is_filling_keeps_all_its_levels():
    window = Window(3, 3)
    window.begin([1, 2])
    window.advance([5, 6, 7], 1, [1, 2, 5])
    assert window.levels == [[2, 1, 1], [6, 7, 2]]


def test_columns_that_would_be_too_deep_are_left_out():
    window = Window(3, 2)
    window.levels = [[0, 1, 2], [3, 4, 5]]
    assert [columns_that_fit(window, depth) for depth in (0, 1, 2, 3, 9)] == [0, 1, 2, 3, 3]
    drafter = drafter_of([7], window=3, ngram=3)
    drafter._window.levels = window.levels
    assert paths(proposed(drafter, [7], max_depth=2).tree) == [[1, 4], [3]]


def test_guesses_are_what_followed_the_root_newest_first():
    drafter = drafter_of([7], window=1, ngram=3, guesses=2)
    for ngram in ([7, 1, 2], [7, 3, 4], [8, 9, 9], [7, 5, 6]):
        drafter._pool.add(ngram)
    proposal = proposed(drafter, [7])
    assert [row.tokens for row in proposal.exhibits[0].rows] == [[5, 6], [3, 4]]
    assert proposal.tree.tokens == [7, 5, 6, 3, 4]
    assert proposal.tree.sources == ["root", "pool", "pool", "pool", "pool"]
    assert proposed(drafter, [7], max_depth=1).tree.tokens == [7, 5, 3]


def test_a_pool_keeps_the_ngrams_seen_last():
    pool = NgramPool(2, 2)
    assert [pool.add(one) for one in ([1, 2], [1, 3], [1, 2], [1, 4])] == [True, True, False, True]
    assert (pool.after(1), len(pool)) == ([(4,), (2,)], 2)


def test_the_text_itself_is_read_once_where_that_is_asked_for():
    drafter = drafter_of([1, 2, 3, 1], window=1, ngram=3, prompt_pool=True)
    proposal = proposed(drafter, [1, 2, 3, 1])
    assert proposal.exhibits[0].rows[0].tokens == [2, 3]
    answer(drafter, proposal, {}, [1], [1, 2, 3, 1, 2, 9])
    assert drafter._pool.after(1) == [(2, 9), (2, 3)]
    assert drafter._pool.after(3) == [(1, 2)]


def test_a_memory_comes_back_as_it_was():
    drafter = drafter_of([7], ngram=3)
    for ngram in ([7, 1, 2], [7, 3, 4], [8, 9, 9]):
        drafter._pool.add(ngram)
    other = drafter_of([7], ngram=3)
    other.recall(drafter.memory())
    assert other.memory() == drafter.memory()
    assert other._pool.after(7) == [(3, 4), (1, 2)]


@pytest.mark.parametrize("data", [b"\xff", b"{}", b"[[1, 2]]", b'[[1, 2, "3"]]', b"[7]"])
def test_a_memory_of_something_else_is_refused(data):
    with pytest.raises(MemoryFileError, match="something else than n-grams of 3 tokens"):
        drafter_of([7], ngram=3).recall(data)


@pytest.mark.parametrize(("verifier", "temperature"), [("greedy", 0.0), ("sequential", 0.9)])
def test_its_trace_is_sound_and_shows_window_and_pool(verifier, temperature):
    trace = run(verifier=verifier, temperature=temperature)
    assert any(one.drafted.knew[0].title == "n-grams from the pool" for one in trace.rounds)
    assert all(one.drafted.knew[-1].title == "window" for one in trace.rounds)


def test_the_windows_rows_are_work_and_only_the_pools_nodes_are_drafts():
    """Window 7, 11 over 20, 21; the pool's n-gram 7, 11, 12 shares node 1 with the trunk, which makes it a draft."""
    drafter = drafter_of([7], window=2, ngram=3)
    drafter._window.levels = [[0, 11], [20, 21]]
    drafter._pool.add([7, 11, 12])
    proposal = proposed(drafter, [7])
    assert proposal.tree.sources == ["root", "pool", "pool", "window", "window"]
    assert [proposal.tree.tokens[node] for node in proposal.riding] == [20, 21]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda riding: riding[1:], "but those of 'window' are"),
        (lambda riding: [0, *riding], "names each node once, the root not among them"),
        (lambda riding: riding * 2, "names each node once, the root not among them"),
    ],
    ids=["one is left out", "the root", "each twice"],
)
def test_a_trace_that_counts_other_rows_as_work_is_found(change, told):
    trace = run()
    at = next(index for index, one in enumerate(trace.rounds) if len(one.drafted.riding) > 1)
    this = trace.rounds[at]
    wrong = replace(this, drafted=replace(this.drafted, riding=change(this.drafted.riding)))
    forged = replace(trace, rounds=[*trace.rounds[:at], wrong, *trace.rounds[at + 1 :]])
    assert any(told in str(one) for one in (*structure(forged), *check(forged)))


def test_a_trace_from_before_the_mark_is_sound():
    trace = run()
    rounds = [replace(one, drafted=replace(one.drafted, riding=[])) for one in trace.rounds]
    old = replace(trace, rounds=rounds, summary=summary(trace.started, rounds, trace.finished))
    assert check(old) == []
    assert old.summary.num_draft_tokens > trace.summary.num_draft_tokens > 0


def test_a_second_run_is_shorter_where_it_remembers_the_first():
    source = toy_source()
    first, second = (run(source, memory="warm") for _ in range(2))
    assert first.finished.output_ids == second.finished.output_ids
    assert len(second.rounds) < len(first.rounds) < 24

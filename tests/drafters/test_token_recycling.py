"""Token Recycling: the matrix, the template, what a tree is made from and what the target's answer rewrites."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from specviz.core.tree import DraftTree
from specviz.drafters.base import RoundOutcome
from specviz.drafters.token_recycling import (
    HITS,
    LEVELS,
    Followers,
    TokenRecyclingDrafter,
    TokenRecyclingOptions,
    best_size,
    by_worth,
    whole_template,
)
from specviz.errors import MemoryFileError
from specviz.lm.table import TableModel
from specviz.tree_policies.base import StepCosts
from tests.drafters.asking import proposed
from tests.proof.letters import toy_run, toy_source

HALVES = (0.5, 0.25, 0.125)


@pytest.fixture(autouse=True)
def ranks_by_halves(monkeypatch):
    """Which paths a small tree keeps must not change with what was measured."""
    monkeypatch.setattr("specviz.drafters.token_recycling.HITS", HALVES)


def drafter(**options) -> TokenRecyclingDrafter:
    """Over a vocabulary of 5, with two followers per token."""
    target = TableModel(5, seed=1)
    made = TokenRecyclingDrafter(TokenRecyclingOptions(**{"followers": 2, **options}))
    made.attach(target, target.new_cache())
    return made


def logits(*rows):
    """Logits [n, 5] whose two largest are the two tokens of each row, the first ahead."""
    made = torch.zeros(len(rows), 5)
    for row, (first, second) in zip(made, rows, strict=True):
        row[first], row[second] = 2.0, 1.0
    return made


def shape(proposal):
    tree = proposal.tree
    return [(tree.parents[node], tree.tokens[node]) for node in range(1, len(tree))]


def test_the_template_has_the_published_number_of_nodes_at_every_depth():
    template = whole_template()
    counts = [sum(len(path) == depth for path in template) for depth in range(1, 8)]
    assert counts == [*LEVELS, 0] == [8, 21, 25, 15, 8, 3, 0]
    assert len(set(template)) == 80
    assert all(len(path) == 1 or path[:-1] in template for path in template)
    assert template[8:12] == [(0, 0), (0, 1), (0, 2), (0, 3)]


def test_a_smaller_tree_keeps_the_likeliest_paths_and_their_ancestors():
    assert by_worth(whole_template(), HALVES)[:6] == [(0,), (1,), (0, 0), (2,), (0, 1), (1, 0)]


def test_the_measured_hit_rates_make_a_small_tree_deep_before_it_is_wide():
    """The first follower is right two times in three, the second one time in sixteen: 0.671³ is more than 0.06."""
    assert list(HITS) == sorted(set(HITS), reverse=True)
    assert by_worth(whole_template(), HITS)[:4] == [(0,), (0, 0), (0, 0, 0), (0, 0, 0, 0)]


@pytest.mark.parametrize(
    ("times", "size"),
    [
        ([(1, 1.0), (2, 1.0), (64, 1.0)], 19),
        ([(1, 1.0), (2, 1.0), (3, 2.0), (64, 63.0)], 1),
        ([(1, 1.0), (4, 1.0), (5, 1.4), (64, 25.0)], 3),
    ],
    ids=["free", "each node costs a pass", "free up to four rows"],
)
def test_the_size_is_the_one_with_the_least_time_per_token(times, size):
    ordered = by_worth(whole_template(), HALVES)[:19]
    assert best_size(ordered, HALVES, StepCosts(times, 0.0)) == size


def test_a_pass_longer_than_any_measured_costs_more_not_the_same():
    costs = StepCosts([(1, 1.0), (32, 2.0), (64, 4.0)], 0.0)
    assert [costs.target_s(rows) for rows in (1, 48, 64, 96)] == [1.0, 3.0, 4.0, 6.0]
    assert StepCosts([(4, 2.0)], 0.0).target_s(81) == 2.0


def test_the_chosen_size_stands_in_the_options_and_a_forced_one_is_kept():
    fitted, forced = drafter(fit=True), drafter(nodes=5)
    for one in (fitted, forced):
        one.tune(StepCosts([(1, 1.0), (2, 1.0), (3, 2.0), (64, 63.0)], 0.0))
    assert (fitted.options.nodes, fitted.options.fit) == (1, False)
    assert (forced.options.nodes, forced.options.fit) == (5, False)


@pytest.mark.parametrize(("device", "size"), [("cpu", 16), ("cuda", 80)])
def test_the_size_is_fixed_by_the_kind_of_device_and_by_no_clock(device, size):
    made = TokenRecyclingDrafter(TokenRecyclingOptions())
    made.attach(SimpleNamespace(info=TableModel(5, seed=1).info, device=torch.device(device)), None)
    made.tune(StepCosts([(1, 1.0), (2, 90.0)], 0.0))
    assert (made.options.nodes, made.options.fit) == (size, False)


def test_traces_that_call_the_option_shrink_are_still_run_again():
    assert TokenRecyclingDrafter.of({"nodes": 15, "shrink": False}).options == TokenRecyclingOptions(nodes=15)


def test_the_followers_of_followers_are_drafted_breadth_first():
    made = drafter(nodes=5)
    made.read_prompt([0, 1, 2], logits((1, 2), (3, 0), (4, 1)))
    assert shape(proposed(made, [4, 0])) == [(0, 1), (0, 2), (1, 3), (1, 0), (2, 4)]


def test_a_token_without_a_row_ends_its_branch_and_nothing_is_made_up_for_it():
    made = drafter(nodes=9)
    made.read_prompt([0], logits((1, 2)))
    assert shape(proposed(made, [0])) == [(0, 1), (0, 2)]
    assert shape(proposed(made, [3])) == []


def test_the_rows_behind_a_tree_are_shown_once_with_the_nodes_they_made():
    made = drafter(nodes=5)
    made.read_prompt([0, 1], logits((1, 0), (0, 4)))
    proposal = proposed(made, [0])
    assert shape(proposal) == [(0, 1), (0, 0), (1, 0), (1, 4), (2, 1)]
    assert proposal.note == {"template_nodes": 5, "rows_known": 2, "matrix_bytes": 40}
    (exhibit,) = proposal.exhibits
    rows = [(row.label, row.tokens, row.marks, row.nodes) for row in exhibit.rows]
    assert (exhibit.marked, rows) == (
        "drafted",
        [("after the root, node 2", [1, 0], [0, 1], [1, 2, 5]), ("after node 1", [0, 4], [0, 1], [3, 4])],
    )


def observed(path, tokens=(0, 1, 0, 1), parents=(-1, 0, 1, 0)):
    """Root 0 with children 1 (node 1) and 1 (node 3); node 2 below node 1 is 0 again."""
    made = drafter(nodes=4)
    tree = DraftTree.from_root(tokens[0])
    for token, parent in zip(tokens[1:], parents[1:], strict=True):
        tree.add(parent, token, "point_mass", None, "test")
    exhibits = made.observe(RoundOutcome(tree, logits((1, 2), (2, 3), (3, 4), (4, 0)), path, []))
    return made, exhibits


@pytest.mark.parametrize(
    ("path", "row_of_0", "row_of_1"),
    [([], [1, 2], [4, 0]), ([1], [1, 2], [2, 3]), ([1, 2], [3, 4], [2, 3]), ([3], [1, 2], [4, 0])],
    ids=["nothing accepted", "one", "two", "the other branch"],
)
def test_of_several_nodes_with_one_token_the_deepest_in_the_text_writes_its_row(path, row_of_0, row_of_1):
    made, _ = observed(path)
    assert (made._matrix.after(0), made._matrix.after(1)) == (row_of_0, row_of_1)


def test_what_verification_rewrote_is_returned_and_nothing_where_nothing_changed():
    made, (exhibit,) = observed([1])
    assert [(row.label, row.tokens, row.marks, row.nodes) for row in exhibit.rows] == [
        ("after the root", [1, 2], [0, 1], [0]),
        ("after node 1", [2, 3], [0, 1], [1]),
    ]
    again = made.observe(RoundOutcome(DraftTree.from_root(1), logits((3, 2)), [], []))
    assert [(row.tokens, row.marks) for row in again[0].rows] == [([3, 2], [])]
    assert made.observe(RoundOutcome(DraftTree.from_root(1), logits((3, 2)), [], [])) == []


def test_of_several_rows_for_one_token_of_the_prompt_the_last_stays():
    made = drafter()
    made.read_prompt([0, 1, 0], logits((1, 2), (2, 3), (4, 3)))
    assert made._matrix.after(0) == [4, 3]


def test_without_filling_the_prompt_teaches_nothing():
    made = drafter(fill=False)
    made.read_prompt([0], logits((1, 2)))
    assert made._matrix.known == 0


def test_a_matrix_is_kept_and_taken_up_again():
    first, second = Followers(5, 2), Followers(5, 2)
    first.write([3, 0], np.array([[1, 2], [4, 0]]))
    second.load(first.dump())
    assert [second.after(token) for token in range(5)] == [[4, 0], [], [], [1, 2], []]
    assert (second.known, second.size_bytes) == (2, 40)


@pytest.mark.parametrize("data", [b"abc", np.array([0, 1, 5], "<i4").tobytes(), np.array([-1, 1, 2], "<i4").tobytes()])
def test_a_memory_of_another_matrix_is_refused(data):
    with pytest.raises(MemoryFileError, match="holds no rows of 2 followers each for a vocabulary of 5"):
        Followers(5, 2).load(data)


def test_memory_is_shared_between_tree_sizes_but_not_between_widths():
    source = toy_source()
    cold, warm, narrow = (
        toy_run(source, "abc", drafter="token_recycling", drafter_options=options, max_new_tokens=4, memory="warm")
        for options in ({}, {"nodes": 3}, {"followers": 2})
    )
    assert [trace.started.memory is None for trace in (cold, warm, narrow)] == [True, False, True]
    assert warm.finished.output_ids == cold.finished.output_ids

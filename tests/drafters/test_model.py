"""The model drafter: which rows it feeds, how it draws, and what it keeps of its cache."""

from functools import partial

import pytest
import torch

from specviz.core.sampling import Sampling, transform
from specviz.drafters.capabilities import with_model
from specviz.drafters.drafting.growing import ShapeOptions
from specviz.drafters.model import ModelDrafter
from specviz.errors import OptionError
from specviz.lm.table import TableModel
from specviz.tree_policies.drawing import choose_draw
from tests.drafters.asking import proposed
from tests.proof.letters import toy_run

propose = partial(proposed, temperature=0.9, seed=3)


def drafter_of(**options):
    return with_model(ModelDrafter(ShapeOptions(**options)), TableModel(6, seed=2))


def rows_of(proposal):
    return [(one.rows, one.cached_rows, one.depth) for one in proposal.passes]


def test_each_token_of_the_text_is_fed_once():
    drafter = drafter_of(gamma=2)
    text = [1, 2, 3, 4]
    drafter.begin(text)
    first = propose(drafter, text)
    assert rows_of(first) == [(1, 3, 1), (1, 4, 2)]
    nothing_accepted = [*text, (first.tree.tokens[1] + 1) % 6]
    second = propose(drafter, nothing_accepted, round=1)
    assert rows_of(second) == [(1, 4, 1), (1, 5, 2)]
    all_accepted = [*nothing_accepted, *second.tree.tokens[1:], 0]
    assert rows_of(propose(drafter, all_accepted, round=2)) == [(2, 6, 1), (1, 8, 2)]


def test_a_level_of_a_tree_is_one_pass():
    drafter = drafter_of(branching=(3, 2, 1), draw="top_k")
    proposal = propose(drafter, [1, 2], temperature=0.0)
    assert [one.rows for one in proposal.passes] == [2, 3, 6]
    assert [proposal.tree.depths.count(depth) for depth in (1, 2, 3)] == [3, 6, 6]


def test_the_accepted_branch_of_a_tree_stays_cached():
    drafter = drafter_of(branching=(3, 2, 1), draw="top_k")
    text = [1, 2]
    tree = propose(drafter, text, temperature=0.0).tree
    node = tree.children(3)[1]
    text += [tree.tokens[3], tree.tokens[node], 5]
    assert rows_of(propose(drafter, text, temperature=0.0, round=1))[0] == (1, 4, 1)


def test_equal_siblings_share_a_row():
    drafter = with_model(ModelDrafter(ShapeOptions(branching=(3, 1), draw="iid")), TableModel(2, seed=2))
    proposal = propose(drafter, [1, 0])
    assert proposal.tree.drafted == 6
    assert rows_of(proposal)[1][0] == 2


def test_proposals_are_the_models_own_distributions_under_the_runs_sampling():
    model, sampling = TableModel(6, seed=2), Sampling(0.7, top_k=3)
    tree = propose(with_model(ModelDrafter(ShapeOptions(gamma=3)), model), [1, 2], temperature=0.7, top_k=3).tree
    for node in (1, 2, 3):
        text = [1, 2, *tree.token_path(tree.parents[node])]
        assert torch.equal(tree.proposals[node], transform(model.exact_logits(text), sampling))


def test_siblings_without_replacement_differ_and_never_outnumber_the_support():
    tree = propose(drafter_of(branching=(5,)), [1, 2], temperature=1.0, top_k=3).tree
    assert len(set(tree.tokens[1:])) == tree.drafted == 3


def test_temperature_zero_chains_the_most_probable():
    model = TableModel(6, seed=2)
    tree = propose(with_model(ModelDrafter(ShapeOptions(gamma=2)), model), [1, 2], temperature=0.0).tree
    first = int(model.exact_logits([1, 2]).argmax())
    assert tree.tokens[1:] == [first, int(model.exact_logits([1, 2, first]).argmax())]
    assert tree.kinds[1:] == ["point_mass", "point_mass"]


@pytest.mark.parametrize(
    ("is_tree", "greedy", "kind"),
    [
        (False, False, "iid"),
        (True, False, "without_replacement"),
        (False, True, "point_mass"),
        (True, True, "point_mass"),
    ],
)
def test_auto_draws_as_shape_and_temperature_ask(is_tree, greedy, kind):
    assert choose_draw("auto", is_tree, greedy).kind == kind


def test_the_draft_ends_where_the_drafters_own_context_ends():
    drafter = with_model(ModelDrafter(ShapeOptions(gamma=5)), TableModel(6, seed=2, context_length=4))
    assert max(propose(drafter, [1, 2, 3]).tree.depths) == 2
    full = propose(drafter, [1, 2, 3, 4, 5])
    assert (full.tree.drafted, full.note) == (0, {"drafter_context_full": True})


def test_a_twin_of_the_target_is_always_accepted():
    settings = {"drafter_model": "twin", "drafter_options": {"gamma": 3}, "temperature": 1.0, "max_new_tokens": 20}
    trace = toy_run(prompt="ab", drafter="model", **settings)
    assert trace.summary.draft_acceptance_rate == 1.0
    assert [len(one.committed.tokens) for one in trace.rounds] == [4, 4, 4, 4, 4]


def test_a_tree_too_large_is_refused():
    with pytest.raises(OptionError, match="makes 1110 candidates"):
        ShapeOptions(branching=(10, 10, 10))

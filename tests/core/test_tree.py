"""The draft tree: declared kinds, order, paths, layout."""

import pytest
import torch

from specviz.core.draws import Room
from specviz.core.tree import DraftTree
from specviz.errors import DraftError
from specviz.trace.tree_shape import tidy_layout


def small() -> DraftTree:
    """root ─ 1 ─ 3, 4;  root ─ 2"""
    tree = DraftTree.from_root(9)
    q = torch.tensor([0.25, 0.75])
    tree.add(0, 1, "iid", q, "test")
    tree.add(0, 0, "iid", q, "test")
    tree.add(1, 7, "point_mass", None, "copied")
    tree.add(1, 8, "point_mass", None, "copied")
    return tree


def test_a_root_alone_is_a_tree_with_nothing_drafted():
    tree = DraftTree.from_root(9)
    assert (len(tree), tree.drafted, tree.depths, tree.kinds, tree.is_chain()) == (1, 0, [0], ["root"], True)


def test_children_stand_in_draw_order_and_paths_go_down():
    tree = small()
    assert tree.children(0) == [1, 2]
    assert tree.children(1) == [3, 4]
    assert tree.path(4) == [1, 4]
    assert tree.path(0) == []
    assert tree.token_path(4) == [1, 8]
    assert not tree.is_chain()


def test_the_probability_of_a_candidate_is_that_of_its_own_proposal():
    assert [small().proposal_prob(node) for node in range(5)] == [1.0, 0.75, 0.25, 1.0, 1.0]


def test_probabilities_are_looked_up_again_after_the_tree_has_grown():
    tree = small()
    assert tree.proposal_prob(1) == 0.75
    tree.add(2, 0, "iid", torch.tensor([0.5, 0.5]), "test")
    assert tree.proposal_prob(5) == 0.5


@pytest.mark.parametrize("kind", ["iid", "point_mass"])
def test_a_chain_added_at_once_is_the_one_added_node_by_node(kind):
    whole = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    q = whole.unbind()
    at_once, one_by_one = DraftTree.from_root(9), DraftTree.from_root(9)
    block, probs = (Room(whole, q, whole.data_ptr()), [0.75, 0.5]) if kind == "iid" else (None, [])
    at_once.add_chain([1, 0], kind, block, probs, "test")
    for node, token in enumerate([1, 0]):
        one_by_one.add(node, token, kind, q[node] if kind == "iid" else None, "test")
    for tree in (at_once, one_by_one):
        assert (tree.tokens, tree.parents, tree.depths) == ([9, 1, 0], [-1, 0, 1], [0, 1, 2])
        assert (tree.kinds, tree.sources) == (["root", kind, kind], ["root", "test", "test"])
        assert [proposal is None for proposal in tree.proposals] == [True] + [kind == "point_mass"] * 2
        assert [tree.proposal_prob(node) for node in range(3)] == ([1.0, 0.75, 0.5] if kind == "iid" else [1.0] * 3)


def test_a_chain_lies_in_one_block_until_the_tree_is_changed():
    whole = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    block = Room(whole, whole.unbind(), whole.data_ptr())
    grown, turned = DraftTree.from_root(9), DraftTree.from_root(9)
    for tree in (grown, turned):
        tree.add_chain([1, 0], "iid", block, [0.75, 0.5], "test")
        assert tree.block is block
    grown.add(2, 1, "point_mass", None, "copied")
    turned.arrange([0, 1])
    assert (grown.block, turned.block) == (None, None)


def test_arranged_nodes_keep_all_that_is_theirs_under_new_numbers():
    """Node 1 and its child 3 are left out; 2, 4 and 5 become a chain 1, 2, 3."""
    tree = DraftTree.from_root(9)
    q, other = torch.tensor([0.25, 0.75]), torch.tensor([0.5, 0.5])
    tree.add(0, 1, "iid", q, "first")
    tree.add(0, 0, "without_replacement", q, "second")
    tree.add(1, 7, "point_mass", None, "copied")
    tree.add(2, 8, "point_mass", None, "copied")
    tree.add(4, 1, "iid", other, "third")
    assert tree.proposal_prob(1) == 0.75
    tree.arrange([0, 2, 4, 5])
    assert tree.tokens == [9, 0, 8, 1]
    assert tree.parents == [-1, 0, 1, 2]
    assert tree.depths == [0, 1, 2, 3]
    assert tree.kinds == ["root", "without_replacement", "point_mass", "iid"]
    assert tree.sources == ["root", "second", "copied", "third"]
    assert [tree.proposals[1], tree.proposals[2], tree.proposals[3]] == [q, None, other]
    assert [tree.proposal_prob(node) for node in range(4)] == [1.0, 0.25, 1.0, 0.5]


def test_nodes_arranged_depth_first_stand_in_the_order_given_and_not_in_that_of_their_numbers():
    tree = small()
    assert [tree.proposal_prob(node) for node in range(5)] == [1.0, 0.75, 0.25, 1.0, 1.0]
    tree.arrange([0, 1, 3, 4, 2])
    assert (tree.tokens, tree.parents) == ([9, 1, 7, 8, 0], [-1, 0, 1, 1, 0])
    assert tree.sources == ["root", "test", "copied", "copied", "test"]
    assert [tree.proposal_prob(node) for node in range(5)] == [1.0, 0.75, 1.0, 1.0, 0.25], "looked up again"


@pytest.mark.parametrize("parent", [-1, 1])
def test_a_candidate_needs_a_parent_that_exists(parent):
    with pytest.raises(DraftError, match=f"names parent {parent}"):
        DraftTree.from_root(9).add(parent, 1, "point_mass", None, "test")


def test_a_drawn_candidate_without_its_distribution_is_refused():
    with pytest.raises(DraftError, match="'iid' but carries no proposal"):
        DraftTree.from_root(9).add(0, 1, "iid", None, "test")


def test_a_point_mass_with_a_distribution_is_refused():
    with pytest.raises(DraftError, match="'point_mass' but carries a proposal"):
        DraftTree.from_root(9).add(0, 1, "point_mass", torch.ones(2) / 2, "test")


def test_layout_puts_leaves_on_rows_and_parents_in_the_middle():
    tree = small()
    assert tidy_layout(tree.parents, tree.depths) == [(0, 1.25), (1, 0.5), (1, 2), (2, 0), (2, 1)]

"""Fusion of a model's tree with retrieved ones: what survives, where it goes, and what each node says of itself."""

import pytest
import torch

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree
from specviz.datastore.store import from_ids
from specviz.drafters.base import DraftPolicies
from specviz.drafters.capabilities import with_model
from specviz.drafters.drafting.matching import Found
from specviz.drafters.rasd import Branches, RasdDrafter, RasdOptions, fuse, prune
from specviz.engine.pairing import check_pairing
from specviz.errors import DatastoreError, PairingError
from specviz.lm.table import TableModel
from specviz.tree_policies.chain import ChainOptions, ChainTreePolicy
from specviz.verifiers.base import VERIFIERS
from tests.drafters.asking import paths, proposed
from tests.proof.letters import toy_run

WARM = Sampling(0.9)
TRIE = [Found(3, -1, 0.6, 6, 1), Found(4, 0, 0.5, 5, 2), Found(5, -1, 0.4, 4, 1), Found(6, 2, 0.1, 1, 2)]
"""3, 3 4, 5, 5 6"""


def own_tree():
    """3 7 and 1, drawn."""
    tree, q = DraftTree.from_root(0), torch.full((8,), 0.125)
    first = tree.add(ROOT, 3, "without_replacement", q, "model")
    tree.add(ROOT, 1, "without_replacement", q, "model")
    tree.add(first, 7, "iid", q, "model")
    return tree


def draft(tokens, options, store=None, **marks):
    drafter = with_model(RasdDrafter(options), TableModel(8, seed=2))
    if store is not None:
        drafter.consult(store)
    drafter.begin(tokens)
    return proposed(drafter, tokens, temperature=0.9, seed=3, **marks)


def test_a_branch_survives_where_its_first_token_is_among_the_models_most_probable():
    branches = Branches("text", TRIE)
    q = torch.tensor([0.1, 0.3, 0.0, 0.4, 0.1, 0.05, 0.05, 0.0])
    assert prune(branches, q, keep=2) == {0: pytest.approx(0.24), 1: pytest.approx(0.2)}
    assert branches.pruned == [2]


def test_without_a_distribution_nothing_is_pruned():
    branches = Branches("text", TRIE)
    assert prune(branches, None, keep=1) == {0: 0.6, 1: 0.5, 2: 0.4, 3: 0.1}
    assert branches.pruned == []


def test_a_branch_is_walked_down_the_tree_and_its_rest_attached_where_it_leaves():
    tree, branches = own_tree(), Branches("text", TRIE)
    fuse(tree, [(branches, prune(branches, None, 8))], most=9)
    assert tree.tokens == [0, 3, 1, 7, 4, 5, 6]
    assert tree.parents == [-1, 0, 0, 1, 1, 0, 5]
    assert tree.sources[1:] == ["model", "model", "model", "text", "text", "text"]
    assert tree.kinds[1:] == ["without_replacement"] * 2 + ["iid"] + ["point_mass"] * 3
    assert branches.nodes == {0: 1, 1: 4, 2: 5, 3: 6}


def test_the_best_come_first_within_the_budget_and_the_models_own_all_stay():
    tree, branches = own_tree(), Branches("text", TRIE)
    fuse(tree, [(branches, {0: 0.1, 1: 0.05, 2: 0.4, 3: 0.01})], most=4)
    assert paths(tree, "text") == [[5]]
    tree, branches = own_tree(), Branches("text", TRIE)
    fuse(tree, [(branches, prune(branches, None, 8))], most=1)
    assert (tree.drafted, branches.nodes) == (3, {0: 1})


def test_what_two_sources_found_is_one_candidate():
    tree, text, store = own_tree(), Branches("text", TRIE), Branches("datastore", TRIE)
    fuse(tree, [(text, prune(text, None, 8)), (store, prune(store, None, 8))], most=20)
    assert (paths(tree, "datastore"), store.nodes) == ([], text.nodes)


def test_every_node_keeps_its_source_and_its_kind():
    store = from_ids("test", [("a.py", [1, 2, 5, 6, 1, 2, 4, 4])], "", 8)
    proposal = draft([1, 2, 3, 3, 1, 2], RasdOptions(branching=(2, 1), likely=8), store=store)
    tree = proposal.tree
    kinds = dict(zip(tree.sources[1:], tree.kinds[1:], strict=True))
    assert kinds == {"model": "without_replacement", "text": "point_mass", "datastore": "point_mass"}
    assert proposal.note["own"] == tree.sources.count("model") == 4
    assert proposal.note["retrieved"] == tree.drafted - 4
    assert [exhibit.title for exhibit in proposal.exhibits] == [
        "the end of the text, seen before",
        "what followed, by frequency",
        "looked up in the datastore",
        "what followed there",
    ]


@pytest.mark.parametrize("look_in", ["text", "datastore"])
def test_nothing_is_retrieved_behind_an_end_of_text_nor_a_mark_of_the_template(look_in):
    text, other = [1, 2, 5, 6, 7, 1, 2, 3, 4, 0, 1, 2], [1, 2, 5, 6, 7, 1, 2, 3, 4]
    store, options = from_ids("test", [("a.py", other)], "", 8), RasdOptions(branching=(1,), look_in=look_in)

    def found(**marks):
        return {tuple(path) for path in paths(draft(text, options, store, **marks).tree, look_in)}

    assert {(5, 6, 7), (3, 4)} <= found()
    assert found(ends=frozenset({5, 3})) <= {(5,), (3,)}
    assert not any({6, 3} & {*path} for path in found(unsaid=frozenset({6, 3})))


def test_what_the_model_speaks_against_is_shown_with_its_probability():
    model = TableModel(8, seed=2)
    for unlikely in range(3, 8):
        text = [1, 2, unlikely, 1, 2]
        q = model.exact_logits(text).float().softmax(-1)
        if int(q.argmax()) != unlikely:
            break
    proposal = draft(text, RasdOptions(likely=1, look_in="text"))
    row = proposal.exhibits[-1].rows[0]
    assert (proposal.exhibits[-1].title, row.tokens) == ("retrieved, but unlikely to the model", [unlikely])
    assert row.scores == [pytest.approx(float(q[unlikely]), abs=1e-6)]
    assert proposal.note["retrieved"] == 0


@pytest.mark.parametrize("look_in", ["both", "datastore"])
def test_without_a_datastore_it_says_how_to_build_one(look_in):
    with pytest.raises(DatastoreError, match="build one with `specviz datastore build`, or look in the text"):
        draft([1, 2], RasdOptions(look_in=look_in))


ALLOWED = {
    "cascade", "coupled", "ensemble", "lenience", "longest_path", "naive", "sequential", "traversal", "typical",
}  # fmt: skip
OF_A_CHAIN = {"gls"}
"""judges i.i.d. candidates, as those of a chain are; siblings here are drawn without replacement"""


@pytest.mark.parametrize("tree_policy", [None, ChainTreePolicy(ChainOptions())], ids=["own", "chain"])
@pytest.mark.parametrize("verifier", VERIFIERS.names())
def test_only_rules_that_judge_drawn_and_retrieved_candidates_side_by_side_are_allowed(verifier, tree_policy):
    drafter = RasdDrafter(RasdOptions())
    drafter.follow(DraftPolicies(tree_policy))
    if verifier in (ALLOWED if tree_policy is None else ALLOWED | OF_A_CHAIN):
        check_pairing(drafter, VERIFIERS.get(verifier), WARM)
    else:
        with pytest.raises(PairingError, match=f"verifier '{verifier}'"):
            check_pairing(drafter, VERIFIERS.get(verifier), WARM)


@pytest.mark.parametrize("verifier", ["naive", "sequential", "traversal"])
def test_a_trace_of_mixed_trees_is_sound(verifier):
    trace = toy_run(prompt="abcabdab", drafter="rasd", verifier=verifier, temperature=0.9, max_new_tokens=30)
    drafted = {node.source for this in trace.rounds for node in this.nodes[1:]}
    tried = {node.source for this in trace.rounds for node in this.nodes if node.fate in ("accepted", "rejected")}
    assert drafted == {"model", "text", "datastore"}
    assert {"text", "datastore"} & tried


@pytest.mark.parametrize("temperature", [0.0, 0.9])
@pytest.mark.parametrize("stop_policy", ["heuristic", "draft_verify"])
def test_a_stop_policy_learns_from_the_models_part_of_a_mixed_tree(stop_policy, temperature):
    """Its own levels are not those that were retrieved: the check works out what it learnt."""
    trace = toy_run(drafter="rasd", stop_policy=stop_policy, temperature=temperature, max_new_tokens=40)
    own = [max((node.depth for node in this.nodes if node.source == "model"), default=0) for this in trace.rounds]
    assert any(max(node.depth for node in this.nodes) > mine for this, mine in zip(trace.rounds, own, strict=True))

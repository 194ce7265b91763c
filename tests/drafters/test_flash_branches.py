"""A block whose branches are read anew: each by its own tokens, as the network itself says of them."""

import pytest
import torch
from torch.nn import functional

from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.drafters.base import DRAFTERS, DraftPolicies
from specviz.drafters.learned.flash_network import Roots
from specviz.drafters.learned.weights import write_module
from specviz.engine.pairing import check_pairing, follow
from specviz.errors import ModelError, OptionError, PairingError
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS
from tests.drafters.test_flash import PROMPT, SLOTS, target_of, taught
from tests.drafters.test_heads import read
from tests.engine import sessions

CAUSAL = {"causal": True}
SHAPES = {
    "dflash": ("dflash", CAUSAL),
    "dflash, mixed rows and selected tokens": (
        "dflash",
        {**CAUSAL, "convolution": 8, "selector_rank": 6, "selected": 9},
    ),
    "dspark": ("dspark", CAUSAL),
}


@pytest.fixture(scope="module")
def target():
    return target_of(2)


def attached(target, folder, name, **shape):
    """A drafter under way, whose branches `ddtree` has read anew."""
    write_module(taught(name, target, **shape), folder, {})
    drafter = DRAFTERS.get(name).of({"weights": str(folder), "gamma": SLOTS})
    follow(drafter, DraftPolicies(TREE_POLICIES.get("ddtree").of({"budget": 5, "rescore": True})))
    this = sessions.session(target, drafter, PROMPT, 20, 0.7)
    this.begin()
    return this


@pytest.mark.parametrize(("name", "shape"), SHAPES.values(), ids=SHAPES)
def test_a_branch_that_is_read_anew_says_what_the_network_says_of_it(target, tmp_path, name, shape):
    this = attached(target, tmp_path / name, name, **shape)
    this.round()
    before, drafter = list(this.tokens), this.method.drafter
    tree = DraftTree.from_root(before[-1])
    for parent, token in [(0, 7), (0, 30), (1, 41), (1, 8), (2, 41), (3, 2)]:
        tree.add(parent, token, "point_mass", None, name)
    with torch.inference_mode():
        rows = drafter.read_branches(tree, [*range(len(tree))])
    for node, row in enumerate(rows):
        path = tree.token_path(node)
        batch = read(target, drafter.trunk, [*before, *path, 0])
        roots, shown = Roots(torch.tensor([[len(before) - 1]]), SLOTS), torch.tensor([[len(path)]])
        with torch.inference_mode():
            state = drafter.trunk.states(batch, roots, shown)[0, 0, [len(path)]]
            blind = functional.linear(state, drafter.trunk.read_head())
            expected = drafter.behind(blind, state, [tree.tokens[node]])[0]
        torch.testing.assert_close(row, expected, atol=2e-4, rtol=1e-4)
    assert float((rows[3][rows[3].isfinite()][0] - rows[5][rows[5].isfinite()][0]).abs()) > 1e-4, "7 41 and 30 41"


def test_what_is_recorded_of_a_draft_is_what_the_second_pass_says(target, tmp_path):
    this = attached(target, tmp_path / "dflash", "dflash", **CAUSAL)
    depths = set()
    while this.finished is None:
        proposal = this.round().proposal
        if not proposal.tree.drafted:
            continue  # one token was left to say
        depths.add(max(proposal.tree.depths))
        assert len(proposal.tree) - 1 <= 5
        ((nodes, _),) = proposal.draft_logits
        assert {proposal.tree.parents[node] for node in range(1, len(proposal.tree))} <= {*nodes}
        assert set(proposal.tree.kinds[1:]) <= {"point_mass"}
        assert len(proposal.passes) == 2
    assert max(depths) > 1


def test_only_who_can_read_branches_is_asked_to(target, tmp_path):
    rescored = DraftPolicies(TREE_POLICIES.get("ddtree").of({"rescore": True}))
    drafter = DRAFTERS.get("model").of({})
    follow(drafter, rescored)
    with pytest.raises(PairingError, match="a second pass with these options, which the drafter 'model' cannot make"):
        check_pairing(drafter, VERIFIERS.get("sequential"), Sampling(0.7))
    with pytest.raises(ModelError, match="these weights of 'dflash' were not trained for that"):
        attached(target, tmp_path / "dflash", "dflash")
    with pytest.raises(ModelError, match="these weights of 'dflash' were not trained for that"):
        attached(target, tmp_path / "masks", "dflash", causal=True, from_root=False)
    with pytest.raises(OptionError, match="draw is without_replacement, and what was drawn must be judged"):
        TREE_POLICIES.get("ddtree").of({"rescore": True, "draw": "without_replacement"})

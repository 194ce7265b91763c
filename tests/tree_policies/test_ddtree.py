"""DDTree: the best paths of independent places, held to all paths that there are."""

from collections import Counter
from itertools import product
from math import prod

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftContext, Proposal
from specviz.drafters.drafting.growing import GrowingDraft
from specviz.errors import ModelError
from specviz.resources import ROOT as ASSETS
from specviz.stop_policies.fixed import FixedStopPolicy, StopOptions
from specviz.trace import codec
from specviz.tree_policies.ddtree import DDTreeOptions, DDTreePolicy, ranked

PLACES = [[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]]
"""what a block of three holds probable at each place, whatever stands before it"""


def grown(budget, places=PLACES, temperature=0.0, draw="top_k", rescore=None):
    """`rescore`: what a second pass says behind a path, as probabilities."""
    proposal = Proposal(DraftTree.from_root(0))
    rows = torch.tensor(places, dtype=torch.float64).log()
    draft = GrowingDraft(
        DraftContext([0], 0, len(places), Sampling(temperature), SeededRandom(3)),
        proposal,
        FixedStopPolicy(StopOptions()),
        len(places),
        lambda nodes, at: rows[[proposal.tree.depths[node] for node in nodes]],
        "block",
    )
    if rescore is not None:
        draft.branches_of = lambda nodes: torch.tensor(
            [rescore(tuple(proposal.tree.token_path(node))) for node in nodes], dtype=torch.float64
        ).log()
    DDTreePolicy(DDTreeOptions(budget=budget, draw=draw, rescore=rescore is not None)).grow(draft)
    return proposal


def worth(path):
    return prod(place[token] for place, token in zip(PLACES, path, strict=False))


def paths(proposal):
    return [tuple(proposal.tree.token_path(node)) for node in range(1, len(proposal.tree))]


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 8, 13, 40, 84, 99])
def test_the_tree_holds_the_paths_that_are_most_likely_right(budget):
    every = [path for length in (1, 2, 3) for path in product(range(4), repeat=length)]
    drafted = paths(grown(budget))
    assert len(set(drafted)) == len(drafted) == min(budget, 84)
    best = sorted(map(worth, every), reverse=True)[:budget]
    assert sorted(map(worth, drafted), reverse=True) == pytest.approx(best, rel=1e-5)
    assert grown(budget).note["expected_accepted"] == pytest.approx(sum(best), abs=1e-4)


def test_paths_come_best_first_and_each_after_its_own_beginning():
    drafted = paths(grown(13))
    worths = [worth(path) for path in drafted]
    assert worths == pytest.approx(sorted(worths, reverse=True), rel=1e-6)
    assert all(path[:-1] in ((), *drafted[:index]) for index, path in enumerate(drafted))
    assert drafted[:3] == [(0,), (1,), (0, 3)]


def test_after_a_second_pass_the_best_paths_by_what_it_says_stay_also_such_as_were_not_drafted_before():
    """Two tokens likely at two places each; by its own tokens 0 is followed by 3 alone and 1 by 2."""
    fitting = {(): [0.5, 0.3, 0.15, 0.05], (0,): [0.0, 0.05, 0.0, 0.95], (1,): [0.0, 0.0, 1.0, 0.0]}
    proposal = grown(4, places=PLACES[:2], rescore=lambda path: fitting.get(path, [0.25] * 4))
    # 0: 0.5, then 3: 0.475, 1: 0.3, then 2: 0.3; by the places alone 2 would have stood in the tree: 0.15
    assert {*paths(proposal)} == {(0,), (0, 3), (1,), (1, 2)}
    assert proposal.note["expected_accepted"] == pytest.approx(1.575, abs=1e-4)
    fitting[(0,)] = [0.95, 0.05, 0.0, 0.0]  # the least likely of its place, which no path was drafted with
    proposal = grown(2, places=PLACES[:2], rescore=lambda path: fitting.get(path, [0.25] * 4))
    assert paths(proposal) == [(0,), (0, 0)]
    ((nodes, rows),) = proposal.draft_logits
    assert nodes == [0, 1]
    assert rows[1].exp().tolist() == pytest.approx([0.95, 0.05, 0.0, 0.0])


def test_sure_places_make_a_chain():
    sure = [[0.97, 0.01, 0.01, 0.01]] * 3
    assert paths(grown(3, sure)) == [(0,), (0, 0), (0, 0, 0)]


def test_above_temperature_0_the_tempered_distribution_ranks_and_all_are_point_masses():
    proposal = grown(9, [[0.5, 0.5, 0.0, 0.0]] * 3, temperature=1.0)
    assert {token for path in paths(proposal) for token in path} == {0, 1}, "no token that cannot come"
    assert set(proposal.tree.kinds[ROOT + 1 :]) == {"point_mass"}


def test_drawn_the_tree_has_the_shape_of_the_ranks():
    likeliest, drawn = grown(9, temperature=1.0), grown(9, temperature=1.0, draw="without_replacement")
    assert drawn.tree.parents == likeliest.tree.parents
    assert set(drawn.tree.kinds[ROOT + 1 :]) == {"without_replacement"}
    assert paths(drawn) != paths(likeliest)
    assert paths(grown(9, draw="without_replacement")) == [(0,), (0, 3), (0, 3, 0)], "a chain at temperature 0"


def test_the_page_counts_the_recorded_branches_that_contradict_themselves():
    """docs/methods/ddtree.md: by level, candidates, and those to which the target gives less than 1 %."""
    trace = codec.read(ASSETS / "traces" / "ddtree-block.json.gz")
    drafted, unlikely, expected, right = Counter[int](), Counter[int](), 0.0, 0.0
    for this in trace.rounds:
        reached = {0: 1.0}
        for node in this.nodes[1:]:
            reached[node.id] = reached[node.parent] * node.target_prob
            drafted[node.depth] += 1
            unlikely[node.depth] += node.target_prob < 0.01
            right += reached[node.id]
        expected += this.drafted.note["expected_accepted"]
    assert [drafted[level] for level in range(1, 8)] == [10, 11, 16, 9, 6, 5, 3]
    assert [unlikely[level] for level in range(1, 8)] == [4, 5, 8, 4, 3, 2, 2]
    assert (round(expected, 1), round(right, 1)) == (18.1, 18.6)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_where_no_token_can_come_nothing_is_ranked(temperature):
    with pytest.raises(ModelError, match="no numbers"):
        ranked(torch.full((5,), torch.nan), Sampling(temperature), 4)

"""When each stop policy ends a draft, on known numbers."""

from math import log
from pathlib import Path

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.drafters.base import DraftContext, DraftPolicies
from specviz.drafters.capabilities import with_model
from specviz.drafters.drafting.growing import LastDraft, ShapeOptions
from specviz.drafters.model import ModelDrafter
from specviz.errors import OptionError
from specviz.lm.table import TableModel
from specviz.options import describe
from specviz.stop_policies.base import STOP_POLICIES, Recipe, StopOptions
from specviz.stop_policies.confidence import ConfidenceOptions, ConfidenceStopPolicy
from specviz.stop_policies.decision import DecisionOptions, DecisionStopPolicy
from specviz.stop_policies.disco import DiscoOptions, DiscoStopPolicy
from specviz.stop_policies.draft_verify import DraftVerifyOptions, DraftVerifyStopPolicy
from specviz.stop_policies.entropy import EntropyOptions, EntropyStopPolicy
from specviz.stop_policies.fixed import FixedStopPolicy
from specviz.stop_policies.heuristic import HeuristicOptions, HeuristicStopPolicy
from specviz.stop_policies.learned import OF_DISTRIBUTION, against_base_rate
from specviz.stop_policies.learned import features as candidate_features
from specviz.stop_policies.oracle import OracleOptions, OracleStopPolicy
from specviz.stop_policies.specdecpp import SpecDecPPOptions, SpecDecPPStopPolicy
from specviz.training.stop_classifiers.learn import frequency, log_loss
from specviz.tree_policies.base import TargetProposal
from tests.drafters.asking import context


class View:
    """A chain 0 → 1 → 2 with given numbers."""

    def __init__(self, probs=(1.0, 1.0, 1.0), entropies=(0.0, 0.0, 0.0)):
        self.probs, self.entropies = probs, entropies

    def prob(self, node):
        return self.probs[node]

    def entropy(self, node):
        return self.entropies[node]

    def parent(self, node):
        return node - 1

    def depth(self, node):
        return node

    def head(self, node, count):
        return [0.9, 0.1]

    def hidden(self, node):
        return torch.tensor([self.probs[node]])

    def text(self, node):
        return [7, *range(1, node + 1)]


def weights(row, bias=0.0, threshold=0.5):
    """One layer, no standardising: sigmoid(row · x + bias)."""
    return {
        "mean": [0.0] * len(row),
        "scale": [1.0] * len(row),
        "layers": [{"weight": [row], "bias": [bias]}],
        "threshold": threshold,
        "drafter_sha256": "its own",
    }


@pytest.mark.parametrize(
    ("start", "rounds", "levels"),
    [
        pytest.param(5, [(5, 5), (7, 3), (6, 0), (5, 5)], [7, 6, 5, 7], id="it adds two and takes one"),
        pytest.param(7, [(3, 3)], [5], id="it adds to what was drafted, where there was room for less"),
        pytest.param(5, [(0, 0)], [5], id="a round in which nothing could be drafted teaches nothing"),
        pytest.param(1, [(1, 0)], [1], id="it never goes below one"),
    ],
)
def test_the_heuristic_learns_from_what_was_drafted_and_accepted(start, rounds, levels):
    stop, seen = HeuristicStopPolicy(HeuristicOptions(start_levels=start)), []
    for drafted, accepted in rounds:
        stop.learn(drafted, accepted)
        seen.append(stop.levels())
    assert seen == levels


def test_confidence_keeps_the_token_and_stops_below_it():
    stop = ConfidenceStopPolicy(ConfidenceOptions(threshold=0.4))
    view = View(probs=(1.0, 0.4, 0.39))
    assert stop.draws_at(view, 2)
    assert [stop.goes_below(view, node) for node in (1, 2)] == [True, False]


class Believed(DecisionStopPolicy):
    """Believes in candidate 1 alone."""

    def goes_below(self, draft, node):
        return node == 1


def test_a_fork_goes_on_as_a_whole_while_any_branch_is_believed_in():
    stop = Believed(DecisionOptions())
    assert stop.going_on(View(), [1, 2, 3]) == [1, 2, 3]
    assert stop.going_on(View(), [2, 3]) == []
    assert ConfidenceStopPolicy(ConfidenceOptions()).going_on(View(probs=(1.0, 0.1, 0.9)), [1, 2]) == [2]


def test_the_decision_model_believes_in_a_candidate_from_its_threshold_on():
    """sigmoid(4 ln p + 2) is 1/2 at p = e^-0.5 = 0.607."""
    row = [0.0] * 13
    row[10] = 4.0
    stop = DecisionStopPolicy(DecisionOptions())
    stop.use(weights(row, bias=2.0))
    view = View(probs=(1.0, 0.62, 0.59))
    assert (stop.going_on(view, [1, 2]), stop.going_on(view, [2])) == ([1, 2], [])
    assert stop.state()["stop_threshold"] == 0.5
    bolder = DecisionStopPolicy(DecisionOptions(threshold=0.3))
    bolder.use(weights(row, bias=2.0))
    assert bolder.going_on(view, [2]) == [2]


def test_entropy_stops_before_drawing_and_with_keep_after():
    """c H = 0.49 where H = 0.49/0.15, so the bound is 1 - 0.7 = 0.3."""
    at_bound = 0.49 / 0.15
    view = View(entropies=(at_bound - 1e-6, at_bound + 1e-3, log(2)))
    before = EntropyStopPolicy(EntropyOptions(floor=0.3))
    assert [before.draws_at(view, node) for node in (0, 1, 2)] == [True, False, True]
    assert before.goes_below(view, 2)
    after = EntropyStopPolicy(EntropyOptions(floor=0.3, keep=True))
    assert all(after.draws_at(view, node) for node in (0, 1, 2))
    assert [after.goes_below(view, node) for node in (1, 2)] == [True, False]


@pytest.mark.parametrize(
    ("memory", "stopped", "learnt", "threshold"),
    [
        pytest.param(0.5, False, (4, 1), 0.9 * 0.8 + 0.1 * 0.81, id="raised: too little is accepted"),
        pytest.param(0.0, True, (1, 1), 0.9 * 0.8 + 0.1 * 0.79, id="lowered: stopped, though all is accepted"),
        pytest.param(0.0, False, (4, 4), 0.8, id="left: nothing was stopped"),
    ],
)
def test_draft_verify_moves_its_threshold_with_what_is_accepted(memory, stopped, learnt, threshold):
    stop = DraftVerifyStopPolicy(DraftVerifyOptions(first_threshold=0.8, memory=memory))
    if stopped:
        assert not stop.goes_below(View(probs=(1.0, 0.5, 1.0)), 1)
    stop.learn(*learnt)
    assert stop.state()["stop_threshold"] == pytest.approx(threshold)


def test_a_moving_floor_follows_draft_and_verifys_rule_and_a_resting_one_stays():
    moving = EntropyStopPolicy(EntropyOptions(floor=0.3, moves=True))
    moving.learn(4, 1)
    assert moving.state() == {"stop_floor": pytest.approx(0.9 * 0.3 + 0.1 * 0.31)}
    resting = EntropyStopPolicy(EntropyOptions(floor=0.3))
    resting.learn(4, 1)
    assert resting.state() == {}
    assert not resting.draws_at(View(entropies=(0.49 / 0.15 + 1e-3,)), 0)


def test_what_a_classifier_sees_of_a_candidate():
    """Ten largest probabilities and that of the candidate as logarithms, the head's entropy, the depth."""
    seen = candidate_features([0.5, 0.25], 0.25, 3)
    assert seen[:2] == pytest.approx([-0.693147, -1.386294], abs=1e-6)
    assert seen[2:10] == [log(1e-6)] * 8
    assert seen[10:] == pytest.approx([-1.386294, 1.039721, 3.0], abs=1e-6)


def test_disco_keeps_the_candidate_and_stops_below_one_it_does_not_trust():
    """By the depth alone: sigmoid(1.5 - depth) is above 1/2 at depth 1 and below at depth 2."""
    row = [0.0] * 12
    row[11] = -1.0
    stop = DiscoStopPolicy(DiscoOptions())
    stop.use(weights(row, bias=1.5))
    view = View()
    assert stop.draws_at(view, 2)
    assert [stop.goes_below(view, node) for node in (1, 2)] == [True, False]
    assert stop.state()["stop_threshold"] == 0.5
    bolder = DiscoStopPolicy(DiscoOptions(threshold=0.3))
    bolder.use(weights(row, bias=1.5))
    assert bolder.goes_below(view, 2)


def test_specdecpp_stops_where_the_risk_of_the_whole_path_is_too_high():
    """P(accepted) = sigmoid(ln 3) = 3/4 each: the risk is 1/4, 7/16, …"""
    stop = SpecDecPPStopPolicy(SpecDecPPOptions(threshold=0.4, least=1))
    stop.use(weights([log(3.0)]))
    view = View(probs=(1.0, 1.0, 1.0))
    assert [stop.draws_at(view, node) for node in (0, 1, 2)] == [True, True, False]
    patient = SpecDecPPStopPolicy(SpecDecPPOptions(threshold=0.4, least=3))
    patient.use(weights([log(3.0)]))
    assert all(patient.draws_at(view, node) for node in (0, 1, 2))


@pytest.mark.parametrize(("threshold", "least"), [(0.1, 2), (0.5, 0)])
def test_specdecpp_drafts_so_many_levels_in_any_case_and_goes_on_at_its_threshold(threshold, least):
    """Each P(accepted) is sigmoid(0) = 1/2, so the risk is 1/2 behind the first candidate and 3/4 behind the second."""
    stop = SpecDecPPStopPolicy(SpecDecPPOptions(threshold=threshold, least=least))
    stop.use(weights([0.0]))
    assert [stop.draws_at(View(), node) for node in (0, 1, 2)] == [True, True, False]


def test_a_head_for_other_hidden_states_says_why_it_cannot_work():
    stop = SpecDecPPStopPolicy(SpecDecPPOptions())
    stop.use(weights([1.0, 2.0]))
    assert stop.why_not(2, "its own") is None
    assert "read 2 numbers" in stop.why_not(3, "its own")
    assert "other drafter weights" in stop.why_not(2, "another's")


@pytest.mark.parametrize("data", [{}, {"mean": [0.0]}, weights([0.0] * 5), {**weights([0.0]), "scale": "x"}])
def test_data_that_are_no_weights_are_refused(data):
    with pytest.raises(OptionError, match="specviz learn"):
        DiscoStopPolicy(DiscoOptions()).use(data)


def test_the_oracle_stops_below_what_the_target_would_not_write():
    asked = []

    def target_says(text):
        asked.append(list(text))
        return 1

    stop = OracleStopPolicy(OracleOptions())
    stop.consult(target_says)
    assert [stop.goes_below(View(), node) for node in (1, 2)] == [True, False]
    assert asked == [[7], [7, 1]]
    assert stop.state() == {"stop_asked_target": 2}


@pytest.mark.parametrize("policy", ["disco", "decision", "specdecpp"])
def test_page_and_docs_say_how_a_trained_policy_stands_against_its_base_rate(policy):
    standing = STOP_POLICIES.get(policy).standing()
    page = (Path(__file__).parents[2] / "docs" / "methods" / f"{policy}.md").read_text(encoding="utf-8")
    beats = "it beats the base rate" in standing
    assert beats or "it does not beat the base rate" in standing
    assert ("network beats the base rate" in page, "does not beat the base rate" in page) == (beats, not beats)


def test_a_rejections_weight_is_undone_before_a_network_is_held_against_the_base_rate():
    """Trained with rejections counting six times, odds of 1 : 6 stand for a frequency of one half."""
    recipe = Recipe(widths=(), from_hidden=True, reject_weight=6.0)
    assert frequency(torch.tensor([1 / 7]), recipe).tolist() == pytest.approx([0.5])
    assert log_loss(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0])) == pytest.approx(log(2))
    assert against_base_rate(0.5, 0.6).startswith("On held-out rounds it beats")
    assert against_base_rate(0.6, 0.6).startswith("On held-out rounds it does not beat")


def test_disco_does_not_look_at_the_candidates_own_probability():
    row = [0.0] * 12
    stop = DiscoStopPolicy(DiscoOptions())
    stop.use(weights(row, bias=1.0))
    with pytest.raises(OptionError, match="read 13 numbers, but the stop policy gives 12"):
        stop.use(weights([*row, 0.0]))
    assert [candidate_features([0.9, 0.1], prob, 1)[10] for prob in (0.9, 0.1)] == [log(0.9), log(0.1)]
    assert 10 not in OF_DISTRIBUTION


@pytest.mark.parametrize(
    ("stop", "drafted"),
    [
        (FixedStopPolicy(StopOptions()), 3),
        (FixedStopPolicy(StopOptions(longest=5)), 5),
        (FixedStopPolicy(StopOptions(longest=2)), 2),
        (HeuristicStopPolicy(HeuristicOptions(start_levels=6)), 6),
        (HeuristicStopPolicy(HeuristicOptions(start_levels=2)), 2),
        (HeuristicStopPolicy(HeuristicOptions(start_levels=6, longest=4)), 4),
        (ConfidenceStopPolicy(ConfidenceOptions(threshold=0.0, longest=7)), 7),
        (ConfidenceStopPolicy(ConfidenceOptions(threshold=1.0, longest=7)), 1),
    ],
)
def test_a_policy_can_lengthen_and_shorten_a_chain_of_three(stop, drafted):
    drafter = with_model(ModelDrafter(ShapeOptions(gamma=3)), TableModel(6, seed=2))
    drafter.follow(DraftPolicies(stop_policy=stop))
    drafter.begin([1])
    proposal = drafter.propose(DraftContext([1, 2], 0, 9, Sampling(1.0), SeededRandom(0)))
    assert proposal.tree.drafted == drafted


def test_a_tree_is_cut_but_not_lengthened():
    drafter = with_model(ModelDrafter(ShapeOptions(branching=(2, 1))), TableModel(6, seed=2))
    drafter.follow(DraftPolicies(stop_policy=FixedStopPolicy(StopOptions(longest=4))))
    drafter.begin([1])
    tree = drafter.propose(DraftContext([1, 2], 0, 9, Sampling(1.0), SeededRandom(0))).tree
    assert (tree.drafted, max(tree.depths)) == (4, 2)


@pytest.mark.parametrize("policy", ["disco", "decision", "specdecpp"])
def test_a_trained_policy_keeps_its_options(policy):
    """A subclass hook that did not call its parent's once left them all without."""
    names = {one.name for one in describe(STOP_POLICIES.get(policy).options_type)}
    assert {"longest", "threshold"} <= names


def test_a_policy_without_weights_says_so_and_can_still_be_listed():
    """Or `specviz learn`, which asks the catalogue what can be learnt, could never make the first ones."""

    class Unlearnt(DiscoStopPolicy):
        name = "unlearnt"

    assert Unlearnt.standing() == "It has no weights yet; make them with `specviz learn`."


@pytest.mark.parametrize(
    ("new", "proposed", "accepted"),
    [(3, False, 2), (3, True, 3), (1, False, 0), (6, False, 4)],
    ids=["one is the target's", "the last one is left open", "the target's alone", "others drafted below"],
)
def test_what_was_accepted_is_what_became_text_beside_the_targets_own_token(new, proposed, accepted):
    tree = DraftTree.from_root(2)
    for parent in range(4):
        tree.add(parent, 0, "point_mass", None, "model")
    assert told_of(tree, 5, [0] * new, TargetProposal(0, torch.zeros(3)) if proposed else None) == (4, accepted)


@pytest.mark.parametrize(
    ("new", "accepted"),
    [([3, 4, 9], 2), ([5, 6, 9], 0), ([3, 6, 9], 1), ([3, 4, 7, 9], 2), ([9], 0)],
    ids=["its own", "another's beside it", "another's below its own", "another's behind it", "nothing"],
)
def test_a_draft_beside_others_learns_what_was_accepted_of_itself(new, accepted):
    """Tokens 3 4 are its own; 5 6, 3 6 and 3 4 7 were added by others after it was remembered."""
    tree = DraftTree.from_root(2)
    for parent, token in ((0, 3), (1, 4), (0, 5), (3, 6), (1, 6), (2, 7)):
        tree.add(parent, token, "point_mass", None, "model")
    assert told_of(tree, 3, new) == (2, accepted)


def told_of(tree, size, new, open_token=None):
    """What a stop policy is told of the first nodes of a draft behind two tokens, once there are new ones."""
    (last, policy), told = (LastDraft(), FixedStopPolicy(StopOptions(longest=9))), []
    policy.learn = lambda *went: told.append(went)
    last.remember(tree, [1, 2])
    last.size = size
    last.report(policy, context([1, 2, *new], target_proposal=open_token))
    return told[0]

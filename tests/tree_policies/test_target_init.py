"""Target-initialised candidates: what they are, that they work in whole runs, and how far the text drifts for them."""

import itertools
from collections import Counter
from dataclasses import replace

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling, transform
from specviz.core.tree import FROM_TARGET
from specviz.drafters.base import DraftContext, DraftPolicies
from specviz.drafters.drafting.growing import ShapeOptions
from specviz.drafters.model import ModelDrafter
from specviz.engine.recorder import Recorder
from specviz.engine.scoring import ScoredTree, score
from specviz.errors import PairingError
from specviz.lm.table import TableModel
from specviz.proof import lossy
from specviz.proof.exhaustive import TARGET_SEED, WARM, EnumeratedRandom, ProofCase, exact, law, session_of
from specviz.stop_policies.base import StopOptions
from specviz.stop_policies.fixed import FixedStopPolicy
from specviz.theory.metrics import mean_acceptance_length, tokens_per_target_pass
from specviz.tree_policies.base import TargetProposal
from specviz.tree_policies.target_init import TargetInitOptions, TargetInitTreePolicy
from specviz.verifiers.longest_path import LongestPathOptions, LongestPathVerifier
from tests.proof.letters import Letters, toy_run
from tests.proof.walked import error

TARGET, COLD = TableModel(3, TARGET_SEED), Sampling(0.0)
TEXT = [1, 2]


def proposed(token, sampling=WARM, text=TEXT, randomness=None, room=9, **options):
    """A draft after a round that left `token` open."""
    drafter = ModelDrafter(ShapeOptions())
    drafter.use(TableModel(3, seed=2))
    drafter.follow(DraftPolicies(TargetInitTreePolicy(TargetInitOptions(**options))))
    drafter.begin(text)
    target_proposal = TargetProposal(token, TARGET.exact_logits(text))
    return drafter.propose(
        DraftContext(text, 0, room, sampling, randomness or SeededRandom(3), target_proposal=target_proposal)
    )


def test_the_first_level_is_the_open_token_and_others_of_the_targets_distribution():
    tree = proposed(1, width=3, depth=2).tree
    assert tree.tokens[1] == 1
    assert sorted(tree.tokens[1:4]) == [0, 1, 2]
    assert tree.sources == ["root", FROM_TARGET, FROM_TARGET, FROM_TARGET, "model", "model", "model"]
    assert tree.parents == [-1, 0, 0, 0, 1, 2, 3]
    p = transform(TARGET.exact_logits(TEXT), WARM)
    assert all(torch.equal(tree.proposals[node], p) for node in (1, 2, 3))


def test_the_others_are_drawn_without_replacement_from_the_target():
    """Exact law of the second candidate, given that token 0 is the open one."""
    p = transform(TARGET.exact_logits(TEXT), WARM).tolist()
    found, script = Counter(), ()
    while script is not None:
        randomness = EnumeratedRandom(script)
        found[proposed(0, randomness=randomness, width=2, depth=1).tree.tokens[2]] += randomness.weight()
        script = randomness.next_script(0)
    assert found == pytest.approx({1: p[1] / (p[1] + p[2]), 2: p[2] / (p[1] + p[2])})


def test_at_temperature_zero_they_are_the_most_probable():
    order = TARGET.exact_logits(TEXT).argsort(descending=True).tolist()
    tree = proposed(order[0], sampling=COLD, width=2, depth=2).tree
    assert tree.tokens[1:3] == order[:2]
    assert set(tree.kinds[1:]) == {"point_mass"}


@pytest.mark.parametrize("longest", [0, 10])
def test_its_prongs_are_no_chain_that_a_stop_policy_may_lengthen(longest):
    drafter = ModelDrafter(ShapeOptions())
    drafter.use(TableModel(3, seed=2))
    grown = TargetInitTreePolicy(TargetInitOptions(width=3, depth=3))
    drafter.follow(DraftPolicies(grown, FixedStopPolicy(StopOptions(longest=longest))))
    drafter.begin(TEXT)
    open_token = TargetProposal(1, TARGET.exact_logits(TEXT))
    context = DraftContext(TEXT, 0, 20, WARM, SeededRandom(3), target_proposal=open_token)
    tree = drafter.propose(context).tree
    assert max(tree.depths) == 3
    assert tree.drafted == 9


@pytest.mark.parametrize("budget", [4, 7, 16])
def test_the_budget_holds_for_target_initialised_trees_too(budget):
    assert proposed(0, width=3, depth=3, budget=budget).tree.drafted == budget


def first_token(text, sampling, width, depth=2):
    """The exact law of the token after `text`, where the round before left it open."""
    target = TARGET.exact_logits(text)
    judge = LongestPathVerifier(LongestPathOptions())
    found: Counter = Counter()
    for token, mass in enumerate(transform(target, sampling).tolist()):
        script = () if mass > 0.0 else None
        while script is not None:
            randomness = EnumeratedRandom(script)
            with torch.inference_mode():
                tree = proposed(token, sampling, text, randomness, width=width, depth=depth).tree
                cache = TARGET.new_cache()
                if len(text) > 1:
                    TARGET.forward(text[:-1], cache)
                    cache.keep(range(len(text) - 1))
                scored = ScoredTree(tree, score(TARGET, cache, tree), sampling)
                verdict = judge.judge(tree, scored, randomness, len(text))
            found[tree.tokens[verdict.path[0]]] += mass * randomness.weight()
            script = randomness.next_script(0)
    return found


def bias(text, width):
    """Total variation between the law of the open token and the target's."""
    p = transform(TARGET.exact_logits(text), WARM).tolist()
    found = first_token(text, WARM, width)
    return sum(abs(found[token] - p[token]) for token in range(3)) / 2


def test_one_candidate_is_the_target_itself():
    assert bias(TEXT, 1) < 1e-12


def test_the_longest_branch_biases_a_token_that_was_final():
    """The numbers are on the method's page."""
    assert [bias([token], 2) for token in range(3)] == pytest.approx([0.1209, 0.2377, 0.1711], abs=5e-4)


def test_the_distance_measured_on_pairs_is_that_of_the_enumeration():
    """Forks are drawn there, and all of them walked here."""
    for text in ((0,), (1,), (2,)):
        p = transform(TARGET.exact_logits(text), WARM)
        passes = lossy.pass_probabilities((TARGET, TableModel(3, seed=2)), text, [0, 1, 2], WARM)
        moved = lossy.moved(p, passes, width=2)
        law_of = first_token(list(text), WARM, 2)
        assert moved.tolist() == pytest.approx([law_of[token] - float(p[token]) for token in range(3)], abs=0.01)


def test_at_temperature_zero_the_first_token_need_not_be_the_greedy_one():
    texts = [list(text) for text in itertools.product(range(3), repeat=4)]
    changed = sum(TARGET.exact_logits(text).argmax().item() not in first_token(text, COLD, 2) for text in texts)
    assert (changed, len(texts)) == (16, 81)


CASE = ProofCase(
    "model",
    "longest_path",
    length=4,
    vocab_size=2,
    tree_policy="target_init",
    tree_policy_options=(("width", 2), ("depth", 2)),
)


def test_the_law_of_a_whole_run_is_a_law_but_not_the_targets():
    found = law(CASE)
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)
    right = exact(CASE)
    assert sum(abs(found[text] - right[text]) for text in right) / 2 == pytest.approx(0.2546, abs=5e-4)


def test_an_open_token_is_not_counted_twice():
    """As many tokens as were committed, divided by the rounds: an open token belongs to the round that settles it."""
    session = session_of(CASE, EnumeratedRandom(()))
    session.begin()
    records = []
    while session.finished is None:
        records.append(session.round())
    kept = [record.commitment for record in records]
    assert "open" in [one.trimmed for one in kept]
    assert sum(len(one.tokens) for one in kept) == 4
    rounds = [Recorder(Letters(2)).round(record).event for record in records]
    assert tokens_per_target_pass(rounds) == 4 / len(records)
    assert mean_acceptance_length(rounds) == 4 / len(records)


def test_all_rounds_masks_are_cut_from_that_of_the_whole_fork():
    options = (("width", 2), ("depth", 4))
    session = session_of(replace(CASE, length=24, tree_policy_options=options), SeededRandom(5))
    session.begin()
    notes = []
    while session.finished is None:
        notes.append(session.round().proposal.note)
    assert {note["mask_side_largest"] for note in notes} == {9}
    assert len({note["mask_side"] for note in notes}) > 1
    assert (session._cache.masks.largest, session._cache.masks.built) == (9, 1)


def test_its_trace_is_true_to_itself():
    settings = {"verifier": "longest_path", "tree_policy": "target_init", "max_new_tokens": 12}
    for temperature in (0.0, 0.9):
        trace = toy_run(prompt="abc", temperature=temperature, **settings)
        assert not trace.started.tree_policy.lossless
        assert "open" in {this.committed.trimmed for this in trace.rounds}


@pytest.mark.parametrize("verifier", ["sequential", "naive", "typical", "greedy"])
def test_rules_that_have_nothing_to_decide_about_the_targets_candidates_are_refused(verifier):
    with pytest.raises(PairingError, match="choose the verifier 'longest_path'"):
        error(ProofCase("model", verifier, sampling=COLD, tree_policy="target_init"))

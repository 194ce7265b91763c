"""Jacobi decoding: what is iterated, how fast it converges, and which noise the guesses are made with."""

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.drafters.base import DraftContext, RoundOutcome
from specviz.drafters.jacobi import JacobiDrafter, JacobiOptions
from specviz.live.source import LiveSource
from specviz.lm.load import LoadedModel
from specviz.lm.table import TableModel
from specviz.proof.exhaustive import ProofCase
from specviz.verifiers.sequential import SequentialVerifier
from tests.drafters.asking import proposed
from tests.proof.letters import Letters, toy_run
from tests.proof.walked import error


def drafter_of(**options):
    drafter = JacobiDrafter(JacobiOptions(**options))
    drafter.attach(TableModel(6, 1), TableModel(6, 1).new_cache())
    return drafter


def answer(drafter, proposal, said, path, tokens):
    """The target says `said[i]` after node i."""
    logits = torch.nn.functional.one_hot(torch.tensor(said), 6).double()
    return drafter.observe(RoundOutcome(proposal.tree, logits, path, tokens))


def lines(exhibits):
    return [(row.tokens, row.marks) for row in exhibits[0].rows]


def test_the_first_guess_repeats_the_last_token_and_the_next_is_what_the_target_said():
    drafter = drafter_of(block=3)
    first = proposed(drafter, [5, 4])
    assert first.tree.tokens == [4, 4, 4, 4]
    answer(drafter, first, [1, 2, 3, 0], [], [5, 4, 1])
    assert proposed(drafter, [5, 4, 1]).tree.tokens == [1, 2, 3, 0]


def test_a_sliding_block_takes_in_a_guess_for_every_token_that_leaves():
    drafter = drafter_of(block=3)
    first = proposed(drafter, [5, 4])
    answer(drafter, first, [4, 4, 2, 3], [1, 2], [5, 4, 4, 4, 2])
    assert proposed(drafter, [5, 4, 4, 4, 2]).tree.tokens == [2, 3, 2, 2]


def test_a_gauss_seidel_block_is_finished_before_the_next_begins():
    drafter = drafter_of(block=3, mode="gauss_seidel")
    text = [5, 4]
    first = proposed(drafter, text)
    text += [1]
    answer(drafter, first, [1, 2, 3, 0], [], text)
    second = proposed(drafter, text)
    assert (second.tree.tokens, second.note) == ([1, 2, 3], {"iteration": 2})
    text += [2, 3, 5]
    answer(drafter, second, [2, 3, 5], [1, 2], text)
    third = proposed(drafter, text)
    assert (third.tree.tokens, third.note) == ([5, 5, 5, 5], {"iteration": 1})


def test_the_heat_map_has_a_line_per_iteration_with_what_it_froze():
    drafter = drafter_of(block=3, mode="gauss_seidel")
    first = proposed(drafter, [4])
    learned = answer(drafter, first, [4, 2, 3, 0], [1], [4, 4, 2])
    assert lines(learned) == [([4, 4, 4], [0])]
    assert learned[0].rows[0].nodes == [1, 2, 3]
    second = proposed(drafter, [4, 4, 2])
    learned = answer(drafter, second, [3, 1], [1], [4, 4, 2, 3, 1])
    assert lines(learned) == [([4, 4, 4], [0]), ([4, 2, 3], [0, 1, 2])]
    assert [row.nodes for row in learned[0].rows] == [[], [1]]


def test_the_draft_is_no_deeper_than_asked_and_goes_on_afterwards():
    drafter = drafter_of(block=3)
    first = proposed(drafter, [4], max_depth=1)
    assert first.tree.tokens == [4, 4]
    answer(drafter, first, [2, 3], [], [4, 2])
    assert proposed(drafter, [4, 2]).tree.tokens == [2, 3, 2, 2]


def test_random_first_guesses_come_from_the_random_source():
    tokens = proposed(drafter_of(block=64, start="random"), [4], max_depth=64).tree.tokens[1:]
    assert set(tokens) == set(range(6))
    assert tokens == proposed(drafter_of(block=64, start="random"), [4], max_depth=64).tree.tokens[1:]


SIX_AT_A_TIME = {"drafter": "jacobi", "drafter_options": {"block": 6, "mode": "gauss_seidel"}}


@pytest.mark.parametrize("verifier", ["greedy", "naive"])
def test_a_block_of_b_tokens_takes_at_most_b_iterations(verifier):
    trace = toy_run(None, "abc", **SIX_AT_A_TIME, verifier=verifier, temperature=0.9 * (verifier == "naive"))
    assert max(one.drafted.note["iteration"] for one in trace.rounds) <= 6
    assert len(trace.rounds) < 24


def iterations(verifier, seed):
    """Of the longest block, where no token depends on another: a guess is then right as soon as its noise is."""
    model = TableModel(6, 1, order=0)
    source = LiveSource(load=lambda name, device, dtype: LoadedModel(model, Letters(6), model.info), measure=False)
    trace = toy_run(source, "abc", **SIX_AT_A_TIME, verifier=verifier, temperature=1.0, seed=seed)
    return max(one.drafted.note["iteration"] for one in trace.rounds)


def test_sampling_converges_because_guess_and_sample_share_the_noise_of_their_position():
    assert [iterations("naive", seed) for seed in range(4)] == [2, 2, 2, 2]
    assert min(iterations("sequential", seed) for seed in range(4)) > 2


def test_guesses_of_a_position_keep_their_noise():
    asked = []

    class Listening(SeededRandom):
        def peek(self, probs, key):
            asked.append(key)
            return super().peek(probs, key)

    drafter = drafter_of(block=2)
    text = [4]
    for _ in range(2):
        context = DraftContext(text, len(text), 9, Sampling(1.0), Listening(0), "target")
        proposal = drafter.propose(context)
        text = [*text, 0]
        drafter.observe(RoundOutcome(proposal.tree, torch.zeros(3, 6), [], text))
    drafter.propose(DraftContext(text, 9, 9, Sampling(1.0), Listening(0), "target"))
    assert asked == [("target", 2, 0), ("target", 3, 0), ("target", 3, 0), ("target", 4, 0)]


def test_a_rule_that_is_not_plain_sampling_must_not_share_its_noise(monkeypatch):
    """The proof sees it: a correction drawn with the noise that made the rejected guess is biased."""
    case = ProofCase("jacobi", "sequential", (("block", 2),))
    assert error(case) < 1e-12
    monkeypatch.setattr(SequentialVerifier, "samples_target", True)
    assert error(case) > 1e-3

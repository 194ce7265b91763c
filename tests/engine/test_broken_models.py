"""A model whose logits are no numbers: refused by every rule, before any of its tokens is text.

Compared with NaN nothing is larger, so that a rule that does not look takes every candidate: a broken checkpoint would
be drafted for perfectly.
"""

from copy import copy

import pytest
import torch

from specviz.core import draws, randomness
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.errors import ModelError
from specviz.proof.exhaustive import ProofCase, session_of
from specviz.proof.small_models import small_pair
from specviz.verifiers.base import VERIFIERS

NAN, INFINITE = float("nan"), float("inf")
SAMPLED = [name for name, rule in VERIFIERS.items() if rule.temperatures == "any"]
pytestmark = pytest.mark.parametrize("way", ["compiled", "by torch"])


def broken(model, row, value):
    """Answers every pass like the model but for one row, or all (None)."""
    harmful, forward = copy(model), model.forward

    def harmed(tokens, cache, parents=None, last_only=False):
        logits = forward(tokens, cache, parents, last_only).clone()
        if len(tokens) > 1 or row is None:
            logits[slice(None) if row is None else row] = value
        return logits

    harmful.forward = harmed
    harmful.write_chain = lambda tokens, cache, chooser: None
    return harmful


@pytest.fixture(autouse=True)
def drawn(way, monkeypatch):
    if way != "compiled":
        monkeypatch.setattr(draws, "_library", lambda: None)
        monkeypatch.setattr(randomness, "picked", lambda probs, u: None)


def decoded(models, verifier, temperature):
    shape = (("gamma", 3),) if VERIFIERS.get(verifier).judges >= {"point_mass"} else (("gamma", 3), ("draw", "iid"))
    case = ProofCase("model", verifier, shape, sampling=Sampling(temperature), length=8)
    session = session_of(case, SeededRandom(0), models)
    session.begin()
    while session.finished is None:
        session.round()
    return session.tokens


@pytest.mark.parametrize("value", [NAN, INFINITE])
@pytest.mark.parametrize("verifier", SAMPLED)
def test_a_target_that_says_no_number_is_refused_by_every_rule(verifier, value):
    target, drafter = small_pair()
    with pytest.raises(ModelError, match="no numbers"):
        decoded((broken(target, None, value), drafter), verifier, 0.7)


@pytest.mark.parametrize("verifier", ["sequential", "block", "traversal", "naive"])
def test_one_row_without_numbers_under_an_accepted_path_is_refused_too(verifier):
    """Of a target that drafts for itself, so that whatever has numbers is accepted."""
    target, _ = small_pair()
    with pytest.raises(ModelError, match="no numbers"):
        decoded((broken(target, 1, INFINITE), target), verifier, 0.7)


@pytest.mark.parametrize("verifier", ["greedy", "sequential", "typical"])
def test_at_temperature_zero_no_token_is_the_most_probable_of_no_numbers(verifier):
    target, drafter = small_pair()
    with pytest.raises(ModelError, match="no numbers"):
        decoded((broken(target, None, NAN), drafter), verifier, 0.0)


def test_a_drafter_that_says_no_number_draws_nothing():
    target, drafter = small_pair()
    with pytest.raises(ModelError, match="no numbers"):
        decoded((target, broken(drafter, None, NAN)), "sequential", 0.7)


@pytest.mark.skipif(draws._library() is None, reason="there is no compiler here")
def test_a_drafter_that_draws_a_chain_by_one_call_draws_nothing_either():
    target, drafter = small_pair()
    for weight in drafter._few_rows._held:
        weight.fill_(NAN)
    with pytest.raises(ModelError, match="no numbers"):
        decoded((target, drafter), "sequential", 0.7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_race_of_no_numbers_has_no_winner(dtype):
    with pytest.raises(ModelError, match="no numbers"):
        SeededRandom(0).draw(torch.full((5,), NAN, dtype=dtype), ("race", 3, 0))

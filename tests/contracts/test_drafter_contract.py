"""What holds for every registered drafter with every registered verifier: discovered, never listed.

A method added to the registry is tested here without a line being written.
"""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
import torch
from tiny_models import random_tokens

from specviz.chance import Sampling
from specviz.drafters.base import DRAFTERS
from specviz.errors import PairingError, PromptError
from specviz.live import collect, make_plan
from specviz.proof.drafter_options import option_sets
from specviz.trace.check import check
from specviz.trace.source import RunRequest
from specviz.verifiers.base import VERIFIERS

METHODS = [(name, options) for name in DRAFTERS.names() for options in option_sets(name)]
METHOD_IDS = [f"{name}-{'-'.join(str(value) for value in options.values())}" for name, options in METHODS]
TIMES = {"seconds", "start_s", "prefill_s", "decode_s", "record_s", "run_id", "created", "tokens_per_second"}

every_method = pytest.mark.parametrize(("drafter", "options"), METHODS, ids=METHOD_IDS)


def request_for(drafter, options, **changes) -> RunRequest:
    request = RunRequest("w1 w2 w3 w1 w2", drafter=drafter, drafter_options=options, max_new_tokens=24)
    return replace(request, **changes)


def is_legal(drafter, options, verifier, temperature) -> bool:
    try:
        make_plan(request_for(drafter, options, verifier=verifier, temperature=temperature))
    except PairingError:
        return False
    return True


RULES = [(name, 0.0 if rule.temperatures == "zero" else 0.9) for name, rule in VERIFIERS.items()]
LEGAL = [
    pytest.param(*method, *rule, id=f"{rule[0]}-{rule[1]}-{name}")
    for rule in RULES
    for method, name in zip(METHODS, METHOD_IDS, strict=True)
    if is_legal(*method, *rule)
]
every_pairing = pytest.mark.parametrize(("drafter", "options", "verifier", "temperature"), LEGAL)


def without_times(value):
    """A trace as data, less what may differ from run to run."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in TIMES}
    if isinstance(value, (list, tuple)):
        return [without_times(one) for one in value]
    return value


def test_every_drafter_and_every_verifier_has_a_partner():
    assert {pairing.values[0] for pairing in LEGAL} == set(DRAFTERS.names())
    assert {pairing.values[2] for pairing in LEGAL} == set(VERIFIERS.names())


@every_pairing
def test_the_same_seed_gives_the_same_valid_trace(source, drafter, options, verifier, temperature):
    request = request_for(drafter, options, verifier=verifier, temperature=temperature)
    first, second = collect(source, request), collect(source, request)
    assert check(first) == []
    assert without_times(asdict(first)) == without_times(asdict(second))
    if VERIFIERS.get(verifier).lossless:  # a lossy rule may well end every round on the target's first choice
        other = collect(source, replace(request, seed=8))
        assert (other.finished.output_ids == first.finished.output_ids) == (temperature == 0.0)


@every_method
@pytest.mark.parametrize("budget", [1, 2, 5])
def test_no_more_is_committed_or_drafted_than_the_budget_allows(pair, drafter, options, budget):
    session = pair.session(request_for(drafter, options, verifier="greedy", max_new_tokens=budget), [1, 2, 1, 2, 1])
    session.begin()
    while session.finished is None:
        left = budget - (len(session.tokens) - 5)
        record = session.round()
        assert max(record.proposal.tree.depths) <= left - 1
    assert len(session.tokens) == 5 + budget
    assert session.finished == "length"


@every_method
def test_a_prompt_of_one_token_is_enough(pair, drafter, options):
    request = request_for(drafter, options, verifier="greedy", max_new_tokens=8)
    assert pair.output(request, [3]) == pair.plain_output(request, [3])


@every_method
def test_no_token_is_a_prompt_and_says_so(pair, drafter, options):
    with pytest.raises(PromptError, match="the prompt is empty"):
        pair.session(request_for(drafter, options, verifier="greedy"), [])


@every_method
def test_a_prompt_one_short_of_the_context_yields_one_token(pair, drafter, options):
    length = pair.target.info.context_length
    request = request_for(drafter, options, verifier="greedy")
    prompt = random_tokens(0, length - 1)
    assert pair.output(request, prompt) == pair.plain_output(request, prompt)
    assert len(pair.output(request, prompt)) == 1
    with pytest.raises(PromptError, match=f"the prompt has {length} tokens"):
        pair.session(request, random_tokens(0, length))


@every_method
def test_running_into_the_end_of_the_context_ends_the_text(pair, drafter, options):
    length = pair.target.info.context_length
    request = request_for(drafter, options, verifier="greedy", max_new_tokens=100)
    prompt = random_tokens(1, length - 11)
    assert pair.output(request, prompt) == pair.plain_output(request, prompt)
    assert len(pair.output(request, prompt)) == 11


@every_method
def test_end_of_text_anywhere_in_the_draft_ends_it_there(pair, drafter, options):
    request = request_for(drafter, options, verifier="greedy")
    text = pair.plain_output(request, [5, 6, 7])
    ends = list(dict.fromkeys(text))[:10]
    assert len(ends) > 3
    for eos in ends:
        output = pair.output(request, [5, 6, 7], eos=[eos])
        assert output == text[: text.index(eos) + 1]


@every_pairing
def test_after_every_round_the_cache_is_that_of_the_text_alone(pair, drafter, options, verifier, temperature):
    request = request_for(drafter, options, verifier=verifier, temperature=temperature, max_new_tokens=16)
    session = pair.session(request, [1, 2, 3, 1, 2])
    session.begin()
    while session.finished is None:
        session.round()
        rows = len(session.tokens) - 1
        fresh = pair.target.model.new_cache()
        pair.target.model.forward(session.tokens[:-1], fresh)
        assert session._cache.length == rows == session._cache.base
        assert session._cache.tokens == session.tokens[:-1]
        torch.testing.assert_close(
            session._cache._kv[:, :, :rows], fresh._kv[:, :, :rows], atol=1e-5, rtol=0.0, msg="stale or moved rows"
        )


@every_method
def test_kinds_are_declared_as_they_are_drawn(pair, drafter, options):
    for temperature, verifier in ((0.0, "greedy"), (0.9, "sequential")):
        request = request_for(drafter, options, verifier=verifier, temperature=temperature)
        session = pair.session(request, [1, 2, 3, 1, 2])
        session.begin()
        declared = type(session.method.drafter).kinds(session.method.drafter.options, Sampling(temperature))
        while session.finished is None:
            assert set(session.round().proposal.tree.kinds[1:]) <= declared


@every_method
def test_greedy_text_is_that_of_plain_decoding(pair, drafter, options):
    """fp32, 20 prompts of 64 tokens for a drafter's first options, 5 for the others."""
    request = request_for(drafter, options, verifier="greedy", max_new_tokens=64)
    for seed in range(20 if options == option_sets(drafter)[0] else 5):
        prompt = random_tokens(seed, 3 + seed)
        assert pair.output(request, prompt) == pair.plain_output(request, prompt)


@every_method
def test_naive_sampling_gives_the_very_sample_of_plain_decoding(pair, drafter, options):
    """The noise belongs to the position in the text, so the same seed gives the same tokens."""
    request = request_for(drafter, options, verifier="naive", temperature=0.9, top_p=0.95, max_new_tokens=32)
    for seed in range(4):
        sampled = replace(request, seed=seed)
        prompt = random_tokens(seed, 5)
        assert pair.output(sampled, prompt) == pair.plain_output(sampled, prompt)

"""What holds for every registered drafter with every registered verifier: discovered, never listed.

A method added to the registry is tested here without a line being written.
"""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from specviz.drafters.base import DRAFTERS
from specviz.drafters.capabilities import Attaches, Observes, ReadsPrompt, Remembers
from specviz.errors import MemoryFileError, PairingError, PromptError
from specviz.live.plan import make_plan
from specviz.live.source import collect
from specviz.proof.small_models import option_sets
from specviz.protocol.choice import Choice, with_choices
from specviz.protocol.runs import RunRequest
from specviz.trace.check import check
from specviz.verifiers.base import VERIFIERS
from tests.contracts.same_trace import difference
from tests.lm.tiny_models import random_tokens

METHODS = [(name, options) for name in DRAFTERS.names() for options in option_sets(name)]
METHOD_IDS = [f"{name}-{'-'.join(str(value) for value in options.values())}" for name, options in METHODS]


def speed(drafter, options):
    """A drafter's first options are quick; the others are slow."""
    return () if options == option_sets(drafter)[0] else pytest.mark.slow


every_method = pytest.mark.parametrize(
    ("drafter", "options"),
    [pytest.param(*method, id=name, marks=speed(*method)) for method, name in zip(METHODS, METHOD_IDS, strict=True)],
)


def request_for(drafter, options, **changes) -> RunRequest:
    request = RunRequest("w1 w2 w3 w1 w2", drafter=Choice(drafter, options), max_new_tokens=24)
    return replace(request, **with_choices(changes))


def is_legal(drafter, options, verifier, temperature) -> bool:
    try:
        make_plan(request_for(drafter, options, verifier=verifier, temperature=temperature))
    except PairingError:
        return False
    return True


RULES = [(name, 0.0 if rule.temperatures == "zero" else 0.9) for name, rule in VERIFIERS.items()]
FOR_ALL = ("greedy", "sequential")
"""what everything else is compared with"""


def pairings():
    """Every drafter meets these two with its first options, one of them in turn with its others, and of the other rules
    the two that have met the fewest so far. Every pair of drafter and verifier is walked branch by branch in
    tests/proof/test_lossless.py."""
    met = Counter()
    for index, (method, name) in enumerate(zip(METHODS, METHOD_IDS, strict=True)):
        first = method[1] == option_sets(method[0])[0]
        always = FOR_ALL if first else (FOR_ALL[index % 2],)
        legal = [rule for rule in RULES if is_legal(*method, *rule)]
        others = sorted((rule for rule in legal if rule[0] not in FOR_ALL), key=lambda rule: met[rule[0]])
        chosen = others[:2] if first else []
        met.update(rule[0] for rule in chosen)
        for rule in legal:
            if rule[0] in always or rule in chosen:
                yield pytest.param(*method, *rule, id=f"{rule[0]}-{rule[1]}-{name}", marks=speed(*method))


LEGAL = list(pairings())
every_pairing = pytest.mark.parametrize(("drafter", "options", "verifier", "temperature"), LEGAL)


def test_every_drafter_and_every_verifier_has_a_partner():
    assert {pairing.values[0] for pairing in LEGAL} == set(DRAFTERS.names())
    met = {rule: {pairing.values[0] for pairing in LEGAL if pairing.values[2] == rule} for rule in VERIFIERS.names()}
    assert min(map(len, met.values())) >= 4


@every_pairing
def test_the_same_seed_gives_the_same_valid_trace(source, drafter, options, verifier, temperature):
    request = request_for(drafter, options, verifier=verifier, temperature=temperature, max_new_tokens=8)
    first, second = collect(source, request), collect(source, request)
    assert check(first) == []
    assert difference(first, second) is None
    # A lossy rule may well end every round on the target's first choice; what a seed means no option changes.
    if VERIFIERS.get(verifier).lossless and options == option_sets(drafter)[0]:
        other = collect(source, replace(request, seed=8))
        assert (other.finished.output_ids == first.finished.output_ids) == (temperature == 0.0)


@every_method
def test_no_more_is_committed_or_drafted_than_the_budget_allows(pair, drafter, options):
    for budget in (1, 2, 5):
        session = pair.session(request_for(drafter, options, verifier="greedy", max_new_tokens=budget), [1, 2, 1, 2, 1])
        session.begin()
        while session.finished is None:
            left = budget - (len(session.tokens) - 5)
            record = session.round()
            assert max(record.proposal.tree.depths) <= left - 1
        assert len(session.tokens) == 5 + budget
        assert session.finished == "length"


@every_method
def test_a_prompt_of_one_token_is_enough_and_of_none_is_refused(pair, drafter, options):
    request = request_for(drafter, options, verifier="greedy", max_new_tokens=8)
    assert pair.output(request, [3]) == pair.plain_output(request, [3])
    with pytest.raises(PromptError, match="the prompt is empty"):
        pair.session(request, [])


@every_method
def test_an_empty_prompt_begins_at_the_end_of_text_token(source, drafter, options):
    request = request_for(drafter, options, verifier="greedy", prompt="", max_new_tokens=8)
    trace = collect(source, request)
    assert (check(trace), trace.started.prompt_ids) == ([], [0])
    assert (
        trace.finished.output_ids == collect(source, replace(request, drafter=Choice("none", {}))).finished.output_ids
    )


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
    ends = list(dict.fromkeys(text))[:4]
    assert len(ends) > 3
    for eos in ends:
        output = pair.output(request, [5, 6, 7], eos=[eos])
        assert output == text[: text.index(eos) + 1]


@every_pairing
def test_after_every_round_the_cache_is_that_of_the_text_alone(pair, drafter, options, verifier, temperature):
    request = request_for(drafter, options, verifier=verifier, temperature=temperature, max_new_tokens=8)
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
            session._cache._kv[:, :, :rows], fresh._kv[:, :, :rows], atol=5e-5, rtol=0.0, msg="stale or moved rows"
        )  # values up to 4.5; passes of other shapes add up in another order


@every_method
def test_a_drafter_that_learns_nothing_from_the_target_drafts_as_one_that_begins_here(pair, drafter, options):
    """Nothing of the rounds before is left behind in it but what the text says."""
    kind = DRAFTERS.get(drafter)
    if any(issubclass(kind, one) for one in (ReadsPrompt, Observes, Attaches)):
        pytest.skip("it learns from the target's answers, or drafts with the target itself")
    request = request_for(drafter, options, verifier="greedy", max_new_tokens=16)
    session = pair.session(request, [1, 2, 3, 1, 2])
    session.begin()
    while session.finished is None:
        fresh = pair.session(replace(request, max_new_tokens=session.ending.left), session.tokens)
        fresh.begin()
        drafts = [one.round().proposal.tree for one in (fresh, session)]
        assert drafts[0].tokens == drafts[1].tokens
        assert drafts[0].parents == drafts[1].parents


@every_method
def test_what_is_shown_of_a_draft_names_its_own_nodes_and_places(source, drafter, options):
    """A mark that a row links to a place in the text stands for that very token."""
    trace = collect(source, request_for(drafter, options, max_new_tokens=12))
    assert check(trace) == []
    text = [*trace.started.prompt_ids, *trace.finished.output_ids]
    for this in trace.rounds:
        for exhibit in this.drafted.knew:
            for row in exhibit.rows:
                assert {this.nodes[node].token for node in row.nodes} <= set(row.tokens)
                if row.position is not None:
                    assert text[row.position : row.position + len(row.tokens)] == row.tokens


REMEMBERING = [(name, options) for name, options in METHODS if issubclass(DRAFTERS.get(name), Remembers)]


@pytest.mark.parametrize(("drafter", "options"), REMEMBERING, ids=str)
def test_a_warm_run_is_repeated_exactly_with_the_same_memory(new_source, tmp_path, drafter, options):
    file = tmp_path / "memory"
    request = request_for(drafter, options, max_new_tokens=16, memory="warm", memory_file=str(file))
    cold = collect(new_source(), request)
    learnt = file.read_bytes()
    warm = collect(new_source(), request)
    file.write_bytes(learnt)
    again = collect(new_source(), request)
    assert (cold.started.memory, warm.started.memory.runs) == (None, 1)
    assert difference(again, warm) is None
    assert warm.finished.output_ids == cold.finished.output_ids


@pytest.mark.parametrize(("drafter", "options"), REMEMBERING, ids=str)
def test_bytes_that_are_no_memory_are_refused(pair, drafter, options):
    session = pair.session(request_for(drafter, options, verifier="greedy"), [1, 2])
    with pytest.raises(MemoryFileError):
        session.method.drafter.recall(b"no memory")


@every_method
def test_greedy_text_is_that_of_plain_decoding(pair, drafter, options):
    """fp32, two prompts of 24 tokens for a drafter's first options, one for the others."""
    request = request_for(drafter, options, verifier="greedy")
    for seed in range(2 if options == option_sets(drafter)[0] else 1):
        prompt = random_tokens(seed, 3 + seed)
        assert pair.output(request, prompt) == pair.plain_output(request, prompt)


@every_method
def test_naive_sampling_gives_the_very_sample_of_plain_decoding(pair, drafter, options):
    """The noise belongs to the position in the text, so the same seed gives the same tokens."""
    request = request_for(drafter, options, verifier="naive", temperature=0.9, top_p=0.95, max_new_tokens=12)
    prompt = random_tokens(0, 5)
    assert pair.output(request, prompt) == pair.plain_output(request, prompt)

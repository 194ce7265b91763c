"""What holds for every registered tree and stop policy on small real models: discovered, never listed."""

from dataclasses import replace

import pytest
import torch

from specviz.live.source import collect
from specviz.proof.small_models import stop_policy_sets, temperature, toy_weights, tree_policy_sets
from specviz.protocol.choice import with_choices
from specviz.protocol.runs import RunRequest
from specviz.stop_policies.base import STOP_POLICIES
from specviz.trace.check import check
from specviz.tree_policies.base import TREE_POLICIES
from tests.contracts.same_trace import difference
from tests.lm.tiny_models import random_tokens

LOSSLESS = [name for name, tree_policy in TREE_POLICIES.items() if tree_policy.lossless]
"""a lossy policy needs a lossy rule; how far it drifts is for its own tests to say"""
POLICIES = [
    *({"tree_policy": name, "tree_policy_options": options} for name in LOSSLESS for options in tree_policy_sets(name)),
    *(
        {"drafter_options": {"gamma": 5}, "stop_policy": name, "stop_policy_options": options}
        for name in STOP_POLICIES.names()
        for options in stop_policy_sets(name)
    ),
    {"tree_policy": "dyspec", "tree_policy_options": {"budget": 64}, "stop_policy": "confidence"},
    {"tree_policy": "rsd_s", "tree_policy_options": {"width": 8, "depth": 4}},
]
POLICY_IDS = ["-".join(str(value) for value in draft_policies.values()) for draft_policies in POLICIES]


def speed(draft_policies, earlier):
    """The first options of each policy are quick; others and combinations are slow."""
    names = [(one.get("tree_policy"), one.get("stop_policy")) for one in earlier]
    return pytest.mark.slow if (draft_policies.get("tree_policy"), draft_policies.get("stop_policy")) in names else ()


every_policy = pytest.mark.parametrize(
    "draft_policies",
    [
        pytest.param(draft_policies, id=name, marks=speed(draft_policies, POLICIES[:index]))
        for index, (draft_policies, name) in enumerate(zip(POLICIES, POLICY_IDS, strict=True))
    ],
)


def request_for(pair, draft_policies, **changes) -> RunRequest:
    """Weights of the pair's own for a policy that learns; temperature 0 for one that works there alone."""
    request = replace(RunRequest("w1 w2 w3 w1 w2", max_new_tokens=16), **with_choices({**draft_policies, **changes}))
    drafter = pair.drafter.info
    weights = toy_weights(STOP_POLICIES.get(request.stop_policy.name), drafter.hidden_size, drafter.weights_sha256)
    return replace(
        request, temperature=temperature(request.stop_policy.name, request.temperature), stop_policy_weights=weights
    )


def session_of(pair, request, prompt):
    session = pair.session(request, prompt)
    session.begin()
    return session


def plain_output(pair, request, prompt):
    """Computed once for all policies."""
    plain = {
        "tree_policy": "auto",
        "tree_policy_options": {},
        "stop_policy": "fixed",
        "stop_policy_options": {},
        "stop_policy_weights": None,
    }
    return pair.plain_output(replace(request, **with_choices(plain)), prompt)


@every_policy
@pytest.mark.parametrize(("verifier", "warmth"), [("greedy", 0.0), ("sequential", 0.9)])
def test_the_same_seed_gives_the_same_valid_trace(source, pair, draft_policies, verifier, warmth):
    request = request_for(pair, draft_policies, verifier=verifier, temperature=warmth)
    first, second = collect(source, request), collect(source, request)
    assert check(first) == []
    assert difference(first, second) is None
    assert (first.started.tree_policy.name if first.started.tree_policy else "auto") == request.tree_policy.name


@every_policy
def test_greedy_text_is_that_of_plain_decoding(pair, draft_policies):
    request = request_for(pair, draft_policies, verifier="greedy", max_new_tokens=32)
    prompt = random_tokens(1, 4)
    assert pair.output(request, prompt) == plain_output(pair, request, prompt)


@every_policy
def test_naive_sampling_gives_the_very_sample_of_plain_decoding(pair, draft_policies):
    request = request_for(pair, draft_policies, verifier="naive", temperature=0.9, top_p=0.95, max_new_tokens=24)
    prompt = random_tokens(1, 5)
    assert pair.output(request, prompt) == plain_output(pair, request, prompt)


@every_policy
def test_the_drafters_cache_holds_nothing_but_the_text(pair, draft_policies):
    """After a round's first pass the drafter knows the committed text as a fresh pass would: what it says of the root.
    A chain that is written by one call says with it what it said of its candidates."""
    request = request_for(pair, draft_policies, verifier="sequential", temperature=0.9, max_new_tokens=16)
    session = session_of(pair, request, [1, 2, 3, 1, 2])
    model = session.method.drafter.drafting_model()
    while session.finished is None:
        text = list(session.tokens)
        draft_logits = session.round().proposal.draft_logits
        fresh = model.forward(text, model.new_cache())
        for nodes, logits in draft_logits[:1]:
            assert nodes[0] == 0
            torch.testing.assert_close(logits[0], fresh[-1, : logits.shape[-1]], atol=1e-4, rtol=0.0)


@pytest.mark.parametrize("tree_policy", LOSSLESS)
def test_every_nodes_draft_logits_are_those_of_its_path_alone(pair, tree_policy):
    """Pruned and reordered trees included: what the trace shows at a node belongs to that node."""
    request = request_for(
        pair,
        {"tree_policy": tree_policy, "tree_policy_options": {"budget": 12}},
        verifier="sequential",
        temperature=0.9,
    )
    session = session_of(pair, request, [1, 2, 3, 1, 2])
    model = session.method.drafter.drafting_model()
    for _ in range(2):
        text = list(session.tokens)
        proposal = session.round().proposal
        for nodes, logits in proposal.draft_logits:
            for node, row in zip(nodes, logits, strict=True):
                alone = model.forward([*text, *proposal.tree.token_path(node)], model.new_cache())[-1]
                torch.testing.assert_close(row, alone[: len(row)], atol=1e-4, rtol=0.0)

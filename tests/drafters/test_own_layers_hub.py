"""Drafting with the target's own layers on models of transformers: the same promises as on the lean forward."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from specviz.drafters.early_exit import EarlyExitDrafter, EarlyExitOptions
from specviz.drafters.none import NoDrafter
from specviz.drafters.self_speculative import SelfSpeculativeDrafter, SelfSpeculativeOptions
from specviz.errors import ModelError
from specviz.lm.base import Blocks, ModelInfo
from specviz.lm.hub import layers as hub_layers
from specviz.lm.hub.model import HubModel
from specviz.options import Options
from tests.engine.sessions import decoded
from tests.lm.tiny_models import random_model

LAYERS = 4
HALVES = Blocks(frozenset({0, 2}), frozenset({1, 2, 3}))
COUNT_OF_LAYERS = {"gpt2": "n_layer"}


def adapted(kind, layers=LAYERS, **changes):
    model = random_model(kind, **{COUNT_OF_LAYERS.get(kind, "num_hidden_layers"): LAYERS}, **changes)
    return HubModel(model, ModelInfo("tiny", f"Tiny-{kind}", "transformers", 0, layers, 24, 60, 48, "float32", "0", ()))


@pytest.fixture(scope="module", params=["llama", "qwen3", "gpt2", "opt"])
def target(request):
    return adapted(request.param)


def blocks_of(target):
    inner = target._model.base_model
    return inner.h if hasattr(inner, "h") else getattr(inner, "decoder", inner).layers


def run(target, drafter, length=10):
    return decoded(target, drafter, [1, 2, 3], length, verifier="greedy")


def drafters():
    return [
        EarlyExitDrafter(EarlyExitOptions(exit_layer=2, branching=(2, 1))),
        SelfSpeculativeDrafter(SelfSpeculativeOptions(skip_attention=(1, 4), skip_mlp=(1, 2), gamma=2)),
    ]


def same_rows(cache, fresh):
    for held, expected in zip(cache.past.layers, fresh.past.layers, strict=True):
        torch.testing.assert_close(held.keys, expected.keys, atol=1e-5, rtol=0)
        torch.testing.assert_close(held.values, expected.values, atol=1e-5, rtol=0)


@pytest.mark.parametrize("drafter", drafters(), ids=lambda drafter: drafter.name)
def test_the_text_is_that_of_plain_decoding_and_only_the_targets_rows_are_left(target, drafter):
    plain, _ = run(target, NoDrafter(Options()))
    session, _ = run(target, drafter)
    assert session.tokens == plain.tokens
    fresh = target.new_cache()
    target.forward(session.tokens[:-1], fresh)
    same_rows(session._cache, fresh)


def test_no_layer_runs_twice_for_a_candidate(target):
    assert target.why_not_split(Blocks.first(2)) is None  # the passes that find this out are not counted
    rows = Counter()
    hooks = []
    for i, block in enumerate(blocks_of(target)):
        attention = block.self_attn if hasattr(block, "self_attn") else block.attn
        inside = next(module for module in attention.modules() if not list(module.children()))
        hooks.append(inside.register_forward_hook(lambda _, args, out, i=i: rows.update({i: args[0].shape[1]})))
    try:
        _, records = run(target, EarlyExitDrafter(EarlyExitOptions(exit_layer=2, gamma=3)), length=6)
    finally:
        for hook in hooks:
            hook.remove()
    nodes = sum(len(record.proposal.tree) for record in records)
    prompt = 2
    assert [rows[i] for i in range(LAYERS)] == [prompt + nodes] * LAYERS


def test_states_and_cache_of_a_finished_pass_are_those_of_a_whole_one(target):
    tokens, parents = [5, 6, 7, 8], [2, 3, 3, 4]
    whole, halved = target.new_cache(), target.new_cache()
    for cache in (whole, halved):
        target.forward([1, 2, 3], cache)
        cache.keep(range(3))
    hidden = target._model(torch.tensor([[1, 2, 3, 5, 6]]), output_hidden_states=True).hidden_states
    expected = target.forward(tokens, whole, parents)
    states = target.partial(tokens, halved, parents, Blocks.first(2))
    torch.testing.assert_close(states[:2], hidden[2][0, 3:], atol=1e-5, rtol=0)
    assert [layer.get_seq_length() for layer in halved.past.layers] == [7, 7, 3, 3]
    order = [0, 2, 1, 3]  # the drafter's order need not be the tree's
    unfinished = target.set_aside(halved, [3 + i for i in order], states[order], 2)
    assert [layer.get_seq_length() for layer in halved.past.layers] == [3, 3, 3, 3]
    actual = target.finish([5, 7, 6, 8], halved, [2, 3, 3, 5], unfinished)
    torch.testing.assert_close(actual[order], expected, atol=1e-5, rtol=0)
    halved.keep([3, 5, 6])
    whole.keep([3, 4])
    halved.truncate(5)
    same_rows(halved, whole)


def test_a_skipped_half_adds_nothing(target):
    """Against the same weights with the last product of each skipped half set to zero."""
    text = [3, 1, 4, 1, 5]
    skipped = target.read_out(target.partial(text, target.new_cache(), None, HALVES))
    kept = {}
    names = {"attention": ("o_proj", "out_proj", "attn.c_proj"), "mlp": ("down_proj", "fc2", "mlp.c_proj")}
    for i, block in enumerate(blocks_of(target)):
        left_out = [half for half in names if i not in getattr(HALVES, half)]
        for name, module in block.named_modules():
            if any(name.endswith(names[half]) for half in left_out):
                kept |= {parameter: parameter.detach().clone() for parameter in module.parameters()}
    assert len(kept) in (3, 6), "three halves, with or without biases"
    with torch.no_grad():
        for parameter in kept:
            parameter.zero_()
        expected = target.forward(text, target.new_cache())
        for parameter, value in kept.items():
            parameter.copy_(value)
    torch.testing.assert_close(skipped, expected, atol=1e-5, rtol=0)


def test_a_partial_pass_leaves_no_trace_in_an_empty_cache(target):
    cache = target.new_cache()
    target.partial([1, 2], cache, None, HALVES)
    cache.keep([])
    torch.testing.assert_close(target.forward([3, 4], cache), target.forward([3, 4], target.new_cache()))


def refused(target, drafter, reason):
    with pytest.raises(ModelError, match=reason) as caught:
        drafter.attach(target, target.new_cache())
    assert f"'{drafter.name}' drafts with some of the target's layers, but tiny" in str(caught.value)
    assert "take another target" in str(caught.value)


def test_norms_behind_the_residual_sum_can_be_stopped_between_but_not_halved():
    target = adapted("opt", do_layer_norm_before=False)
    early, halving = drafters()
    early.attach(target, target.new_cache())
    refused(target, halving, "less attention and MLP, still change their input by")


def test_layers_that_cannot_be_found_are_refused():
    refused(adapted("gpt2", layers=3), drafters()[0], "no list of 3 layers was found in it")


def test_halves_without_a_known_name_are_refused_and_whole_layers_are_not(monkeypatch):
    monkeypatch.setattr(hub_layers, "MLP_NAMES", ())
    target = adapted("llama")
    early, halving = drafters()
    early.attach(target, target.new_cache())
    refused(target, halving, "not modules of their own in its layers")


def test_a_layer_that_reads_more_than_its_predecessor_is_refused():
    target = adapted("llama")
    first, _, third, _ = blocks_of(target)
    seen = []
    first.register_forward_hook(lambda _, args, out: seen.append(out))
    third.register_forward_hook(lambda _, args, out: out + seen[-1])
    refused(target, drafters()[0], "passes in two parts differ from whole ones by")


def test_whatever_an_architecture_fails_with_is_told():
    target = adapted("llama")

    def fails(module, args):
        raise KeyError("layer 3 wants more")

    blocks_of(target)[2].register_forward_pre_hook(fails)
    refused(target, drafters()[0], "its layers do not run apart .KeyError: 'layer 3 wants more'")


def test_a_partial_pass_in_one_thread_leaves_whole_passes_in_others_whole(target):
    alone = target.forward([1, 2], target.new_cache())
    with hub_layers.running(hub_layers.Plan(Blocks.first(1))), ThreadPoolExecutor(1) as other:
        beside = other.submit(lambda: target.forward([1, 2], target.new_cache())).result()
        assert not torch.allclose(target.forward([1, 2], target.new_cache()), alone)
    assert torch.equal(beside, alone)

"""Drafting with the target's own layers: nothing runs twice, and the cache is the target's alone afterwards."""

from collections import Counter

import pytest
import torch

from specviz.drafters.early_exit import EarlyExitDrafter, EarlyExitOptions
from specviz.drafters.self_speculative import SelfSpeculativeDrafter, SelfSpeculativeOptions
from specviz.errors import ModelError, OptionError
from specviz.lm.base import Blocks, ModelInfo
from specviz.lm.llama.few_rows import ATTENTION
from specviz.lm.llama.model import LlamaModel
from specviz.lm.llama.shape import LlamaShape
from tests.engine.sessions import decoded
from tests.lm.tiny_models import random_model

LAYERS = 4


@pytest.fixture(scope="module")
def target():
    model = random_model("llama", num_hidden_layers=LAYERS, max_position_embeddings=64)
    shape = LlamaShape.from_config(model.config.to_dict())
    info = ModelInfo("tiny", "LlamaForCausalLM", "lean-llama", 0, LAYERS, 24, 64, 64, "float32", "0" * 64, ())
    return LlamaModel(shape, model.state_dict(), info)


class Counting(LlamaModel):
    """Counts the rows that go through each layer's attention."""

    def __init__(self, model):
        vars(self).update(vars(model))
        self._few_rows = None  # which runs a whole pass by one call
        self.rows = Counter()

    def _runner(self, placement, cache):
        run = super()._runner(placement, cache)

        def counted(x, chosen):
            self.rows.update({i: len(x) for i, parts in enumerate(chosen) if parts & ATTENTION})
            return run(x, chosen)

        return counted


def run(target, drafter, prompt=(1, 2, 3), length=12):
    return decoded(target, drafter, prompt, length, verifier="greedy")


@pytest.mark.parametrize("shape", [{"gamma": 3}, {"branching": (2, 2)}, {"branching": (3, 1)}])
def test_no_layer_runs_twice_for_a_candidate(target, shape):
    counting = Counting(target)
    _, records = run(counting, EarlyExitDrafter(EarlyExitOptions(exit_layer=2, **shape)))
    nodes = sum(len(record.proposal.tree) for record in records)
    prompt = 2
    assert [counting.rows[i] for i in range(LAYERS)] == [prompt + nodes] * LAYERS


def test_the_unfinished_rows_give_the_logits_of_a_whole_pass(target):
    tokens, parents = [5, 6, 7, 8], [2, 3, 3, 4]
    whole, halved = target.new_cache(), target.new_cache()
    for cache in (whole, halved):
        target.forward([1, 2, 3], cache)
        cache.keep(range(3))
    expected = target.forward(tokens, whole, parents)
    states = target.partial(tokens, halved, parents, Blocks.first(2))
    order = [0, 2, 1, 3]  # the drafter's order need not be the tree's
    unfinished = target.set_aside(halved, [3 + i for i in order], states[order], 2)
    assert halved.length == 3
    actual = target.finish([5, 7, 6, 8], halved, [2, 3, 3, 5], unfinished)
    torch.testing.assert_close(actual[order], expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(halved._kv[:, :, 3:7][:, :, order], whole._kv[:, :, 3:7], atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "drafter",
    [
        EarlyExitDrafter(EarlyExitOptions(exit_layer=1, branching=(2, 1))),
        SelfSpeculativeDrafter(SelfSpeculativeOptions(skip_attention=(2, 4), skip_mlp=(1,), gamma=3)),
    ],
    ids=lambda drafter: drafter.name,
)
def test_after_every_round_only_the_targets_rows_are_left(target, drafter):
    session, _ = run(target, drafter)
    fresh = target.new_cache()
    target.forward(session.tokens[:-1], fresh)
    assert session._cache.tokens == session.tokens[:-1]
    rows = len(session.tokens) - 1
    torch.testing.assert_close(session._cache._kv[:, :, :rows], fresh._kv[:, :, :rows], atol=1e-5, rtol=0)


def test_a_target_less_nothing_drafts_its_own_text(target):
    """Skipping nothing of a layer that exists: here the MLP of layer 1 is skipped where its weights are zero."""
    weight = target._layers[0].down.weight.data
    kept = weight.clone()
    weight.zero_()
    try:
        drafter = SelfSpeculativeDrafter(SelfSpeculativeOptions(skip_mlp=(1,), gamma=2))
        _, records = run(target, drafter, length=9)
    finally:
        weight.copy_(kept)
    assert [len(record.verdict.path) for record in records] == [2, 2, 2]


def test_every_second_layer_is_skipped_where_no_search_was_made(target):
    drafter = SelfSpeculativeDrafter(SelfSpeculativeOptions())
    drafter.attach(target, target.new_cache())
    assert drafter._blocks == Blocks(frozenset({0, 2}), frozenset({0, 2}))


@pytest.mark.parametrize(
    ("drafter", "message"),
    [
        (EarlyExitDrafter(EarlyExitOptions(exit_layer=4)), "exit_layer is 4, but tiny has 4 layers"),
        (SelfSpeculativeDrafter(SelfSpeculativeOptions(skip_mlp=(5,))), "layer 5 is to be skipped, but tiny has 4"),
    ],
)
def test_layers_that_are_not_there_are_refused(target, drafter, message):
    with pytest.raises(OptionError, match=message):
        drafter.attach(target, target.new_cache())


def test_a_target_that_cannot_stop_between_layers_is_refused(target):
    class Whole:
        info = target.info

    with pytest.raises(ModelError, match=r"'early_exit' drafts with .* because its adapter cannot stop between layers"):
        EarlyExitDrafter(EarlyExitOptions()).attach(Whole(), target.new_cache())

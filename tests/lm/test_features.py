"""The target's states on the way, number by number against `output_hidden_states` of transformers."""

from dataclasses import replace

import pytest
import torch
from transformers import AutoModelForCausalLM

from specviz.errors import OptionError
from specviz.lm.base import Blocks, GivesFeatures
from specviz.lm.hub.model import returned_cache
from specviz.lm.load import load
from specviz.lm.table import TableModel
from specviz.proof.small_models import SHAPE, small_pair
from tests.lm.tiny_models import error, random_tokens

LAYERS = 2
KINDS = [("llama", "lean-llama"), ("llama", "transformers"), ("qwen3", "transformers"), ("gpt2", "transformers")]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: "-".join(kind))
def pair(request, checkpoint):
    """(our model, the same checkpoint in transformers)."""
    kind, adapter = request.param
    folder = checkpoint(kind)
    return load(str(folder), adapter=adapter).model, AutoModelForCausalLM.from_pretrained(folder).eval()


@torch.inference_mode()
def test_every_depth_is_that_of_transformers(pair):
    model, reference = pair
    text, cache = random_tokens(0, 12), model.new_cache()
    model.watch(cache, range(LAYERS + 1))
    model.forward(text, cache)
    expected = reference(torch.tensor([text]), output_hidden_states=True).hidden_states
    for depth in range(LAYERS + 1):
        assert error(model.seen(cache)[:, depth], expected[depth][0]) < 1e-5, f"depth {depth}"


@torch.inference_mode()
def test_depths_come_in_the_order_they_were_asked_for(pair):
    model, _ = pair
    text, cache = random_tokens(0, 5), model.new_cache()
    model.watch(cache, [2, 0])
    model.forward(text, cache)
    assert model.seen(cache).shape[:2] == (5, 2)
    assert (
        torch.equal(model.seen(cache)[:, 1], model.embedding()[text]) or model.info.architecture != "LlamaForCausalLM"
    )
    assert torch.allclose(model.seen(cache)[:, 0] @ model.head().T, model.forward(text, model.new_cache()), atol=1e-5)


@torch.inference_mode()
def test_a_tree_leaves_the_states_of_each_branch_alone(pair):
    """Rows b and c both continue a: each has the states of its own text."""
    model, _ = pair
    a, b, c = random_tokens(0, 3)
    cache = model.new_cache()
    model.watch(cache, [1, 2])
    model.forward([a, b, c], cache, parents=[-1, 0, 0])
    tree = model.seen(cache)
    for row, text in ((0, [a]), (1, [a, b]), (2, [a, c])):
        alone = model.new_cache()
        model.watch(alone, [1, 2])
        model.forward(text, alone)
        assert error(tree[row], model.seen(alone)[-1]) < 1e-5


@torch.inference_mode()
def test_only_the_last_pass_is_held_and_the_prefill_is_seen_whole(pair):
    model, _ = pair
    cache = model.new_cache()
    model.watch(cache, [0])
    model.forward(random_tokens(0, 7), cache, last_only=True)
    assert len(model.seen(cache)) == 7
    model.forward([1, 2], cache)
    assert len(model.seen(cache)) == 2


@torch.inference_mode()
def test_nothing_is_held_where_nobody_asked(pair):
    model, _ = pair
    cache = model.new_cache()
    model.forward([1, 2], cache)
    with pytest.raises(AssertionError, match="no pass was read"):
        model.seen(cache)


def test_a_depth_beyond_the_model_is_refused(pair):
    model, _ = pair
    with pytest.raises(OptionError, match="after 3 layers are asked for, but the model has 2; ask for 0 to 2"):
        model.watch(model.new_cache(), [0, 3])


@torch.inference_mode()
def test_keys_and_values_attend_as_those_of_transformers(pair):
    """A key's components may stand in another order, so scores against a key of the cache itself are compared."""
    model, reference = pair
    text, cache = random_tokens(0, 6), model.new_cache()
    model.forward(text, cache)
    past = returned_cache(reference(torch.tensor([text]), use_cache=True))
    for layer in range(LAYERS):
        keys, values = model.keys_values(cache, layer)
        expected = past.layers[layer].keys[0]
        assert error(keys @ keys.mT, expected @ expected.mT) < 1e-5
        assert error(values, past.layers[layer].values[0]) < 1e-5


def test_the_toy_model_gives_features_too():
    """So that drafters which read them are proved on it: its last states are its logits, its head is the identity."""
    table = TableModel(3, seed=1)
    cache = table.new_cache()
    assert isinstance(table, GivesFeatures)
    table.watch(cache, [0, 2])
    logits = table.forward([1, 2], cache)
    assert table.seen(cache)[:, 0].tolist() == [[0, 1, 0], [0, 0, 1]]
    assert torch.equal(table.seen(cache)[:, 1], logits)


@torch.inference_mode()
def test_a_pass_that_goes_on_from_first_layers_leaves_the_same_states(pair):
    """As after a draft with the target's own layers: the state there, and behind it."""
    (model, _), exit_layer = pair, 1
    text = random_tokens(0, 6)
    cache, whole = model.new_cache(), model.new_cache()
    for one in (cache, whole):
        model.watch(one, [exit_layer, LAYERS])
        model.forward(text[:3], one)
        one.keep(range(3))
    model.forward(text[3:], whole)
    states = model.partial(text[3:], cache, None, Blocks.first(exit_layer))
    unfinished = model.set_aside(cache, [3, 4, 5], states, exit_layer)
    model.finish(text[3:], cache, None, unfinished)
    assert error(model.seen(cache), model.seen(whole)) < 1e-5


def test_states_before_those_a_pass_goes_on_from_are_not_made_up():
    model = small_pair(1, replace(SHAPE, layers=3))[0]
    cache = model.new_cache()
    model.watch(cache, [1])
    states = model.partial([1, 2], cache, None, Blocks.first(2))
    unfinished = model.set_aside(cache, [0, 1], states, 2)
    with pytest.raises(AssertionError, match="states after 1 layers are watched, but a pass goes on after 2"):
        model.finish([1, 2], cache, None, unfinished)

"""Both adapters against transformers' own forward, number by number: texts, trees, and what is left of a cache."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from specviz.errors import ModelError
from specviz.lm.load import load
from tests.lm.tiny_models import CONTEXT, error, plain, random_parents, random_tokens, text_of

VARIANTS = {
    "tied": {"tie_word_embeddings": True},
    "untied": {"tie_word_embeddings": False},
    "grouped": {"num_key_value_heads": 2, "tie_word_embeddings": True},
    "one shared": {"num_key_value_heads": 1, "tie_word_embeddings": False},
    "biased": {"attention_bias": True, "mlp_bias": True},
    "far rotations": {"rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}, "head_dim": 10},
}
"""of a Llama, for the lean forward"""
KINDS = ("llama", "qwen3", "gpt2", "opt")
"""architectures with different positions, for the one of transformers"""
CASES = {f"lean {name}": ("lean-llama", "llama", changes) for name, changes in VARIANTS.items()}
CASES |= {kind: ("transformers", kind, {}) for kind in KINDS}
CLOSE = 1e-5


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def pair(request, checkpoint):
    """(the model, the same checkpoint in bare transformers)."""
    adapter, kind, changes = request.param
    folder = checkpoint(kind, **changes)
    return load(str(folder), adapter=adapter).model, AutoModelForCausalLM.from_pretrained(folder).eval()


@pytest.fixture
def model(pair):
    return pair[0]


def read(model, tokens):
    """The cache of a text, which is final."""
    cache = model.new_cache()
    model.forward(tokens, cache)
    cache.keep(range(len(tokens)))
    return cache


def stored(cache):
    """Keys and values of all rows."""
    if hasattr(cache, "past"):
        return torch.stack([torch.stack([layer.keys, layer.values]) for layer in cache.past.layers])
    return cache._kv[:, :, : cache.length]


def test_a_text_gets_the_logits_of_transformers(pair):
    model, reference = pair
    text = random_tokens(0, 20)
    assert error(model.forward(text, model.new_cache()), plain(reference, text)) < CLOSE


def test_every_node_of_a_tree_built_in_several_calls_gets_the_logits_of_its_own_text(pair):
    model, reference = pair
    tokens, parents = random_tokens(1, 6), list(range(-1, 5))
    cache = read(model, tokens)
    for call, n in enumerate((1, 4, 5, 3)):
        new, links = random_tokens(call + 2, n), random_parents(call, 6, len(tokens), n)
        start, tokens, parents = len(tokens), tokens + new, parents + links
        logits = model.forward(new, cache, links)
        for i in range(n):
            assert error(logits[i], plain(reference, text_of(start + i, tokens, parents))[-1]) < CLOSE


def test_after_keep_the_cache_equals_a_fresh_one(model):
    for path in ([], [4], [4, 5], [4, 6], [4, 6, 8], [4, 5, 7]):
        text, tokens = random_tokens(0, 4), random_tokens(1, 5)
        cache = read(model, text)
        model.forward(tokens, cache, [3, 4, 4, 5, 6])
        cache.keep(path)
        kept = text + [tokens[row - 4] for row in path]
        fresh = read(model, kept)
        assert cache.tokens == kept
        assert error(stored(cache), stored(fresh)) < CLOSE, path
        assert error(model.forward([7], cache), model.forward([7], fresh)) < CLOSE, path


def test_after_truncate_the_text_goes_on_from_there(pair):
    model, reference = pair
    text = random_tokens(0, 8)
    cache = read(model, text)
    cache.truncate(3)
    assert error(model.forward([9], cache)[0], plain(reference, [*text[:3], 9])[-1]) < CLOSE


def test_a_branch_inside_the_text_does_not_see_the_rest_of_it(model):
    text = random_tokens(0, 8)
    branch = model.forward([5, 6], read(model, text), [2, 8])
    assert error(branch, model.forward([*text[:3], 5, 6], model.new_cache())[3:]) < CLOSE


def test_last_only_is_the_last_row(model):
    text = random_tokens(0, 9)
    last = model.forward(text, model.new_cache(), last_only=True)
    assert last.shape == (1, 60)
    assert error(last[0], model.forward(text, model.new_cache())[-1]) < CLOSE


def test_two_caches_do_not_disturb_each_other(model):
    first, second = model.new_cache(), model.new_cache()
    model.forward([1, 2, 3], first)
    model.forward([9, 8, 7], second)
    assert error(model.forward([4], first), model.forward([1, 2, 3, 4], model.new_cache())[3:]) < CLOSE


def test_a_text_longer_than_the_context_is_refused_and_the_cache_stays_usable(model):
    cache = model.new_cache()
    model.forward(random_tokens(0, CONTEXT), cache)
    with pytest.raises(ModelError, match="49 tokens, but the model's context holds 48"):
        model.forward([1], cache)
    assert cache.length == CONTEXT


def test_greedy_decoding_writes_what_generate_writes(pair):
    model, reference = pair
    text = random_tokens(3, 5)
    expected = reference.generate(
        torch.tensor([text]), max_new_tokens=20, min_new_tokens=20, do_sample=False, pad_token_id=0
    )[0].tolist()
    cache, written = model.new_cache(), list(text)
    logits = model.forward(text, cache, last_only=True)[-1].clone()
    while len(written) < len(expected):
        logits[0] = -torch.inf  # min_new_tokens forbids the end-of-text token, id 0
        written.append(int(logits.argmax()))
        logits = model.forward(written[-1:], cache)[-1].clone()
    assert written == expected

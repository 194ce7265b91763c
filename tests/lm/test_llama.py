"""The lean forward against transformers' own, number by number."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM

from specviz.errors import ModelError
from specviz.lm.kernels import available
from specviz.lm.llama import model as llama
from specviz.lm.llama import rows as llama_rows
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
CLOSE = 1e-5


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def pair(request, checkpoint):
    """(lean model, the same checkpoint in transformers)."""
    folder = checkpoint("llama", **request.param)
    return load(str(folder), adapter="lean-llama").model, AutoModelForCausalLM.from_pretrained(folder).eval()


@pytest.fixture
def model(checkpoint):
    return load(str(checkpoint("llama", num_key_value_heads=2)), adapter="lean-llama").model


def test_a_text_gets_the_logits_of_transformers(pair):
    model, reference = pair
    text = random_tokens(0, 20)
    assert error(model.forward(text, model.new_cache()), plain(reference, text)) < CLOSE


def test_every_node_of_a_tree_built_in_several_calls_gets_the_logits_of_its_own_text(pair):
    model, reference = pair
    cache = model.new_cache()
    tokens = random_tokens(1, 6)
    model.forward(tokens, cache)
    cache.keep(range(6))
    parents = list(range(-1, 5))
    for call, n in enumerate((1, 4, 5, 3)):
        new, links = random_tokens(call + 2, n), random_parents(call, 6, len(tokens), n)
        start, tokens, parents = len(tokens), tokens + new, parents + links
        logits = model.forward(new, cache, links)
        for i in range(n):
            alone = plain(reference, text_of(start + i, tokens, parents))[-1]
            assert error(logits[i], alone) < CLOSE


@pytest.mark.parametrize("path", [[], [4], [4, 5], [4, 6], [4, 6, 8], [4, 5, 7]], ids=str)
def test_after_keep_the_cache_equals_a_fresh_one(model, path):
    text = random_tokens(0, 4)
    cache = model.new_cache()
    model.forward(text, cache)
    cache.keep(range(4))
    tokens = random_tokens(1, 5)
    model.forward(tokens, cache, [3, 4, 4, 5, 6])
    cache.keep(path)
    fresh = model.new_cache()
    kept = text + [tokens[row - 4] for row in path]
    model.forward(kept, fresh)
    assert cache.tokens == kept
    assert error(cache._kv[:, :, : len(kept)], fresh._kv[:, :, : len(kept)]) < CLOSE
    assert error(model.forward([7], cache), model.forward([7], fresh)) < CLOSE


def test_after_truncate_the_text_goes_on_from_there(model):
    text = random_tokens(0, 8)
    cache, fresh = model.new_cache(), model.new_cache()
    model.forward(text, cache)
    cache.keep(range(8))
    cache.truncate(3)
    model.forward(text[:3], fresh)
    assert error(model.forward([9], cache), model.forward([9], fresh)) < CLOSE


def test_a_branch_inside_the_text_does_not_see_the_rest_of_it(model):
    text = random_tokens(0, 8)
    cache, fresh = model.new_cache(), model.new_cache()
    model.forward(text, cache)
    cache.keep(range(8))
    branch = model.forward([5, 6], cache, [2, 8])
    assert error(branch, model.forward([*text[:3], 5, 6], fresh)[3:]) < CLOSE


def test_last_only_is_the_last_row(model):
    text = random_tokens(0, 9)
    last = model.forward(text, model.new_cache(), last_only=True)
    assert last.shape == (1, 60)
    assert error(last[0], model.forward(text, model.new_cache())[-1]) < CLOSE


def test_a_long_prefill_in_pieces_is_the_same(model, monkeypatch):
    text = random_tokens(0, 30)
    whole, pieces = model.new_cache(), model.new_cache()
    model.forward(text, whole, last_only=True)
    monkeypatch.setattr(llama, "PREFILL_ROWS", 7)
    assert error(model.forward(text, pieces, last_only=True), model.forward(text, model.new_cache())[-1:]) < CLOSE
    assert pieces.tokens == whole.tokens == text


def test_the_cache_grows_without_losing_rows(model, monkeypatch):
    monkeypatch.setattr(llama_rows, "FIRST_ROWS", 4)
    text = random_tokens(0, 20)
    cache = model.new_cache()
    rows = [model.forward([token], cache)[0] for token in text]
    assert error(torch.stack(rows), model.forward(text, model.new_cache())) < CLOSE


def test_the_first_layers_can_run_alone(model):
    """Early exit needs the residual stream after E layers; running the rest from there is the full pass."""
    cache = model.new_cache()
    placement = cache.place([3, 4, 5], None, CONTEXT)
    with torch.inference_mode():
        step = model.step(placement, cache)
        x = model.layers(model._embedding[[3, 4, 5]], 0, 1, step)
        logits = model._head(model._norm(model.layers(x, 1, 2, step)))
    assert error(logits, model.forward([3, 4, 5], model.new_cache())) < CLOSE


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


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_stays_close_to_transformers(checkpoint, dtype):
    """Roundings differ between the two; 2 % of the largest logit is far below what a wrong position does (30 %)."""
    folder = checkpoint("llama", num_key_value_heads=2)
    model = load(str(folder), dtype=dtype, adapter="lean-llama").model
    reference = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
    text = random_tokens(0, 20)
    expected = plain(reference, text).float()
    got = model.forward(text, model.new_cache()).float()
    assert error(got, expected) < 0.02 * float(expected.abs().max())


@pytest.mark.parametrize("routine", ["linear", "transposed", "packed"])
@pytest.mark.parametrize("biased", [False, True])
def test_every_matrix_routine_gives_the_same_logits(checkpoint, routine, biased):
    folder = checkpoint("llama", attention_bias=biased, mlp_bias=biased)
    model = load(str(folder), adapter="lean-llama").model
    text = random_tokens(0, 9)
    expected = model.forward(text, model.new_cache())
    if routine not in available(torch.eye(2)):
        pytest.skip(f"this build of torch has no '{routine}'")
    for layer in model._layers:
        for projection in (layer.qkv, layer.output, layer.gate_up, layer.down):
            projection.use({1: routine})
    model._few_rows = None
    model._head.use({1: routine})
    assert error(model.forward(text, model.new_cache()), expected) < CLOSE


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


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_a_gpu_gives_the_logits_of_the_cpu(checkpoint, heads):
    folder = str(checkpoint("llama", num_key_value_heads=heads))
    results = []
    for device in ("cpu", "cuda"):
        model = load(folder, device=device, dtype="float32").model
        cache = model.new_cache()
        model.forward(random_tokens(0, 9), cache, last_only=True)
        cache.keep(range(9))
        tree = model.forward(random_tokens(1, 5), cache, [8, 9, 9, 10, 11]).cpu()
        cache.keep([9, 11, 13])
        results.append((tree, model.forward([3, 4], cache).cpu()))
    assert all(error(left, right) < 1e-4 for left, right in zip(*results, strict=True))


@pytest.mark.parametrize("parents", [None, [-1, 0, 0, 2]])
def test_hidden_states_are_those_of_transformers_and_leave_the_logits_alone(checkpoint, parents):
    folder, tokens = str(checkpoint("llama", num_key_value_heads=2)), [1, 2, 3, 4]
    found = []
    for adapter in ("lean-llama", "transformers"):
        model = load(folder, adapter=adapter).model
        logits, hidden = model.forward_hidden(tokens, model.new_cache(), parents)
        assert error(logits, model.forward(tokens, model.new_cache(), parents)) < CLOSE
        last, only = model.forward_hidden(tokens, model.new_cache(), parents, last_only=True)
        assert (last.shape[0], only.shape[0]) == (1, 1)
        found.append(hidden)
    assert error(*found) < CLOSE

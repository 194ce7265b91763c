"""The lean forward's own: pieces, layers, precisions, routines and devices give the same numbers."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from specviz.lm.kernels import available
from specviz.lm.llama import model as llama
from specviz.lm.llama import rows as llama_rows
from specviz.lm.load import load
from tests.lm.tiny_models import CONTEXT, error, plain, random_tokens

CLOSE = 1e-5


@pytest.fixture
def model(checkpoint):
    return load(str(checkpoint("llama", num_key_value_heads=2)), adapter="lean-llama").model


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

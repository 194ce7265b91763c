"""The transformers adapter: long prompts in pieces, and the models that must be refused."""

import pytest
import torch

from specviz.errors import ModelError
from specviz.lm.base import ModelInfo
from specviz.lm.hub.model import HubModel
from specviz.lm.hub.refusals import why_not_supported
from specviz.lm.load import load
from tests.lm.tiny_models import config_of, error, plain, random_model, random_tokens

CLOSE = 1e-5


def info(vocab_size: int = 60) -> ModelInfo:
    return ModelInfo("tiny", "Tiny", "transformers", 0, 2, 24, vocab_size, 48, "float32", "", ())


def test_padding_rows_of_the_vocabulary_are_cut_from_the_logits():
    model = HubModel(random_model("llama"), info(vocab_size=50))
    assert model.forward([1, 2], model.new_cache()).shape == (2, 50)


@pytest.mark.parametrize(("kind", "reason"), [("mamba", "layers of type linear_attention"), ("t5", "encoder-decoder")])
def test_caches_that_cannot_give_rows_back_are_refused(kind, reason):
    assert reason in (why_not_supported(config_of(kind)) or "nothing against it")


def test_full_attention_variants_of_the_same_families_are_not_refused():
    assert why_not_supported(config_of("gemma")) is None
    assert why_not_supported(config_of("mistral", sliding_window=None)) is None


def test_a_long_prompt_is_read_in_pieces_whose_masks_stay_small(monkeypatch):
    """The mask of a piece is dense: one for all of 32,000 rows took gigabytes."""
    monkeypatch.setattr("specviz.lm.hub.model.PREFILL_ROWS", 5)
    reference = random_model("llama")
    model = HubModel(reference, info())
    masks: list[tuple[int, ...]] = []
    made = model._mask
    monkeypatch.setattr(model, "_mask", lambda placement: masks.append((m := made(placement)).shape) or m)
    text, cache = random_tokens(0, 13), model.new_cache()
    last = model.forward(text, cache, last_only=True)
    assert masks == [(1, 1, 5, 5), (1, 1, 5, 10), (1, 1, 3, 13)]
    assert cache.tokens == text
    assert error(last[0], plain(reference, text)[-1]) < CLOSE


def test_a_prompt_that_does_not_fit_leaves_no_piece_of_itself(monkeypatch):
    monkeypatch.setattr("specviz.lm.hub.model.PREFILL_ROWS", 5)
    model = HubModel(random_model("llama"), info())
    cache = model.new_cache()
    with pytest.raises(ModelError, match="49 tokens, but the model's context holds 48"):
        model.forward(random_tokens(0, 49), cache, last_only=True)
    assert cache.length == 0


def test_a_model_that_ignores_the_tree_mask_is_refused():
    model = random_model("llama")
    forward = model.forward
    model.forward = lambda attention_mask, **rest: forward(attention_mask=None, **rest)
    with pytest.raises(ModelError, match="does not follow a tree mask"):
        HubModel(model, info())


@pytest.mark.parametrize("kind", ["bloom", "falcon"])
def test_a_model_whose_biases_come_from_a_flat_mask_is_refused_before_its_weights_are_read(kind, checkpoint):
    folder = checkpoint(kind)
    (folder / "model.safetensors").unlink()
    with pytest.raises(
        ModelError, match=r"because it works out its position biases \(ALiBi\) from a two-dimensional mask"
    ):
        load(str(folder))


def test_a_forward_that_fails_on_a_tree_mask_is_a_refusal_with_what_it_said():
    model = random_model("bloom")
    model.config.model_type = "unheard-of"
    with pytest.raises(
        ModelError, match=r"tiny \(Tiny\) does not run with the four-dimensional .* \(ValueError: .+\); choose"
    ):
        HubModel(model, info())


def test_flash_attention_is_refused():
    model = random_model("llama")
    model.config._attn_implementation_internal = "flash_attention_2"
    with pytest.raises(ModelError, match="'flash_attention_2' attention, which takes no tree mask"):
        HubModel(model, info())


def test_eager_attention_follows_trees_too():
    model = random_model("llama")
    model.set_attn_implementation("eager")
    adapter = HubModel(model, info())
    tree = adapter.forward([1, 2, 3], adapter.new_cache(), parents=[-1, 0, 0])
    assert error(tree[2], plain(model, [1, 3])[-1]) < CLOSE


def test_a_stateful_model_is_refused():
    model = random_model("llama")
    type(model)._is_stateful, before = True, type(model)._is_stateful
    try:
        with pytest.raises(ModelError, match="recurrent state"):
            HubModel(model, info())
    finally:
        type(model)._is_stateful = before


def test_logits_of_the_adapter_are_on_its_device():
    model = HubModel(random_model("gpt2"), info())
    assert model.forward([1], model.new_cache()).device == model.device == torch.device("cpu")

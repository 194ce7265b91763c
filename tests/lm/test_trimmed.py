"""A smaller output head: the same logits for the tokens it keeps, none for the others, and fewer rows computed."""

import pytest
import torch

from specviz.lm import kernels
from specviz.lm.llama.model import LlamaModel
from specviz.lm.load import load
from specviz.lm.table import TableModel
from specviz.lm.vocabulary import TrimmedModel
from tests.lm.tiny_models import VOCABULARY, random_tokens

KEPT = [0, 3, 4, 17, 59]
OTHERS = [token for token in range(VOCABULARY) if token not in KEPT]


def both(model, tokens, **options):
    """(logits of the model, logits of the trimmed one)."""
    trimmed = TrimmedModel(model, KEPT)
    return model.forward(tokens, model.new_cache(), **options), trimmed.forward(tokens, trimmed.new_cache(), **options)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("adapter", ["lean-llama", "transformers"])
def test_kept_tokens_have_their_logits_and_all_others_none(checkpoint, adapter, tied):
    model = load(str(checkpoint("llama", tie_word_embeddings=tied)), adapter=adapter).model
    for options in ({}, {"last_only": True}, {"parents": [-1, 0, 0, 1]}):
        whole, trimmed = both(model, random_tokens(0, 4), **options)
        assert trimmed.shape == whole.shape
        torch.testing.assert_close(trimmed[:, KEPT], whole[:, KEPT], atol=1e-5, rtol=0.0)
        assert bool((trimmed[:, OTHERS] == -torch.inf).all())
        assert trimmed.softmax(-1)[:, OTHERS].count_nonzero() == 0


def test_the_lean_forward_computes_the_kept_rows_alone(checkpoint):
    model = load(str(checkpoint("llama")), adapter="lean-llama").model
    smaller = model.with_head(KEPT)
    assert smaller.forward([1, 2], smaller.new_cache()).shape == (2, len(KEPT))
    assert model.forward([1, 2], model.new_cache()).shape == (2, VOCABULARY), "the whole model keeps its head"
    assert model.with_head(KEPT) is smaller
    assert TrimmedModel(model, KEPT).computes_less
    assert not TrimmedModel(TableModel(60, 1), KEPT).computes_less


def test_a_head_of_other_rows_is_another_head(checkpoint):
    """The last one made is kept for the next run, and only for a run that keeps the same rows."""
    model = load(str(checkpoint("llama")), adapter="lean-llama").model
    whole = model.forward([1, 2], model.new_cache())
    for kept in (KEPT, [5, 1], KEPT[:2], [1, 5]):
        smaller = model.with_head(kept)
        torch.testing.assert_close(smaller.forward([1, 2], smaller.new_cache()), whole[:, kept], atol=1e-5, rtol=0.0)


def test_a_head_made_meanwhile_by_another_run_is_not_this_ones(checkpoint):
    """Another thread's comes to be the one that is kept as soon as this one is."""

    others = [KEPT[:2]]

    class Crowded(LlamaModel):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name == "_last_trimmed" and others:
                self.with_head(others.pop())

    model = load(str(checkpoint("llama")), adapter="lean-llama").model
    model.__class__ = Crowded
    assert model.with_head(KEPT)._head_weight.shape[0] == len(KEPT)
    assert not others


@pytest.mark.parametrize("routine", ["linear", "transposed", "packed"])
def test_rows_are_read_exactly_from_every_form_a_head_is_kept_in(checkpoint, routine):
    model = load(str(checkpoint("llama")), adapter="lean-llama").model
    weight = model._head.weight.clone()
    if routine not in kernels.available(weight):
        pytest.skip(f"this build of torch has no '{routine}'")
    model._head.use(dict.fromkeys(kernels.ROW_COUNTS, routine))
    assert torch.equal(model.with_head(KEPT)._head.weight, weight[KEPT])


def test_its_identity_says_how_large_the_head_is(checkpoint):
    model = load(str(checkpoint("llama")), adapter="lean-llama").model
    assert TrimmedModel(model, KEPT).info.adapter == "lean-llama, 5 head rows"
    assert TrimmedModel(model, KEPT).info.vocab_size == VOCABULARY


@pytest.mark.parametrize("adapter", ["lean-llama", "transformers"])
@pytest.mark.parametrize("tied", [True, False])
def test_a_pass_reads_no_embedding_that_is_no_head_and_no_row_that_was_cut(checkpoint, adapter, tied):
    model = load(str(checkpoint("llama", tie_word_embeddings=tied)), adapter=adapter).model
    info = model.info
    rows = VOCABULARY * info.hidden_size
    assert info.read_per_pass == info.parameters - (0 if tied else rows)
    trimmed = TrimmedModel(model, KEPT)
    left_out = rows - len(KEPT) * info.hidden_size if trimmed.computes_less else 0
    assert trimmed.info.read_per_pass == info.read_per_pass - left_out
    assert model.info.read_per_pass == info.read_per_pass, "the whole model keeps its own"

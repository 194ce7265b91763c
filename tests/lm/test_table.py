"""The toy model of proofs: exact, repeatable, and angry about any mistake."""

import numpy as np
import pytest
import torch

from specviz.errors import ModelError
from specviz.lm.table import TableModel


def test_the_same_seed_gives_the_same_distribution_and_another_seed_another():
    text = [0, 2, 1]
    assert torch.equal(TableModel(3, 5).exact_probs(text), TableModel(3, 5).exact_probs(text))
    assert not torch.equal(TableModel(3, 5).exact_probs(text), TableModel(3, 6).exact_probs(text))


def test_probabilities_are_float64_and_sum_to_one():
    probs = TableModel(4, 0).exact_probs([1])
    assert probs.dtype == torch.float64
    assert abs(float(probs.sum()) - 1) < 1e-15


def test_no_spread_is_the_uniform_distribution():
    assert TableModel(4, 0, spread=0.0).exact_probs([1]).tolist() == [0.25, 0.25, 0.25, 0.25]


def test_order_limits_what_matters():
    model = TableModel(3, 0, order=2)
    assert torch.equal(model.exact_logits([0, 1, 2]), model.exact_logits([2, 1, 2]))
    assert not torch.equal(model.exact_logits([0, 1, 2]), model.exact_logits([0, 0, 2]))


def test_a_tree_gives_every_node_the_logits_of_its_own_text():
    model = TableModel(4, 0)
    cache = model.new_cache()
    model.forward([1, 2], cache)
    cache.keep([0, 1])
    logits = model.forward([3, 0, 1, 2], cache, parents=[1, 2, 2, 4])
    for row, text in enumerate([(1, 2, 3), (1, 2, 3, 0), (1, 2, 3, 1), (1, 2, 3, 1, 2)]):
        assert torch.equal(logits[row], model.exact_logits(text))


def test_after_keep_the_text_continues_from_the_kept_path():
    model = TableModel(4, 0)
    cache = model.new_cache()
    model.forward([1, 2, 3, 0], cache, parents=[-1, 0, 0, 2])
    cache.keep([0, 2, 3])
    assert torch.equal(model.forward([2], cache)[0], model.exact_logits((1, 3, 0, 2)))


def test_last_only_gives_one_row():
    model = TableModel(4, 0)
    assert torch.equal(model.forward([1, 2, 3], model.new_cache(), last_only=True)[0], model.exact_logits((1, 2, 3)))


def test_the_context_ends():
    model = TableModel(4, 0, context_length=3)
    with pytest.raises(ModelError, match="4 tokens, but the model's context holds 3"):
        model.forward([1, 1, 1, 1], model.new_cache())


def test_a_wrong_mask_is_caught():
    model = TableModel(4, 0)
    cache = model.new_cache()
    right = cache.place

    def wrong(*arguments):
        placement = right(*arguments)
        placement.visible[...] = np.tril(np.ones_like(placement.visible))
        return placement

    cache.place = wrong
    with pytest.raises(AssertionError, match="positions"):
        model.forward([1, 2, 3], cache, parents=[-1, 0, 0])


def test_stale_rows_are_caught():
    model = TableModel(4, 0)
    cache = model.new_cache()
    model.forward([1, 2, 3], cache, parents=[-1, 0, 0])
    cache._move_rows = lambda rows, start: None
    cache.keep([0, 2])
    with pytest.raises(AssertionError, match="stale"):
        model.forward([0], cache)


def test_another_models_cache_is_refused():
    with pytest.raises(AssertionError, match="another model"):
        TableModel(4, 0).forward([1], TableModel(4, 1).new_cache())

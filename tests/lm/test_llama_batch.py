"""Several sequences in one pass: every row gets the logits it gets alone, and none sees another sequence.

A compiled call gives them bit for bit; torch's products of other shapes round otherwise."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from specviz.errors import ModelError
from specviz.lm.base import GivesBatches, Share
from specviz.lm.llama import batch as llama_batch
from specviz.lm.llama import rows as llama_rows
from specviz.lm.llama.few_rows import FewRows, Seat
from specviz.lm.load import load
from specviz.lm.products import pointer
from tests.lm.tiny_models import CONTEXT, error, random_tokens

CLOSE = {"compiled": 0.0, "plain": 1e-5}
TREE = [-1, 0, 0, 1, 1, 2]
"""parents of six rows, counted from the first of them; -1: the end of the text"""


@pytest.fixture(params=CLOSE)
def way(request):
    return request.param


@pytest.fixture
def close(way):
    """The largest difference of logits."""
    return CLOSE[way]


def loaded(folder, way, **how):
    model = load(str(folder), adapter="lean-llama", **how).model
    assert isinstance(model, GivesBatches)
    if way == "plain":
        model._few_rows = None
    elif model._few_rows is None:
        pytest.skip("there is no compiler here")
    return model


@pytest.fixture(params=[4, 2, 1], ids=lambda heads: f"{heads} key heads")
def model(request, checkpoint, way):
    return loaded(checkpoint("llama", num_key_value_heads=request.param), way)


class Beside:
    """A sequence in a batch and the same one alone."""

    def __init__(self, model, batch, text):
        self.model, self.text = model, list(text)
        self.lane, self.alone = batch.new_cache(), model.new_cache()
        for cache in (self.lane, self.alone):
            model.forward(self.text, cache)
            cache.keep(range(len(self.text)))

    def share(self, tokens, tree=None, last_only=False):
        start = self.alone.length
        parents = None if tree is None else [start + parent for parent in tree]
        self.expected = self.model.forward(tokens, self.alone, parents, last_only)
        return Share(tokens, self.lane, parents, last_only)

    def keep(self, path):
        for cache in (self.lane, self.alone):
            cache.keep(path)

    def off(self, logits):
        assert logits.shape == self.expected.shape
        return error(logits, self.expected)


def pass_(batch, *asked):
    """(sequence, what it asks) → how far each is from what it gets alone."""
    shares = [one.share(*what) for one, what in asked]
    return [one.off(logits) for (one, _), logits in zip(asked, batch.forward(shares), strict=True)]


def test_texts_of_different_lengths_with_a_chain_a_tree_and_one_row_get_what_they_get_alone(model, close):
    batch = model.new_batch()
    a, b, c = (Beside(model, batch, random_tokens(seed, length)) for seed, length in ((1, 3), (2, 11), (3, 6)))
    tree = random_tokens(4, 6)
    assert max(pass_(batch, (a, (tree[:4],)), (b, (tree, TREE)), (c, (tree[:1],)))) <= close
    a.keep([3, 4])
    b.keep([11, 13, 16])
    c.keep([])
    assert max(pass_(batch, (b, (tree[:2],)), (c, (tree, TREE, True)), (a, (tree[:5], TREE[:5])))) <= close
    assert [one.lane.tokens for one in (a, b, c)] == [one.alone.tokens for one in (a, b, c)]


def test_a_sequence_that_asks_nothing_is_not_touched(model, close):
    batch = model.new_batch()
    a, b, c = (Beside(model, batch, random_tokens(seed, 5)) for seed in range(3))
    before = b.lane._kv[:, :, :5].clone()
    assert max(pass_(batch, (a, ([1, 2],)), (c, ([3],)))) <= close
    assert torch.equal(b.lane._kv[:, :, :5], before)
    assert max(pass_(batch, (b, ([4, 5, 6],)), (a, ([7],)))) <= close


@pytest.mark.parametrize("over", [0, 1, 2])
def test_when_one_leaves_the_others_go_on_and_a_new_one_may_come(model, close, over):
    batch = model.new_batch()
    sequences = [Beside(model, batch, random_tokens(seed, 4 + seed)) for seed in range(3)]
    pass_(batch, *((one, ([9, 8],)) for one in sequences))
    batch.leave(sequences.pop(over).lane)
    assert max(pass_(batch, *((one, ([7, 6],)) for one in sequences))) <= close
    sequences.append(Beside(model, batch, random_tokens(9, 8)))
    assert max(pass_(batch, *((one, ([5], None, True)) for one in sequences))) <= close
    assert [one.lane.lane for one in sequences] == ([1, 0, 2] if over == 0 else [0, 1, 2]), (
        "the last lane moves into the one that is free"
    )


def test_more_sequences_and_longer_texts_than_there_was_room_for(model, close, monkeypatch):
    monkeypatch.setattr(llama_batch, "FIRST_ROWS", 4)
    monkeypatch.setattr(llama_rows, "FIRST_ROWS", 4)
    batch = model.new_batch()
    sequences = [Beside(model, batch, random_tokens(seed, 2 + 3 * seed)) for seed in range(5)]
    assert batch.storage.shape[2] == 8
    for step in range(3):
        assert max(pass_(batch, *((one, (random_tokens(step, 4),)) for one in sequences))) <= close
    assert batch.storage.shape[3] == 32


def test_a_prompt_is_read_alone_beside_the_others(model, close, monkeypatch):
    monkeypatch.setattr(llama_batch, "ALONE", 6)
    batch = model.new_batch()
    a, b, c = (Beside(model, batch, [seed]) for seed in range(3))
    assert max(pass_(batch, (a, ([1, 2],)), (b, (random_tokens(5, 9), None, True)), (c, ([3],)))) <= close


def test_what_was_in_a_lane_before_is_never_read(model, close):
    """Rows of a text that left are still in the storage; the mask ends before them."""
    batch = model.new_batch()
    a, gone = Beside(model, batch, random_tokens(0, 3)), Beside(model, batch, random_tokens(1, 20))
    batch.leave(gone.lane)
    with torch.inference_mode():
        batch.storage[:, :, 1] = 1e4
    late = Beside(model, batch, [5, 6])
    assert max(pass_(batch, (a, ([1, 2],)), (late, ([3],)))) <= close


@pytest.mark.parametrize("way", ["compiled"], indirect=True)
def test_a_call_fills_its_room_for_logits_and_writes_nothing_behind_it(model, monkeypatch):
    """Both rows of one text and the last of the other are read out; two rows more lie behind the room."""
    batch, rooms = model.new_batch(), list[torch.Tensor]()
    a, b = Beside(model, batch, random_tokens(1, 3)), Beside(model, batch, random_tokens(2, 9))
    shares = [a.share([1, 2]), b.share([3, 4, 5], None, True)]

    def guarded(this, wanted):
        rooms.append(torch.full((wanted + 2, this._outs), torch.nan))
        return rooms[-1][:wanted], pointer(rooms[-1].data_ptr())

    monkeypatch.setattr(FewRows, "_logits", guarded)
    together = batch.forward(shares)
    assert [one.off(logits) for one, logits in zip((a, b), together, strict=True)] == [0.0, 0.0]
    assert [room.isnan().all(-1).tolist() for room in rooms] == [[False] * 3 + [True] * 2]


def two_of_different_lengths(model):
    """A batch, and what its pass over two of its sequences is off."""
    batch = model.new_batch()
    a, b = Beside(model, batch, random_tokens(1, 3)), Beside(model, batch, random_tokens(2, 9))
    return batch, lambda: max(pass_(batch, (a, ([1, 2],)), (b, ([3, 4, 5],))))


@pytest.mark.parametrize("way", ["plain"], indirect=True)
@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("lanes", lambda step: {"lanes": (step.lanes + 1) % 2}),
        ("mask", lambda step: {"mask": torch.zeros_like(step.mask)}),
        ("columns", lambda step: {"columns": step.columns - 1}),
    ],
)
@pytest.mark.planted("leak between texts of a batch")
def test_a_row_in_a_strangers_lane_a_mask_that_ends_nowhere_and_a_shifted_row_are_seen(model, monkeypatch, fault, what):
    right = llama_batch.LlamaBatch._step
    _, off = two_of_different_lengths(model)
    monkeypatch.setattr(
        llama_batch.LlamaBatch, "_step", lambda *given: (step := right(*given)) and replace(step, **what(step))
    )
    assert off() > 1e-3, fault


def in_a_strangers_lane(batch, text):
    return text._replace(seat=Seat(batch.storage[:, :, 0]))


def under_a_mask_that_ends_nowhere(batch, text):
    placement = text.placement
    everything = np.ones((len(placement.tokens), placement.stop), dtype=np.bool_)
    return text._replace(placement=replace(placement, visible=everything))


def behind_a_row_that_is_nobodys(batch, text):
    return text._replace(placement=replace(text.placement, start=text.placement.start + 1))


@pytest.mark.parametrize("way", ["compiled"], indirect=True)
@pytest.mark.parametrize("fault", [in_a_strangers_lane, under_a_mask_that_ends_nowhere, behind_a_row_that_is_nobodys])
@pytest.mark.planted("leak between texts of a batch")
def test_the_same_faults_of_a_compiled_call_are_seen(model, monkeypatch, fault):
    right = llama_batch.TextRows
    batch, off = two_of_different_lengths(model)
    monkeypatch.setattr(llama_batch, "TextRows", lambda *given: fault(batch, right(*given)))
    assert off() > 1e-3


@pytest.mark.parametrize("way", ["compiled"], indirect=True)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_more_rows_than_one_call_takes_are_several_and_a_wider_share_is_alone(checkpoint, way, dtype, monkeypatch):
    model = loaded(checkpoint("llama", hidden_size=64, intermediate_size=96), way, dtype=dtype)
    model._few_rows.most = 5
    batch = model.new_batch()
    sequences = [Beside(model, batch, random_tokens(seed, 4 + seed)) for seed in range(5)]
    asked = [(one, (random_tokens(9, n),)) for one, n in zip(sequences, (2, 3, 1, 6, 4), strict=True)]
    shares = [one.share(*what) for one, what in asked]
    rows = list[list[int]]()
    right = type(model).in_one_call
    monkeypatch.setattr(
        type(model),
        "in_one_call",
        lambda model, texts: rows.append([len(text.placement.tokens) for text in texts]) or right(model, texts),
    )
    together = batch.forward(shares)
    assert rows == [[2, 3], [1, 4]]
    assert [one.off(logits) for one, logits in zip(sequences, together, strict=True)] == [0.0] * 5


def test_two_shares_of_one_sequence_and_a_sequence_that_left_are_refused(model):
    batch = model.new_batch()
    a, b = batch.new_cache(), batch.new_cache()
    with pytest.raises(AssertionError, match="two shares of a pass are of one sequence"):
        batch.forward([Share([1], a), Share([2], a)])
    batch.leave(b)
    with pytest.raises(AssertionError, match="has left the batch"):
        batch.forward([Share([1], a), Share([2], b)])
    with pytest.raises(AssertionError, match="another adapter"):
        batch.forward([Share([1], a), Share([2], model.new_cache())])


def test_a_text_beyond_the_context_is_refused_before_anything_is_computed(model):
    batch = model.new_batch()
    a, b = batch.new_cache(), batch.new_cache()
    model.forward(random_tokens(0, CONTEXT), b)
    with pytest.raises(ModelError, match="context holds 48"):
        batch.forward([Share([1], a), Share([2], b)])
    assert a.tokens == []

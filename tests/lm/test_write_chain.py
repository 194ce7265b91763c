"""A chain written by one compiled call: every number of the passes one by one, and never where those differ."""

from __future__ import annotations

import pytest
import torch

from specviz.core import compiled
from specviz.core.draws import Chooser, Noise
from specviz.core.randomness import pick
from specviz.core.sampling import Sampling, most_probable, transform
from specviz.lm.base import WritesChains
from specviz.lm.llama.few_rows import SOURCE
from specviz.lm.load import load
from specviz.trace.uniform_draws import stream, uniforms
from tests.lm.tiny_models import CONTEXT, random_tokens, rounded_copy
from tests.processors.processors import on_every_processor

pytestmark = pytest.mark.skipif(compiled.library(SOURCE) is None, reason="there is no compiler here")
SHAPE = {"hidden_size": 64, "intermediate_size": 96, "num_key_value_heads": 2}
TEXT, NEW = random_tokens(0, 7), random_tokens(1, 2)
NOISE = Noise(stream(3, "draft"), 5, 2)
U = uniforms(3, "draft", 5, range(2, 6))


@pytest.fixture(params=["float32", "bfloat16"])
def model(request, checkpoint, tmp_path):
    """Of a checkpoint that holds bfloat16, in either format."""
    return load(rounded_copy(checkpoint("llama", **SHAPE), tmp_path / "short"), dtype=request.param).model


def with_text(model, text=TEXT):
    cache = model.new_cache()
    model.forward(text, cache, last_only=True)
    cache.keep(range(len(text)))
    return cache


def by_steps(model, cache, choose):
    """Tokens, and the logits that each was chosen from, of as many passes as there are numbers in U."""
    tokens, rows, read = list[int](), list[torch.Tensor](), NEW
    for u in U:
        rows.append(model.forward(read, cache, last_only=True)[0])
        tokens.append(choose(rows[-1], u))
        read = tokens[-1:]
    return tokens, torch.stack(rows)


def following(model, cache):
    """What the rows that were written mean to a further pass."""
    return model.forward([5], cache)


@on_every_processor
def test_the_most_probable_tokens_are_those_of_passes_one_by_one(model):
    caches = with_text(model), with_text(model)
    tokens, logits = by_steps(model, caches[0], lambda row, u: most_probable(row[None])[0])
    chain = model.write_chain(NEW, caches[1], Chooser.of(len(U)))
    assert isinstance(model, WritesChains)
    assert (chain.tokens, len(chain.seconds), min(chain.seconds) > 0) == (tokens, len(U), True)
    assert torch.equal(chain.logits, logits)
    assert caches[1].tokens == caches[0].tokens == [*TEXT, *NEW, *tokens[:-1]]
    assert torch.equal(*(following(model, cache) for cache in caches))


def test_drawn_tokens_their_distributions_and_probabilities_are_those_of_passes_one_by_one(model):
    caches = with_text(model), with_text(model)
    sampling = Sampling(0.8)
    tokens, logits = by_steps(model, caches[0], lambda row, u: pick(transform(row, sampling), u))
    chooser = Chooser.of(len(U), sampling.temperature, NOISE)
    chain = model.write_chain(NEW, caches[1], chooser)
    probs = transform(logits, sampling)
    assert chain.tokens == tokens
    assert torch.equal(torch.stack(chooser.room.rows), probs)
    assert chooser.probs() == [float(row[token]) for row, token in zip(probs, tokens, strict=True)]
    assert torch.equal(*(following(model, cache) for cache in caches))


def refused(model, cache):
    before = list(cache.tokens)
    assert model.write_chain(NEW, cache, Chooser.of(len(U))) is None
    assert cache.tokens == before
    return True


def test_rows_beside_the_text_watched_layers_and_the_end_of_the_context_are_left_to_single_passes(model):
    beside = with_text(model)
    model.forward([1], beside)
    watched = with_text(model)
    model.watch(watched, (1,))
    room = len(NEW) + len(U) - 1
    assert refused(model, beside)
    assert refused(model, watched)
    assert refused(model, with_text(model, random_tokens(0, CONTEXT - room + 1)))
    assert model.write_chain(NEW, with_text(model, random_tokens(0, CONTEXT - room)), Chooser.of(len(U)))


def test_without_a_compiled_pass_there_is_no_such_chain(model):
    model._few_rows = None
    assert refused(model, with_text(model))

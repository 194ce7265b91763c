"""What only a real CUDA device can tell: recorded passes replay what was recorded, and text is that of transformers."""

import pytest
import torch

from specviz.lm.base import Share
from specviz.lm.load import load
from tests.gpu.equality import compare
from tests.lm.tiny_models import error, random_parents, random_tokens

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]
CLOSE = 1e-4


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_replayed_pass_has_the_logits_of_one_launched_kernel_by_kernel(dtype):
    models = [load("target", device=device, dtype=dtype).model for device in ("cuda", "eager:cuda")]
    assert [model.replays is None for model in models] == [False, True]
    caches = [model.new_cache() for model in models]
    for turn, n in enumerate((3, 1, 5, 8, 2, 16, 33, 64, 3, 1)):
        start = caches[0].length
        parents = random_parents(turn, start, start, n) if start else None
        logits = [
            model.forward(random_tokens(turn, n), cache, parents) for model, cache in zip(models, caches, strict=True)
        ]
        scale = float(logits[1].abs().max())
        assert error(*logits) < (CLOSE if dtype == "float32" else 0.05) * scale
        for cache in caches:
            cache.keep([start] if parents is None or parents[0] == start - 1 else [])


def of_a_long_text_and_a_batch(model) -> list[torch.Tensor]:
    """Logits behind a text that is read in parts, and of three texts with ragged drafts, one of which then leaves."""
    found = [model.forward(random_tokens(0, 300), model.new_cache(), last_only=True)]
    batch = model.new_batch()
    caches = [batch.new_cache() for _ in range(3)]
    for turn in range(3):
        shares = []
        for number, cache in enumerate(caches):
            n, start = 1 + (3 * turn + 2 * number) % 7, cache.length
            parents = random_parents(turn, start, start, n) if number and start else None
            shares.append(Share(random_tokens(turn + number, n), cache, parents))
        found += batch.forward(shares)
        for cache in caches:
            cache.keep(range(cache.base, cache.base + 1) if cache.base == 0 else [])
    batch.leave(caches.pop(0))
    return found + batch.forward([Share([7, 8, 9], cache) for cache in caches])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_long_texts_and_batches_that_are_replayed_have_the_logits_of_launched_passes(dtype):
    models = [load("target", device=device, dtype=dtype).model for device in ("cuda", "eager:cuda")]
    for replayed, launched in zip(*map(of_a_long_text_and_a_batch, models), strict=True):
        assert replayed.shape == launched.shape
        assert error(replayed, launched) < (CLOSE if dtype == "float32" else 0.05) * float(launched.abs().max())


def test_greedy_text_in_float32_is_that_of_transformers_with_graphs_and_without():
    found = compare("cuda", ["none", "model", "eagle"], prompts=3, tokens=32)
    assert [one.device for one in found] == ["cuda"] * 3 + ["eager:cuda"] * 3
    assert [one for one in found if one.different] == []

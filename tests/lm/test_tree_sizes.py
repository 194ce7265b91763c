"""Trees of 8 to 64 nodes, both adapters: a node's logits are those of its path alone, kept rows are a prefill's."""

import random

import pytest
import torch

from specviz.core.tree import DraftTree
from specviz.engine.scoring import score
from specviz.lm.load import load
from tests.lm.tiny_models import random_tokens

PROMPT = random_tokens(7, 9)
CLOSE = 1e-4
ADAPTERS = ["lean-llama", "transformers"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    from tests.lm.tiny_models import random_model, write_tokenizer

    folder = tmp_path_factory.mktemp("llama")
    random_model("llama", num_key_value_heads=2, max_position_embeddings=96).save_pretrained(folder)
    write_tokenizer(folder)
    wanted = {"lean-llama": "auto", "transformers": "transformers"}
    found = {name: load(str(folder), dtype="float32", adapter=adapter).model for name, adapter in wanted.items()}
    assert [model.info.adapter for model in found.values()] == ADAPTERS
    return found


def random_tree(nodes: int) -> DraftTree:
    """`nodes` candidates below the last token of the prompt, wide at first and with long branches."""
    rng = random.Random(nodes)
    tree = DraftTree.from_root(PROMPT[-1])
    for node in range(1, nodes + 1):
        parent = rng.randrange(max(0, node - 6), node) if node > 3 else 0
        tree.add(parent, rng.randrange(60), "point_mass", None, "test")
    return tree


def cached(model, tokens):
    cache = model.new_cache()
    model.forward(tokens, cache, last_only=True)
    cache.keep(range(len(tokens)))
    return cache


def rows_of(cache) -> torch.Tensor:
    """All keys and values, rows last but one."""
    if hasattr(cache, "past"):
        return torch.stack([torch.cat([layer.keys, layer.values], 1)[0] for layer in cache.past.layers])
    return cache._kv[:, :, : cache.length]


@pytest.mark.parametrize("nodes", [8, 16, 32, 64])
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_each_node_is_scored_as_its_path_alone(models, adapter, nodes):
    model, tree = models[adapter], random_tree(nodes)
    logits = score(model, cached(model, PROMPT[:-1]), tree)
    assert len(logits) == nodes + 1
    assert max(tree.depths) >= 2
    for node in range(len(tree)):
        alone = model.forward([*PROMPT, *tree.token_path(node)], model.new_cache(), last_only=True)[0]
        torch.testing.assert_close(logits[node], alone, atol=CLOSE, rtol=0.0)


@pytest.mark.parametrize("nodes", [8, 16, 32, 64])
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_rows_kept_of_a_tree_are_those_of_a_fresh_prefill(models, adapter, nodes):
    """The deepest path, and the path to the last node; then the next token."""
    model, tree = models[adapter], random_tree(nodes)
    deepest = max(range(len(tree)), key=lambda node: tree.depths[node])
    for end in (deepest, nodes):
        cache = cached(model, PROMPT[:-1])
        start = cache.length
        score(model, cache, tree)
        cache.keep([start, *(start + tree.rows()[node] for node in tree.path(end))])
        fresh = cached(model, [*PROMPT, *tree.token_path(end)])
        assert cache.tokens == fresh.tokens
        torch.testing.assert_close(rows_of(cache), rows_of(fresh), atol=CLOSE, rtol=0.0)
        torch.testing.assert_close(model.forward([5], cache), model.forward([5], fresh), atol=CLOSE, rtol=0.0)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_row_of_another_branch_in_the_kept_path_is_seen(models, adapter):
    """Or the comparison above would prove nothing: the sibling's row in place of the node's own."""
    model = models[adapter]
    tree = DraftTree.from_root(PROMPT[-1])
    for token in (3, 4):
        tree.add(0, token, "point_mass", None, "test")
    cache = cached(model, PROMPT[:-1])
    start = cache.length
    score(model, cache, tree)
    cache.keep([start, start + 2])
    wrong = cached(model, [*PROMPT, 3])
    assert float((rows_of(cache) - rows_of(wrong)).abs().max()) > 100 * CLOSE

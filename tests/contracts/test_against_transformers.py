"""Our plain greedy decoding is that of `transformers.generate`; our tree scores are those of plain passes."""

import pytest
import torch

from specviz.core.tree import DraftTree
from specviz.engine.scoring import score
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from tests.lm.tiny_models import plain, random_tokens

PLAIN = RunRequest("", drafter=Choice("none"), verifier=Choice("greedy"), max_new_tokens=64)


def generated(model, prompt: list[int], n: int) -> list[int]:
    ids = torch.tensor([prompt])
    output = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=n, pad_token_id=0)
    return output[0, len(prompt) :].tolist()


def test_plain_greedy_decoding_is_that_of_transformers(pair):
    """fp32, 10 prompts, 64 tokens each."""
    for seed in range(10):
        prompt = random_tokens(seed, 3 + seed)
        assert pair.output(PLAIN, prompt) == generated(pair.reference, prompt, 64)


def test_every_node_of_a_tree_is_scored_as_its_path_alone(pair):
    prompt = random_tokens(3, 9)
    cache = pair.target.model.new_cache()
    pair.target.model.forward(prompt[:-1], cache)
    cache.keep(range(len(prompt) - 1))
    tree = DraftTree.from_root(prompt[-1])
    for node, parent in enumerate([0, 0, 0, 1, 1, 2, 5, 6, 3], start=1):
        tree.add(parent, (7 * node) % 60, "point_mass", None, "test")
    logits = score(pair.target.model, cache, tree)
    for node in range(len(tree)):
        alone = plain(pair.reference, [*prompt, *tree.token_path(node)])[-1]
        torch.testing.assert_close(logits[node], alone, atol=1e-4, rtol=0.0)


@pytest.mark.slow
def test_the_bundled_pair_decodes_as_transformers_does():
    """fp32, 10 prompts of the set, 32 tokens each, plain and with a chain of four.

    transformers reads prompt and text in one pass; the text is its greedy text exactly if each token is its most
    probable one after those before it.
    """
    from transformers import AutoModelForCausalLM

    from specviz.live.catalog import bundled_prompts
    from specviz.live.source import LiveSource, collect
    from specviz.resources import asset_path

    torch.set_num_threads(1)
    reference = AutoModelForCausalLM.from_pretrained(asset_path("models", "target"), dtype=torch.float32).eval()
    source = LiveSource(measure=False)
    for card in bundled_prompts()[:20:2]:
        runs = [
            collect(
                source, RunRequest(card.text, drafter=Choice(name), max_new_tokens=32, dtype="float32", record=False)
            )
            for name in ("none", "model")
        ]
        prompt, text = runs[0].started.prompt_ids, runs[0].finished.output_ids
        assert runs[1].finished.output_ids == text
        logits = plain(reference, [*prompt, *text])[len(prompt) - 1 : -1]
        assert logits.argmax(-1).tolist() == text

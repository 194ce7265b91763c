"""A real model in the engine: its greedy text with each drafter that can draft for it, its law, its tokens."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

import specviz
from specviz.cli.named_weights import of_folder
from specviz.live.catalog import build
from specviz.lm.fetched import SMOLLM2
from specviz.protocol.pairs import pair_named

pytestmark = [pytest.mark.real, pytest.mark.slow]

PROMPTS = {
    "fact": "What is the capital of France?",
    "copy": "Repeat this sentence twice: the quick brown fox jumps over the lazy dog.",
    "extract": "Extract name, age and city as JSON: Anna Berg is 34 years old and lives in Oslo.",
}
WRITTEN = ("copy", "extract")
NEW_TOKENS = 12
REAL = pair_named(build(), "smollm2")
DRAFTERS = () if REAL is None else REAL.drafters
"""that need no training, and that were trained for it; more messages and longer answers: `specviz prove chat`"""


def run(prompt: str, **settings: Any) -> specviz.Trace:
    return specviz.run(prompt, target="smollm2", chat=True, dtype="float32", **settings)


@pytest.fixture(scope="module")
def texts(reference: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> dict[str, list[int]]:
    """What `transformers.generate` writes after each prompt."""
    ids = {}
    for name in WRITTEN:
        prompt = PROMPTS[name]
        asked = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        with torch.inference_mode():
            whole = reference.generate(**asked, max_new_tokens=NEW_TOKENS, do_sample=False)
        ids[name] = whole[0, asked["input_ids"].shape[1] :].tolist()
    return ids


def test_the_packages_file_gives_the_weights_that_what_is_shipped_was_made_with(folder: Path) -> None:
    if (folder / "generation_config.json").is_file():
        pytest.skip("this machine has the weights of the hub, and not those of the Python package")
    assert of_folder(folder) == SMOLLM2.weights_sha256


def test_those_that_were_trained_for_it_are_among_the_drafters() -> None:
    assert {"none", "ngram", "token_recycling", "lookahead", "suffix", "jacobi", "rest"} < set(DRAFTERS)
    assert {"eagle", "small_model", "dspark", "medusa"} < set(DRAFTERS)


@pytest.mark.parametrize(("place", "drafter"), list(enumerate(DRAFTERS)))
def test_greedy_text_is_that_of_transformers(place: int, drafter: str, texts: dict[str, list[int]]) -> None:
    """Each drafter writes one of the two texts, in turn."""
    prompt = WRITTEN[place % 2]
    trace = run(PROMPTS[prompt], drafter=drafter, max_new_tokens=NEW_TOKENS)
    assert trace.finished.output_ids == texts[prompt]
    drafted = sum(len(round_.nodes) - 1 for round_ in trace.rounds)
    assert (drafted == 0) == (drafter == "none"), "a drafter that drafts nothing shows nothing"
    assert specviz.check(trace) == []


def test_a_drawn_token_has_the_probability_that_transformers_gives_it(
    reference: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast
) -> None:
    trace = run(PROMPTS["fact"], drafter="ngram", temperature=1.0, max_new_tokens=8)
    text = [*trace.started.prompt_ids, *trace.finished.output_ids]
    with torch.inference_mode():
        law = reference(torch.tensor([text])).logits[0].softmax(-1)
    roots = [(round_.base_length, round_.nodes[0].target) for round_ in trace.rounds]
    for length, kept in roots:
        expected = law[length - 1, list(kept.tokens)].tolist()
        assert list(kept.probs) == pytest.approx(expected, abs=1e-5)


def test_what_is_not_ascii_comes_back_as_it_was(tokenizer: PreTrainedTokenizerFast) -> None:
    trace = run("naïve 🙂\n\t<|im_end|> 日本", drafter="none", max_new_tokens=2)
    assert "naïve 🙂\n\t<|im_end|> 日本" in trace.started.prompt_text
    assert tokenizer.decode(trace.started.prompt_ids) == trace.started.prompt_text

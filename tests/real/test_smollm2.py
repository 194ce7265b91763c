"""A real model in the engine: its greedy text with each drafter that needs no training, its law, its tokens."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

import specviz

pytestmark = [pytest.mark.real, pytest.mark.slow]

PROMPTS = {
    "fact": "What is the capital of France?",
    "copy": "Repeat this sentence twice: the quick brown fox jumps over the lazy dog.",
    "code": "Write a Python function that adds two numbers.",
    "list": "List the days of the week.",
    "extract": "Extract name, age and city as JSON: Anna Berg is 34 years old and lives in Oslo.",
}
NEW_TOKENS = 20
TRAINING_FREE = ("none", "ngram", "token_recycling", "lookahead", "suffix", "random", "jacobi")


def run(prompt: str, **settings: Any) -> specviz.Trace:
    return specviz.run(prompt, target="smollm2", chat=True, dtype="float32", **settings)


@pytest.fixture(scope="module")
def texts(reference: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> dict[str, list[int]]:
    """What `transformers.generate` writes after each prompt."""
    ids = {}
    for name, prompt in PROMPTS.items():
        asked = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        with torch.inference_mode():
            whole = reference.generate(**asked, max_new_tokens=NEW_TOKENS, do_sample=False)
        ids[name] = whole[0, asked["input_ids"].shape[1] :].tolist()
    return ids


@pytest.mark.parametrize("drafter", TRAINING_FREE)
def test_greedy_text_is_that_of_transformers(drafter: str, texts: dict[str, list[int]]) -> None:
    traces = {name: run(prompt, drafter=drafter, max_new_tokens=NEW_TOKENS) for name, prompt in PROMPTS.items()}
    assert {name: trace.finished.output_ids for name, trace in traces.items()} == texts
    drafted = sum(len(round_.nodes) - 1 for trace in traces.values() for round_ in trace.rounds)
    assert (drafted == 0) == (drafter == "none"), "a drafter that drafts nothing shows nothing"
    assert all(specviz.check(trace) == [] for trace in traces.values())


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

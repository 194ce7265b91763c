"""Sliding windows and alternating attention: a text that fits the narrowest window is decoded as transformers does it,
chain and tree, and one that would not is refused with the window in the sentence."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from specviz.errors import ModelError, PromptError
from specviz.live.source import LiveSource, collect
from specviz.lm.hub.refusals import window_of
from specviz.lm.load import load
from specviz.protocol.choice import Choice, with_choices
from specviz.protocol.runs import RunRequest
from specviz.trace.cautions import full_contexts
from specviz.trace.check import check, errors
from tests.lm.tiny_models import config_of, error, plain, random_parents, random_tokens, text_of, write_tokenizer

CLOSE = 1e-5
WINDOW = 24
MANY = 262_144
"""tokens of Gemma 3"""
WINDOWED = ["mistral", "gemma2", "gemma3_text", "gpt_oss", "olmo3"]
NO_SPECIAL = {"bos_token_id": None, "eos_token_id": None}


@pytest.fixture(params=WINDOWED)
def folder(request, checkpoint):
    return checkpoint(request.param, sliding_window=WINDOW, **NO_SPECIAL)


def test_the_narrowest_window_is_the_context(folder):
    info = load(str(folder)).info
    assert (info.adapter, info.context_length, info.window) == ("transformers", WINDOW, WINDOW)


def test_a_window_wider_than_the_positions_changes_nothing(checkpoint):
    info = load(str(checkpoint("mistral", sliding_window=60, max_position_embeddings=48))).info
    assert (info.context_length, info.window) == (48, 0)


def test_a_window_that_no_layer_has_is_none():
    assert window_of(config_of("olmo3", layer_types=["full_attention", "full_attention"])) == 0
    assert window_of(config_of("mistral", sliding_window=None)) == 0


def test_a_tree_over_a_full_window_gets_the_logits_of_each_text_on_its_own(folder):
    model, reference = load(str(folder)).model, AutoModelForCausalLM.from_pretrained(folder).eval()
    cache = model.new_cache()
    tokens, parents = random_tokens(1, WINDOW - 4), list(range(-1, WINDOW - 5))
    model.forward(tokens, cache)
    cache.keep(range(len(tokens)))
    new, links = random_tokens(2, 4), random_parents(3, len(tokens), len(tokens), 4)
    logits = model.forward(new, cache, links)
    tokens, parents = tokens + new, parents + links
    for i in range(4):
        own = plain(reference, text_of(len(tokens) - 4 + i, tokens, parents))[-1]
        assert error(logits[i], own) < CLOSE


def request_on(folder, length: int, **changes) -> RunRequest:
    words = " ".join(f"w{token}" for token in random_tokens(5, 8) if token)
    shape = {"drafter_options": {"branching": (2, 2)}, "dtype": "float32", "device": "cpu"}
    return RunRequest(
        words, str(folder), drafter_model=str(folder), max_new_tokens=length, **with_choices({**shape, **changes})
    )


def test_greedy_text_is_that_of_generate_up_to_the_last_token_of_the_window(folder):
    trace = collect(LiveSource(measure=False), request_on(folder, 40))
    prompt = trace.started.prompt_ids
    reference = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.inference_mode():
        expected = reference.generate(
            torch.tensor([prompt]), max_new_tokens=WINDOW - len(prompt), do_sample=False, pad_token_id=0
        )
    assert [*prompt, *trace.finished.output_ids] == expected[0].tolist()
    assert trace.finished.reason == "length"
    assert full_contexts(trace)[0] == (
        f"The text fills the sliding attention window of {folder.name} (24 tokens), so it ended before the 40 new "
        "tokens that were asked for."
    )


def test_a_prompt_that_does_not_fit_is_refused_with_the_window(folder):
    words = " ".join(["w1"] * 30)
    source = LiveSource(measure=False)
    with pytest.raises(PromptError, match=r"30 tokens, but the sliding attention window.* of \S+ holds 24"):
        collect(source, RunRequest(words, str(folder), drafter=Choice("none"), dtype="float32"))


def test_a_pass_beyond_the_window_is_refused(folder):
    model = load(str(folder)).model
    with pytest.raises(ModelError, match="25 tokens, but the model's context holds 24"):
        model.forward(random_tokens(0, 25), model.new_cache())


@pytest.fixture
def gemma3(checkpoint):
    """As Gemma 3 270M is shaped: of six layers five slide, one key and value head, one table for 262,144 tokens."""
    layers = ["sliding_attention"] * 5 + ["full_attention"]
    sizes = {"num_hidden_layers": 6, "num_key_value_heads": 1, "vocab_size": MANY, "tie_word_embeddings": True}
    folder = checkpoint("gemma3_text", sliding_window=WINDOW, layer_types=layers, **sizes, **NO_SPECIAL)
    write_tokenizer(folder, MANY)
    return folder


def test_gemma_3s_layers_and_its_262144_tokens_go_through_the_engine(gemma3):
    """Every token of so large a vocabulary can be drafted, judged and recorded; the text is that of `generate`."""
    trace = collect(LiveSource(measure=False), request_on(gemma3, 8))
    prompt = torch.tensor([trace.started.prompt_ids])
    reference = AutoModelForCausalLM.from_pretrained(gemma3, dtype=torch.float32).eval()
    with torch.inference_mode():
        expected = reference.generate(prompt, max_new_tokens=8, do_sample=False, pad_token_id=0)
    assert trace.finished.output_ids == expected[0, prompt.shape[1] :].tolist()
    assert max(trace.finished.output_ids) > 49_152, "tokens that a smaller vocabulary would not have"
    assert trace.started.target.vocab_size == MANY
    assert errors(check(trace)) == []

"""transformers' generation as a contestant: the same text as plain decoding, counted and timed apart."""

import sys
from pathlib import Path
from typing import Any

import pytest

from specviz.bench.speed import baselines
from specviz.protocol.runs import PromptCard

WORDS = PromptCard("p", "code", "", "", "w1 w2 w3 w4 w1 w2 w3")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> baselines.Reference:
    """Random Llamas of two layers and one, 8 new tokens."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "lm"))
    from tests.lm.tiny_models import random_model, write_tokenizer

    folders = []
    for layers in (2, 1):
        folders.append(tmp_path_factory.mktemp(f"layers{layers}"))
        random_model("llama", num_hidden_layers=layers, max_position_embeddings=256).save_pretrained(folders[-1])
        write_tokenizer(folders[-1])
    target, assistant, tokenizer = baselines.load_reference(folders[0], folders[1], "float32", "cpu")
    return baselines.Reference(target, assistant, tokenizer, max_new_tokens=8)


def decode(contestant: baselines.Generate) -> Any:
    measured = contestant.decode(WORDS, lambda: False)
    assert measured is not None
    return measured


def test_all_four_give_the_same_greedy_text(reference: baselines.Reference) -> None:
    contestants = [
        baselines.plain(reference),
        baselines.assisted(reference, 3),
        baselines.assisted_by_default(reference),
        baselines.prompt_lookup(reference, 3),
    ]
    outputs = [decode(one).output_ids for one in contestants]
    assert len(outputs[0]) > 0
    assert outputs == [outputs[0]] * 4


def test_plain_generation_takes_a_pass_per_token_the_first_with_the_prompt(reference: baselines.Reference) -> None:
    measured = decode(baselines.plain(reference))
    assert measured.counts.target_passes == len(measured.output_ids)
    assert measured.prefill_tokens == 1
    assert 0 < measured.prefill_s < measured.wall_s


def test_the_assistant_s_settings_hold_for_one_call_alone(reference: baselines.Reference) -> None:
    before = reference.assistant.generation_config
    length = before.num_assistant_tokens
    decode(baselines.assisted(reference, 3))
    assert reference.assistant.generation_config is before
    assert before.num_assistant_tokens == length


def test_sampling_switches_the_library_s_own_truncation_off() -> None:
    assert baselines.sampling_arguments(0.0) == {"do_sample": False}
    assert baselines.sampling_arguments(0.7) == {"do_sample": True, "temperature": 0.7, "top_k": 0, "top_p": 1.0}

"""A quantised checkpoint runs through transformers' own quantiser: its text, and lossless like any other.

The weights are int8 with a scale per row, in the format that most quantised checkpoints on the hub have
(compressed-tensors), made here from a tiny Llama.
"""

from pathlib import Path

import pytest
import torch
from compressed_tensors.compressors import ModelCompressor
from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config

import specviz
from specviz.lm.load import load
from tests.lm.tiny_models import error, plain, random_model, write_tokenizer

INT8_PER_ROW = {
    "config_groups": {
        "all": {
            "targets": ["Linear"],
            "weights": {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel"},
        }
    },
    "ignore": ["lm_head"],
    "format": "int-quantized",
    "quant_method": "compressed-tensors",
    "quantization_status": "frozen",
}
SIZES = {"num_key_value_heads": 2, "hidden_size": 32, "intermediate_size": 64}
PROMPT, IDS = "w1 w2 w3 w1 w2 w3 w1", [1, 2, 3, 1, 2, 3, 1]


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("int8")
    model = random_model("llama", **SIZES)
    settings = QuantizationConfig.model_validate(INT8_PER_ROW)
    apply_quantization_config(model, settings)
    for module in model.modules():
        if hasattr(module, "weight_scale"):
            module.weight_scale.data.copy_(module.weight.detach().abs().amax(1, keepdim=True) / 127)
    compressor = ModelCompressor(quantization_config=settings)
    compressor.compress_model(model)
    model.save_pretrained(folder)
    compressor.update_config(str(folder))
    write_tokenizer(folder)
    return folder


@pytest.fixture(scope="module")
def reference(quantised: Path):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(quantised, dtype=torch.float32).eval()


def test_logits_are_those_of_transformers_and_not_of_the_weights_before(quantised, reference):
    model = load(str(quantised)).model
    found = model.forward(IDS, model.new_cache())
    assert error(found, plain(reference, IDS)) < 1e-5
    assert error(found, plain(random_model("llama", **SIZES), IDS)) > 1e-3


def test_parameters_are_counted_as_those_of_the_plain_model(quantised):
    info = load(str(quantised)).info
    assert info.adapter == "transformers"
    assert info.parameters == sum(one.numel() for one in random_model("llama", **SIZES).parameters())


@pytest.mark.parametrize("policy", [{}, {"tree_policy": "eagle2"}])
def test_greedy_text_is_that_of_transformers_generate(quantised, reference, policy):
    settings = {"drafter": "model", "drafter_model": str(quantised), **policy}
    trace = specviz.run(PROMPT, target=str(quantised), max_new_tokens=16, **settings)
    expected = reference.generate(torch.tensor([IDS]), do_sample=False, max_new_tokens=16)[0, len(IDS) :]
    assert trace.finished.output_ids == expected.tolist()
    assert trace.summary.num_accepted_draft_tokens > 0
    assert specviz.check(trace) == []


def test_sampled_text_is_that_of_plain_sampling_with_the_same_numbers(quantised):
    """The naive verifier's draw at a position is that of plain decoding, so any loss would show in the text."""
    settings = {"target": str(quantised), "temperature": 0.3, "max_new_tokens": 24, "seed": 3}
    drafted = specviz.run(PROMPT, drafter="model", drafter_model=str(quantised), verifier="naive", **settings)
    assert drafted.summary.num_accepted_draft_tokens > 0
    assert drafted.finished.output_ids == specviz.run(PROMPT, drafter="none", **settings).finished.output_ids
    assert specviz.check(drafted) == []

"""Blocks that others published: a checkpoint drafts here what transformers' own DFlash drafts, round by round."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
from transformers.generation.candidate_generator import DFlashTokenCandidateGenerator
from transformers.models.muse_glimmer_assistant.configuration_muse_glimmer_assistant import MuseGlimmerAssistantConfig
from transformers.models.muse_glimmer_assistant.modeling_muse_glimmer_assistant import MuseGlimmerAssistantModel

from specviz.drafters.base import DRAFTERS
from specviz.errors import ModelError
from specviz.lm.load import load
from tests.engine import sessions
from tests.lm.tiny_models import write_tokenizer

VOCABULARY, HIDDEN, BLOCK, TOKENS = 48, 32, 5, 18
PROMPT = [3, 14, 15, 9, 26, 5]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A target and a block, both random; the block's weights are large enough to guess something."""
    torch.manual_seed(1)
    root = tmp_path_factory.mktemp("published")
    target = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=HIDDEN,
            intermediate_size=64,
            num_hidden_layers=5,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            bos_token_id=0,
            eos_token_id=1,
        )
    )
    block = MuseGlimmerAssistantModel(
        MuseGlimmerAssistantConfig(
            hidden_size=HIDDEN,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            max_position_embeddings=128,
            rope_parameters={"rope_type": "default", "rope_theta": 20000.0},
            layer_types=["full_attention"] * 2,
            block_size=BLOCK,
            mask_token_id=7,
            target_layer_ids=[1, 3],
        )
    )
    with torch.no_grad():
        for parameter in [*target.parameters(), *block.parameters()]:
            if parameter.ndim > 1:
                parameter.mul_(8.0)
    target.eval().save_pretrained(root / "target")
    block.eval().save_pretrained(root / "block")
    write_tokenizer(root / "target", VOCABULARY)
    return root


def drafted_there(folders) -> list[tuple[list[int], list[int]]]:
    """Of each round the text and what was drafted behind it, by transformers."""
    target = LlamaForCausalLM.from_pretrained(folders / "target", dtype=torch.float32).eval()
    block = MuseGlimmerAssistantModel.from_pretrained(folders / "block", dtype=torch.float32).eval()
    rounds, ask = [], DFlashTokenCandidateGenerator.get_candidates

    def noted(self, input_ids, *given, **named):
        candidates, logits = ask(self, input_ids, *given, **named)
        text = input_ids[0].tolist()
        rounds.append((text, candidates[0, len(text) :].tolist()))
        return candidates, logits

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DFlashTokenCandidateGenerator, "get_candidates", noted)
        config = GenerationConfig(max_new_tokens=TOKENS, do_sample=False, speculation_type="dflash", eos_token_id=None)
        target.generate(torch.tensor([PROMPT]), assistant_model=block, generation_config=config)
    return [(text, candidates) for text, candidates in rounds if candidates]


def session(folders, weights="block", gamma=BLOCK - 1):
    target = load(str(folders / "target")).model
    options = {"weights": str(folders / weights), "gamma": gamma}
    return sessions.session(target, DRAFTERS.get("dflash").of(options), PROMPT, TOKENS, 0.0)


def test_a_published_block_drafts_what_transformers_drafts_with_it(folders):
    this = session(folders)
    this.begin()
    here = {}
    while this.finished is None:
        text = tuple(this.tokens)
        here[text] = list(this.round().proposal.tree.tokens[1:])
    there = drafted_there(folders)
    compared = [(candidates, here[tuple(text)]) for text, candidates in there if tuple(text) in here]
    assert len(compared) > 5
    for candidates, drafted in compared:
        assert drafted == candidates[: len(drafted)]
    assert sum(len(drafted) for _, drafted in compared) > 20


def altered(folders, tmp_path, name, **changes):
    folder = tmp_path / name
    folder.mkdir()
    config = json.loads((folders / "block" / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps(config))
    save_file(load_file(folders / "block" / "model.safetensors"), folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "llama"}, "its kind is 'llama', and known are muse_glimmer_assistant, qwen3"),
        ({"speculators_model_type": "dflash"}, "its layout is that of 'dflash' of speculators"),
        ({"layer_types": ["sliding_attention"] * 2}, "some of its layers see a window"),
        ({"is_causal": True}, "it sets is_causal, which is not known here"),
        ({"hidden_size": 64}, "its hidden size is 64, and that of target is 32"),
        ({"intermediate_size": 40}, r"'layers.0.mlp.gate_proj.weight' should be \(40, 32\), but is \(48, 32\)"),
        ({"num_hidden_layers": 1}, "it holds 'layers.1.input_layernorm.weight', which is not known here"),
        ({"mask_token_id": 99}, "its mask is the token 99, and target has 48"),
        ({"block_size": None}, "its config.json lacks or misstates"),
    ],
)
def test_what_is_not_known_here_is_refused_by_its_name(folders, tmp_path, changes, reason):
    altered(folders, tmp_path, "other", **changes)
    target = load(str(folders / "target")).model
    with pytest.raises(ModelError, match=reason):
        sessions.session(target, DRAFTERS.get("dflash").of({"weights": str(tmp_path / "other")}), PROMPT, 4, 0.0)

"""From prepared text to exported models: every stage on a miniature, and what it leaves loads anywhere."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from specviz.errors import TrainingError
from specviz.training import drafter_stages, publication, stages
from specviz.training.acceptance import Acceptance, greedy_text, replay_rounds
from specviz.training.drafter import drafter_from
from specviz.training.drafter_stages import save_rows, train_drafter
from specviz.training.generation import continue_batch, corpus_rows, row_attention
from specviz.training.options import TrainOptions
from specviz.training.target import layer_outputs, model_config, new_model
from specviz.training.windows import load_stream


@pytest.fixture
def target() -> torch.nn.Module:
    model = new_model(model_config(4, 32, 2, 48, 320), seed=0).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model


def test_the_drafter_starts_from_the_target(target) -> None:
    drafter = drafter_from(target, layers=1, intermediate=16, seed=0)
    assert torch.equal(drafter.model.embed_tokens.weight, target.model.embed_tokens.weight)
    assert torch.equal(drafter.model.norm.weight, target.model.norm.weight)
    own, source = drafter.model.layers[0], target.model.layers[0]
    assert torch.equal(own.self_attn.q_proj.weight, source.self_attn.q_proj.weight)
    assert drafter.config.intermediate_size == 16


def test_generated_text_keeps_the_state_of_every_token(target) -> None:
    prefixes = torch.randint(2, 320, (3, 8))
    rows = continue_batch(target, prefixes, 20, 0.0, torch.Generator().manual_seed(0))
    assert rows.ids.shape == (3, 21)
    assert rows.states.shape == (3, 20, 32)
    ids = torch.from_numpy(rows.ids.astype("int64"))
    with torch.inference_mode():
        again = target.model.norm(layer_outputs(target, ids[:, :-1])[-1])
    torch.testing.assert_close(torch.from_numpy(rows.states).float(), again, rtol=1e-2, atol=1e-2)


def test_one_query_per_row_attends_as_the_fused_kernel_does() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 3, 1, 4), torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 4)
    found, _ = row_attention(torch.nn.Module(), query, key, value, None)
    wanted = torch.nn.functional.scaled_dot_product_attention(query, key, value).transpose(1, 2)
    assert found.shape == (2, 1, 3, 4)
    torch.testing.assert_close(found, wanted)


def test_a_perfect_drafter_has_acceptance_one(target) -> None:
    text = greedy_text(target, torch.arange(2, 12)[None], 24)
    assert replay_rounds(target, text, 10, 4).rate == 1.0


def test_acceptance_counts_add_up() -> None:
    assert Acceptance(rounds=2, drafted=8, accepted=6).rate == 0.75
    assert Acceptance(rounds=0, drafted=0, accepted=0).rate == 0


def test_a_stage_without_its_input_says_which_one_to_run(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="specviz train target"):
        drafter_stages.trained_target(TrainOptions(work_dir=tmp_path))
    with pytest.raises(TrainingError, match="specviz train prepare"):
        stages.target_loop(TrainOptions(work_dir=tmp_path, dtype="float32"))


def run_all_stages(options: TrainOptions) -> TrainOptions:
    """Target, drafter, export and measure on the miniature; prompts from its own held-out file."""
    stages.train_target(options, lambda row: None)
    stream = load_stream(options.work_dir / "train.npy")
    taught = drafter_stages.joined(
        [next(corpus_rows(drafter_stages.trained_target(options), stream, 32, 40, 0, 1.0)) for _ in range(2)]
    )
    for name in ("generated", "corpus"):
        save_rows(options.work_dir / "taught" / name, taught)
    prompts = [
        {"id": name, "family": "code", "text": "def held_1(x):\n    return x - 1"}
        for name in publication.SAMPLE_PROMPTS
    ]
    path = options.work_dir / "prompts.json"
    path.write_text(json.dumps({"prompts": prompts}), encoding="utf-8")
    options = dataclasses.replace(options, prompts=path)
    train_drafter(options, lambda row: None)
    publication.export(options, lambda row: None)
    publication.measure(options, lambda row: None)
    return options


@pytest.mark.slow
def test_exported_models_load_with_the_auto_classes_and_carry_their_card(mini_options: TrainOptions) -> None:
    options = run_all_stages(mini_options)
    for name in ("target", "drafter"):
        folder = options.out_dir / name
        model = AutoModelForCausalLM.from_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        assert model.dtype == torch.bfloat16
        assert tokenizer.decode(tokenizer("def f(x):\n    é🙂")["input_ids"]) == "def f(x):\n    é🙂"
        card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
        assert "PSF-2.0" in card
        assert "seed 0" in card
        assert str(options.work_dir) not in card
        facts = json.loads((folder / "training.json").read_text(encoding="utf-8"))
        assert facts["held_out_bits_per_byte"] > 0
        assert len(facts["held_out_nats_by_layer"]) == model.config.num_hidden_layers

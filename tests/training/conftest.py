"""Miniature corpus and models, so that the training tests need seconds and no network."""

from pathlib import Path

import pytest
from torch import nn

from specviz.corpus.standard_library import Corpus
from specviz.training.options import TrainOptions
from specviz.training.stages import prepare
from specviz.training.target import model_config, new_model
from specviz.training.windows import load_tokenizer


@pytest.fixture
def mini_options(tmp_path: Path, mini_corpus: Corpus) -> TrainOptions:
    """A prepared work folder for a model of a few thousand weights."""
    options = TrainOptions(
        work_dir=tmp_path / "work",
        out_dir=tmp_path / "out",
        layers=4,
        hidden=32,
        heads=2,
        intermediate=48,
        drafter_layers=1,
        drafter_intermediate=16,
        weak_hidden=16,
        weak_heads=2,
        weak_intermediate=16,
        weak_minutes=0,
        figure_cases=2,
        vocabulary=320,
        window=32,
        batch_tokens=128,
        tokens=128 * 12,
        minutes=0,
        drafter_minutes=0,
        grow_at=0.5,
        dtype="float32",
    )
    prepare(options, mini_corpus)
    return options


@pytest.fixture(scope="session")
def module_work(tmp_path_factory, mini_corpus) -> Path:
    """A work folder that `prepare` filled with a few kilobytes of code."""
    work = tmp_path_factory.mktemp("work")
    prepare(TrainOptions(work_dir=work, vocabulary=320), mini_corpus)
    return work


@pytest.fixture(scope="session")
def module_target(tmp_path_factory, module_work) -> Path:
    """A target that has something to say."""
    folder = tmp_path_factory.mktemp("target")
    tokenizer = load_tokenizer(module_work / "tokenizer")
    model = new_model(model_config(3, 16, 2, 24, len(tokenizer)), seed=0)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            nn.init.normal_(parameter, std=1.0 if "embed" in name else 0.3)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder

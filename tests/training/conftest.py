"""Miniature corpus and models, so that the training tests need seconds and no network."""

from pathlib import Path

import pytest

from specviz.corpus.standard_library import Corpus
from specviz.training.options import TrainOptions
from specviz.training.stages import prepare


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

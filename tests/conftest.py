"""What holds for every test: no network, no telemetry, one thread."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from specviz import resources

if TYPE_CHECKING:
    from specviz.corpus.standard_library import Corpus
    from tests.fake_source import FakeSource

# Read when torch, transformers or gradio are first imported, so they stand here and not in a fixture.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["OMP_NUM_THREADS"] = "1"

gc.disable()  # until all is imported: the collector's rounds are a quarter of what torch and gradio take for it


def pytest_configure(config: pytest.Config) -> None:
    """Of a browser test that passed only when it ran once more, the summary says why it failed at first."""
    config.option.rerun_show_tracebacks = True


def pytest_collection_finish() -> None:
    """What is imported by now stays: a million objects of torch, transformers and gradio, through which Python's
    collector would otherwise look again and again for what can go."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def fake_source() -> FakeSource:
    from tests.fake_source import FakeSource

    return FakeSource()


@pytest.fixture(scope="session")
def mini_corpus() -> Corpus:
    from tests.mini_corpus import mini_corpus

    return mini_corpus()


@pytest.fixture(autouse=True)
def nothing_shipped_is_left_out() -> Iterator[None]:
    """A page says for the rest of its process which shipped files it could not use, so a test that makes one fail
    forgets it again (`monkeypatch.setattr(resources, "LEFT_OUT", {})`)."""
    yield
    assert resources.LEFT_OUT == {}

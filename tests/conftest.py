"""What holds for every test: no network, no telemetry, one thread."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

import pytest

from specviz import resources
from tests.long_first import long_first

if TYPE_CHECKING:
    from specviz.corpus.standard_library import Corpus
    from tests.fake_source import FakeSource

# Read when torch, transformers or gradio are first imported, so they stand here and not in a fixture.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("SPECVIZ_DTYPE", "float32")  # the same on every processor; `SPECVIZ_DTYPE=auto make test`

gc.disable()  # until all is imported: the collector's rounds are a quarter of what torch and gradio take for it


def pytest_configure(config: pytest.Config) -> None:
    """Of a browser test that passed only when it ran once more, the summary says why it failed at first."""
    config.option.rerun_show_tracebacks = True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Among the processes of `make test`."""
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    if processes == 1:
        return
    modules = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
    kinds = [
        next((k for k in ("browser", "slow") if any(t.get_closest_marker(k) for t in tests)), "") for tests in modules
    ]
    order = long_first([(len(tests), kind) for tests, kind in zip(modules, kinds, strict=True)], processes)
    items[:] = [test for i in order for test in modules[i]]


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

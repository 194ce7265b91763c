"""Fixtures shared by the tests of language models."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from specviz.lm.llama.replay import Replays, direct
from specviz.lm.load import load
from tests.lm.tiny_models import Make, random_model, write_tokenizer
from tests.processors.processors import processor

__all__ = ["processor"]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """checkpoint("llama", num_key_value_heads=2) → folder with config, safetensors and tokenizer."""
    made: dict[str, Path] = {}

    def make(kind: str, **changes: object) -> Path:
        key = f"{kind} {sorted(changes.items())}"
        if key not in made:
            folder = tmp_path_factory.mktemp(f"tiny-{kind}")
            random_model(kind, **changes).save_pretrained(folder)
            write_tokenizer(folder)
            made[key] = folder
        return made[key]

    return make


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def recorded() -> Counter[str]:
    """How often a replayed model recorded a body, under `passes`."""
    return Counter()


@pytest.fixture
def models(checkpoint: Make, recorded: Counter[str]) -> tuple[Any, Any]:
    """(plain, replayed) of the same weights."""

    def record(run: Callable[[], None]) -> Callable[[], None]:
        recorded["passes"] += 1
        return _as_a_graph(run)

    folder = str(checkpoint("llama", num_key_value_heads=2, max_position_embeddings=600))
    plain, fixed = load(folder).model, load(folder).model
    fixed.replays = Replays(fixed, record)
    return plain, fixed


def _as_a_graph(run: Any) -> Callable[[], None]:
    """A replay whose results lie where the first ones lay, as those of a CUDA graph do."""
    fixed, replay = run.__self__, direct(run)

    def again() -> None:
        held = fixed._results
        replay()
        for old, new in zip(held, fixed._results, strict=bool(held)):
            old.copy_(new)
        fixed._results = held or fixed._results

    return again

"""Fixtures shared by the tests of language models."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.lm.tiny_models import Make, random_model, write_tokenizer


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

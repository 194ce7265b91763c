"""SmolLM2-135M-Instruct as `make test` fetched it; where it is missing, its tests are skipped and say so."""

from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.errors import ModelError
from specviz.lm.fetched import SMOLLM2


@pytest.fixture(scope="session")
def folder() -> Path:
    try:
        return SMOLLM2.fetched()
    except ModelError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def reference(folder: Path) -> LlamaForCausalLM:
    """The model as transformers runs it."""
    return LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@pytest.fixture(scope="session")
def tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    return AutoTokenizer.from_pretrained(folder)

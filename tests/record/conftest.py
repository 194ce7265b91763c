"""Two tiny models and their tokenizer, for tests of what `specviz.record` sees of them."""

from typing import Any

import pytest
import torch

from tests.lm.tiny_models import random_model, write_tokenizer


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder)
    return PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), eos_token="<end>")


@pytest.fixture(scope="module")
def pair() -> tuple[Any, Any]:
    """A target, and a drafter that is the target with a little noise: it is right about half of the time."""
    target, drafter = (random_model("llama", max_position_embeddings=128, pad_token_id=0) for _ in range(2))
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in drafter.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.02)
    return target, drafter


@pytest.fixture(autouse=True)
def settings(pair: tuple[Any, Any]) -> None:
    torch.set_num_threads(1)
    pair[1].generation_config.num_assistant_tokens = 5  # generate keeps its last value there
    pair[1].generation_config.num_assistant_tokens_schedule = "heuristic"
    pair[1].generation_config.assistant_confidence_threshold = 0.0  # or random models draft one token at a time

"""Loading holds weights once, or once in each of two formats: it takes little more memory than the model itself."""

import json
import subprocess
import sys
from math import prod
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from specviz.core import compiled
from specviz.lm.llama.few_rows import SOURCE
from specviz.lm.llama.shape import LlamaShape
from tests.lm.tiny_models import write_tokenizer

WIDTHS = {"float32": 4, "bfloat16": 2}
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816,
    "num_hidden_layers": 5, "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 4000,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "bos_token_id": 0,
    "eos_token_id": 0, "dtype": "bfloat16",
}  # fmt: skip


@pytest.fixture(scope="module")
def medium(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A Llama checkpoint in bfloat16, and how many numbers it holds: 130 MB."""
    folder = tmp_path_factory.mktemp("medium")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    write_tokenizer(folder, CONFIG["vocab_size"])
    sizes = LlamaShape.from_config(CONFIG).weight_sizes()
    weights = {name: torch.full(size, 0.01, dtype=torch.bfloat16) for name, size in sizes.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder, sum(prod(size) for size in sizes.values())


MOST = {
    # as it is stored too where there is a compiler, half of it again; a layer under way, a few weights that are timed,
    # holes: 1.2 to 1.4 without, 1.5 to 1.6 with
    "lean-llama:float32": 1.6 if compiled.library(SOURCE) is None else 1.8,
    "lean-llama:bfloat16": 1.25,
    "transformers:float32": 1.25,
}
"""how it is loaded → at most so many times its weights in that format"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux, which tells a process its peak")
def test_a_process_that_loads_a_checkpoint_holds_its_weights_once(medium):
    """Kept open while they were converted, its files were there too: 1.5 to 2.3 times as much."""
    folder, numbers = medium
    command = [sys.executable, "-m", "tests.lm.peak_memory", str(folder), *MOST]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    times = [
        int(line) / (numbers * WIDTHS[way.partition(":")[2]])
        for way, line in zip(MOST, done.stdout.split(), strict=True)
    ]
    assert [f"{way}: {more:.2f}" for (way, most), more in zip(MOST.items(), times, strict=True) if more > most] == []

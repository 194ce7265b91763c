"""Targets that do not fit one device: layers in several places, matrices over several processes.

Only a CPU is here, so the places are this memory and the disk, and the processes speak through gloo.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import specviz
from specviz.errors import ModelError
from specviz.live.models import Models
from specviz.live.plan import make_plan
from specviz.lm import place
from specviz.lm.base import Blocks
from specviz.lm.load import load
from specviz.lm.place import one_device, read_spread
from specviz.protocol.runs import RunRequest
from tests.lm.tiny_models import error

HALF_ON_DISK = {
    "model.embed_tokens": "disk",
    "model.layers.0": "cpu",
    "model.layers.1": "disk",
    "model.norm": "cpu",
    "model.rotary_emb": "cpu",
    "lm_head": "disk",
}
LLAMA = {"num_key_value_heads": 2}


def logits(model) -> torch.Tensor:
    """Of a tree whose middle branch is kept, and of the token after it: rows of the cache move on every device."""
    cache = model.new_cache()
    model.forward([1, 2, 3], cache)
    cache.keep([0, 1, 2])
    tree = model.forward([5, 6, 7, 8], cache, [2, 2, 4, 4])
    cache.keep([4, 6])
    return torch.cat([tree, model.forward([9], cache)])


@pytest.mark.parametrize(
    ("device", "adapter"),
    [
        ("map:auto", "transformers, layers on cpu"),
        ('map:{"": "cpu"}', "transformers, layers on cpu"),
        (f"map:{json.dumps(HALF_ON_DISK)}", "transformers, layers on disk, cpu"),
    ],
)
def test_layers_in_several_places_give_the_logits_of_one(checkpoint, device, adapter):
    folder = str(checkpoint("llama", **LLAMA))
    whole, parted = load(folder, adapter="transformers").model, load(folder, device=device).model
    assert parted.info.adapter == adapter
    assert parted.info.parameters == whole.info.parameters
    assert parted.device.type == "cpu"
    assert error(logits(parted), logits(whole)) == 0.0


def test_tables_and_states_of_a_model_on_disk_can_be_read(checkpoint):
    """Drafters that work on the target's states ask for them."""
    folder = str(checkpoint("llama", **LLAMA))
    whole, parted = load(folder, adapter="transformers").model, load(folder, device='map:{"": "disk"}').model
    assert torch.equal(parted.embedding(), whole.embedding())
    assert torch.equal(parted.head(), whole.head())
    assert parted.why_not_split(Blocks.first(1)) is None
    for model in (whole, parted):
        cache = model.new_cache()
        model.watch(cache, [0, 1, 2])
        model.forward([1, 2, 3], cache)
        model.states = model.seen(cache)
    assert torch.equal(parted.states, whole.states)


def test_a_drafter_beside_a_spread_target_goes_to_one_device():
    assert [one_device(device) for device in ("map:auto", "tp:auto", "cuda:1")] == ["auto", "auto", "cuda:1"]
    asked: list[tuple[str, str]] = []

    def load_instead(name: str, device: str, dtype: str):
        asked.append((name, device))
        return load(name, device="cpu")

    request = RunRequest("x", device="map:auto")
    Models(load_instead).participants(request, make_plan(request).drafter)
    assert asked == [("target", "map:auto"), ("drafter", "auto")]


def test_without_accelerate_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(place, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"accelerate, which is not installed: pip install 'specviz\[large\]'\."):
        read_spread("map:auto")


@pytest.mark.parametrize("written", ["", "everywhere", "[]", "{}", '{"": true}', '{"": [0]}', "{"])
def test_a_device_map_that_is_none_is_refused_with_what_there_is(written):
    with pytest.raises(
        ModelError, match=r"there is no device map .*choose auto, balanced, sequential, or write a JSON"
    ):
        read_spread(f"map:{written}")


def test_the_lean_forward_is_not_spread(checkpoint):
    with pytest.raises(ModelError, match="because it is to be spread over several places; use the adapter"):
        load(str(checkpoint("llama")), device="map:auto", adapter="lean-llama")


def test_processes_that_torchrun_did_not_start_share_nothing(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    with pytest.raises(ModelError, match="write torchrun --nproc-per-node 2 -m specviz in place of specviz"):
        read_spread("tp:auto")


def test_a_model_that_transformers_cannot_cut_says_so_before_its_weights_are_read(checkpoint, monkeypatch):
    for name, value in {"TORCHELASTIC_RUN_ID": "test", "WORLD_SIZE": "1", "RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ModelError, match=r"no plan by which .* could be cut over processes; .*--device-map auto"):
        load(str(checkpoint("gpt2")), device="tp:auto")


@pytest.mark.slow
def test_a_target_cut_over_two_processes_writes_the_text_of_one(checkpoint, tmp_path):
    """With a drafter that has a model of its own, and trees, of which rows are kept and dropped on both ranks; the text
    is printed once."""
    folder, draft = checkpoint("llama", **LLAMA), checkpoint("llama", hidden_size=16, **LLAMA)
    settings = {"drafter": "model", "drafter_model": str(draft), "tree_policy": "eagle2", "max_new_tokens": 12}
    prompt = "w1 w2 w3 w4"
    expected = specviz.run(prompt, target=str(folder), **settings)
    flags = ["--drafter", "model", "--drafter-model", str(draft), "--tree-policy", "eagle2"]
    cut = ["--max-new-tokens", "12", "--tp", "auto", "--json", "--trace", str(tmp_path / "cut.json")]
    typed = ["run", "--target", str(folder), *flags, "--prompt", prompt, *cut]
    command = [sys.executable, "-m", "tests.lm.two_ranks", *typed]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["output_ids"] == expected.finished.output_ids
    assert found["target"]["adapter"] == "transformers, cut over 2 processes"
    assert found["target"]["parameters"] == expected.started.target.parameters
    assert found["summary"]["num_accepted_draft_tokens"] == expected.summary.num_accepted_draft_tokens
    assert specviz.check(specviz.read(tmp_path / "cut.json")) == []

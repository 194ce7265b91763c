"""From a name to a model; everything that can go wrong is one sentence."""

import json
import shutil
import subprocess
import sys
import time
import weakref
from math import prod

import pytest
import torch

from specviz.errors import ModelError
from specviz.lm import place
from specviz.lm.checkpoint import INDEX, StoredTensors, read_config, weight_files
from specviz.lm.hub import refusals as hub_refusals
from specviz.lm.load import load
from tests.lm.tiny_models import random_tokens, write_tokenizer


def copy_of(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def with_config(folder, tmp_path, **changes):
    copy = copy_of(folder, tmp_path)
    config = json.loads((copy / "config.json").read_text())
    kept = {name: value for name, value in {**config, **changes}.items() if value is not None}
    (copy / "config.json").write_text(json.dumps(kept))
    return copy


def test_a_llama_folder_gets_the_lean_forward(checkpoint):
    loaded = load(str(checkpoint("llama")))
    assert loaded.info.adapter == "lean-llama"
    assert loaded.info.architecture == "LlamaForCausalLM"
    assert (loaded.info.layers, loaded.info.hidden_size, loaded.info.context_length) == (2, 24, 48)
    assert loaded.info.dtype == "float32"
    assert loaded.info.eos_ids == (0,)
    assert loaded.tokenizer.encode("w7") == [7]


def test_other_architectures_get_transformers(checkpoint):
    loaded = load(str(checkpoint("gpt2")))
    assert loaded.info.adapter == "transformers"
    assert loaded.info.architecture == "GPT2LMHeadModel"
    assert (loaded.info.layers, loaded.info.hidden_size, loaded.info.context_length) == (2, 24, 48)


def test_both_adapters_count_the_same_parameters(checkpoint):
    folder = str(checkpoint("llama", tie_word_embeddings=True))
    assert load(folder).info.parameters == load(folder, adapter="transformers").info.parameters


def test_scaled_rotations_go_to_transformers_or_say_why_not(checkpoint):
    scaled = {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}}
    folder = str(checkpoint("llama", **scaled))
    assert load(folder).info.adapter == "transformers"
    with pytest.raises(ModelError, match=r"its rotary embedding is scaled \('linear'\)"):
        load(folder, adapter="lean-llama")


def test_padding_rows_are_no_tokens(checkpoint, tmp_path):
    folder = copy_of(checkpoint("llama"), tmp_path)
    write_tokenizer(folder, 50)
    for adapter in ("lean-llama", "transformers"):
        loaded = load(str(folder), adapter=adapter)
        assert loaded.info.vocab_size == 50
        assert loaded.model.forward(random_tokens(0, 3), loaded.model.new_cache()).shape == (3, 50)


def test_the_hash_names_the_weights(checkpoint):
    tied, untied = checkpoint("llama", tie_word_embeddings=True), checkpoint("llama", tie_word_embeddings=False)
    assert load(str(tied)).info.weights_sha256 == load(str(tied)).info.weights_sha256
    assert load(str(tied)).info.weights_sha256 != load(str(untied)).info.weights_sha256


def test_a_folder_is_named_without_its_path(checkpoint):
    folder = checkpoint("llama")
    assert load(str(folder)).info.name == folder.name


WEIGHTS = "model.safetensors"
DAMAGES = {
    "only pickled weights, which can run code": lambda folder: (folder / WEIGHTS).rename(folder / "pytorch_model.bin"),
    r"no \*\.safetensors file": lambda folder: (folder / WEIGHTS).unlink(),
    "weights of copy cannot be read": lambda folder: (folder / WEIGHTS).write_bytes(b"garbage!" * 9),
}


@pytest.mark.parametrize("sentence", DAMAGES)
def test_weights_that_cannot_be_read_say_why(checkpoint, tmp_path, sentence):
    folder = copy_of(checkpoint("llama"), tmp_path)
    DAMAGES[sentence](folder)
    with pytest.raises(ModelError, match=sentence):
        load(str(folder))


CHUNKED = {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "attention_chunk_size": 8}


@pytest.mark.parametrize(
    ("adapter", "changes", "sentence"),
    [
        ("lean-llama", {"num_hidden_layers": 3}, r"layers.2.input_layernorm.weight should be \(24,\), but is missing"),
        ("lean-llama", {"hidden_size": 32, "head_dim": 8}, r"embed_tokens.weight should be \(60, 32\), but is \(60"),
        ("auto", {"num_hidden_layers": None}, "'num_hidden_layers'"),
        ("auto", CHUNKED, "attends in chunks of 8 tokens"),
    ],
    ids=["a layer too many", "another width", "a size is missing", "attention in chunks"],
)
def test_a_config_that_does_not_fit_says_what(checkpoint, tmp_path, adapter, changes, sentence):
    with pytest.raises(ModelError, match=sentence):
        load(str(with_config(checkpoint("llama"), tmp_path, **changes)), adapter=adapter)


def test_the_index_decides_which_of_several_files_count(checkpoint, tmp_path):
    """Some repositories carry the same weights a second time under another name."""
    folder = copy_of(checkpoint("llama"), tmp_path)
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    shutil.copy(folder / "model-1.safetensors", folder / "consolidated.safetensors")
    (folder / INDEX).write_text(json.dumps({"weight_map": {"model.norm.weight": "model-1.safetensors"}}))
    assert weight_files(folder, "copy") == [folder / "model-1.safetensors"]
    (folder / "model-1.safetensors").unlink()
    with pytest.raises(ModelError, match=r"copy lacks model-1\.safetensors"):
        weight_files(folder, "copy")


@pytest.mark.parametrize(("content", "message"), [("{", "not valid JSON"), ("[]", "not an object")])
def test_a_damaged_config_says_so(tmp_path, content, message):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ModelError, match=message):
        load(str(tmp_path))


def test_an_empty_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(ModelError, match=r"has no config\.json"):
        load(str(tmp_path))


def test_code_of_a_checkpoint_is_never_run(checkpoint, tmp_path):
    changes = {"architectures": ["Mine"], "model_type": "mine", "auto_map": {"AutoConfig": "mine.Config"}}
    folder = with_config(checkpoint("llama"), tmp_path, **changes)
    (folder / "mine.py").write_text("raise SystemExit('this code ran')")
    with pytest.raises(ModelError, match="transformers cannot load copy"):
        load(str(folder))


@pytest.mark.parametrize(("name", "shown"), [("nonsense", "nonsense"), ("x" * 500, "x{200}")], ids=["short", "long"])
def test_a_name_that_is_nothing_lists_what_there_is(name, shown):
    """The system's own error for a folder's name of hundreds of letters came out in place of a sentence."""
    with pytest.raises(ModelError, match=f"there is no model '{shown}': it is neither bundled"):
        load(name)


def test_a_hub_id_without_network_is_one_sentence_with_a_cure(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match=r"nobody/nothing is not in the local hub cache.* unset HF_HUB_OFFLINE"):
        load("nobody/nothing")


def test_a_model_that_cannot_be_used_is_refused_before_its_weights_are_downloaded(checkpoint, tmp_path, monkeypatch):
    folder = with_config(checkpoint("llama"), tmp_path, **CHUNKED)
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(place, "from_hub", lambda name, patterns: asked.append(tuple(patterns)) or folder)
    with pytest.raises(ModelError, match="some/mistral cannot be used because it attends in chunks of 8 tokens"):
        load("some/mistral")
    assert asked == [("*.json", "*.jinja")]


def test_a_hub_model_is_fetched_in_two_steps(checkpoint, monkeypatch):
    asked: list[tuple[str, ...]] = []
    folder = checkpoint("llama")
    monkeypatch.setattr(place, "from_hub", lambda name, patterns: asked.append(tuple(patterns)) or folder)
    assert load("some/llama").info.name == "some/llama"
    assert asked == [("*.json", "*.jinja"), ("*.json", "*.jinja", "model*.safetensors")]


def test_a_device_that_is_not_there_is_an_error():
    missing = "mps" if not torch.backends.mps.is_available() else "cuda"
    with pytest.raises(ModelError, match=f"no usable {missing} device"):
        place.choose_device(missing)
    with pytest.raises(ModelError, match="there is no device 'tpu'"):
        place.choose_device("tpu")


@pytest.fixture
def auto_by_processor(monkeypatch):
    """Tests say what `auto` stands for; these ask what it would take."""
    monkeypatch.delenv("SPECVIZ_DTYPE", raising=False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)


@pytest.mark.usefixtures("auto_by_processor")
@pytest.mark.parametrize(
    ("stored", "by", "width", "expected", "why"),
    [
        ("bfloat16", "AMX", 1024, torch.bfloat16, "width 1024 and this processor multiplies it (AMX)"),
        ("bfloat16", "AVX512-BF16", 1024, torch.bfloat16, "width 1024 and this processor multiplies it (AVX512-BF16)"),
        ("bfloat16", "AMX", 768, torch.float32, "width 768, and bfloat16 pays from 1024 on"),
        (
            "bfloat16",
            "",
            4096,
            torch.float32,
            "this processor does not multiply bfloat16 (neither AMX nor AVX512-BF16)",
        ),
        ("float32", "AMX", 4096, torch.float32, "its weights are stored so"),
    ],
)
def test_auto_dtype_goes_by_what_processor_and_model_declare_and_says_so(monkeypatch, stored, by, width, expected, why):
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: by == "AMX")
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: by == "AVX512-BF16")
    cpu = torch.device("cpu")
    for size in ("hidden_size", "n_embd"):
        assert place.choose_dtype("auto", cpu, {"dtype": stored, size: width}) == (expected, why)
        assert place.choose_dtype("auto", cpu, {"torch_dtype": stored, size: width}) == (expected, why)
    assert place.choose_dtype("bfloat16", cpu, {"dtype": stored}) == (torch.bfloat16, "")


@pytest.mark.usefixtures("auto_by_processor")
def test_other_devices_take_what_is_stored_or_float32():
    stored = {"dtype": "bfloat16", "hidden_size": 8}
    assert place.choose_dtype("auto", torch.device("cuda"), stored) == (torch.bfloat16, "its weights are stored so")
    assert place.choose_dtype("auto", torch.device("mps"), stored) == (
        torch.float32,
        "shorter formats are not tried on the device mps",
    )


@pytest.mark.usefixtures("auto_by_processor")
@pytest.mark.parametrize(("compiled", "least"), [(True, 384), (False, 1024)])
def test_auto_takes_bfloat16_for_narrower_models_where_passes_over_few_rows_are_compiled(monkeypatch, compiled, least):
    monkeypatch.setattr(place, "passes_are_compiled", lambda: compiled)
    config = {"dtype": "bfloat16", "architectures": ["LlamaForCausalLM"]}
    chosen = [
        place.choose_dtype("auto", torch.device("cpu"), config | {"hidden_size": size}) for size in (least - 1, least)
    ]
    assert chosen == [
        (torch.float32, f"width {least - 1}, and bfloat16 pays from {least} on"),
        (torch.bfloat16, f"width {least} and this processor multiplies it (AMX)"),
    ]


def test_passes_are_compiled_where_a_compiler_is_at_hand(monkeypatch):
    monkeypatch.setattr(place, "library", lambda source: object())
    assert place.passes_are_compiled()
    monkeypatch.setattr(place, "library", lambda source: None)
    assert not place.passes_are_compiled()


def test_a_loaded_model_says_why_auto_took_its_format_and_nothing_where_one_was_asked_for(monkeypatch):
    monkeypatch.delenv("SPECVIZ_DTYPE")
    monkeypatch.setattr(place, "passes_are_compiled", lambda: False)
    assert load("drafter").info.dtype_why == "width 384, and bfloat16 pays from 1024 on"
    assert load("drafter", dtype="float32").info.dtype_why == ""


@pytest.mark.usefixtures("auto_by_processor")
def test_auto_dtype_asks_no_clock_and_takes_bfloat16_for_the_bundled_pair(monkeypatch):
    monkeypatch.setattr(place, "passes_are_compiled", lambda: True)
    for name in ("perf_counter", "monotonic", "process_time", "time"):
        monkeypatch.setattr(time, name, lambda: pytest.fail("asked a clock"))
    configs = {name: read_config(folder, name) for name, folder in place.bundled_models().items()}
    taken = {name: place.choose_dtype("auto", torch.device("cpu"), config)[0] for name, config in configs.items()}
    assert [name for name, dtype in taken.items() if dtype == torch.bfloat16] == ["drafter", "target"]


def test_the_environment_says_what_auto_stands_for(monkeypatch):
    wide = {"dtype": "bfloat16", "hidden_size": 4096}
    for said, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        monkeypatch.setenv("SPECVIZ_DTYPE", said)
        assert place.choose_dtype("auto", torch.device("cpu"), wide) == (dtype, "SPECVIZ_DTYPE says so")
        assert place.choose_dtype("float16", torch.device("cpu"), wide) == (torch.float16, "")
    monkeypatch.setenv("SPECVIZ_DTYPE", "int3")
    with pytest.raises(ModelError, match="SPECVIZ_DTYPE is 'int3'; choose auto, float32, bfloat16, float16"):
        place.choose_dtype("auto", torch.device("cpu"), wide)


def test_unknown_dtypes_and_adapters_are_errors(checkpoint):
    with pytest.raises(ModelError, match="there is no dtype 'int3'"):
        load(str(checkpoint("llama")), dtype="int3")
    with pytest.raises(ModelError, match="there is no adapter 'fast'"):
        load(str(checkpoint("llama")), adapter="fast")


@pytest.mark.slow
def test_a_run_on_the_lean_path_never_imports_transformers_nor_the_shape_of_a_drafter_torchs_compiler(checkpoint):
    """They take longer to import than such a run takes; training, which needs them, is behind the same source."""
    code = (
        "import sys; from specviz.live.source import LiveSource, collect; "
        "from specviz.protocol.choice import Choice; from specviz.protocol.runs import RunRequest; "
        "collect(LiveSource(), RunRequest('w1 w2 w1', target=sys.argv[1], drafter=Choice('ngram'), max_new_tokens=2)); "
        "from specviz.drafters.learned.module import MODULES, TargetParts, outline; from specviz.lm.load import load; "
        "parts = TargetParts.of(load(sys.argv[1]).model); "
        "[outline(MODULES.get(name), parts, MODULES.get(name).options_type()) for name in sys.argv[2:]]; "
        "sys.exit(str({'transformers', 'gradio', 'torch._dynamo', 'sympy'} & {*sys.modules} or ''))"
    )
    folder = str(checkpoint("llama", num_hidden_layers=4))
    done = subprocess.run(
        [sys.executable, "-c", code, folder, "dflash", "dspark", "eagle"], check=False, capture_output=True, text=True
    )
    assert done.stderr.strip() == ""


def test_weights_that_are_converted_are_held_once(checkpoint, monkeypatch):
    """Of the tensors as they come from the files, only those of one layer are there at a time, beside the embedding
    and the head: six layers in another format once took twice their memory."""
    alive: weakref.WeakSet[torch.Tensor] = weakref.WeakSet()
    counts: list[int] = []
    read = StoredTensors.as_stored

    def noted(self: StoredTensors, key: str) -> torch.Tensor:
        tensor = read(self, key)
        alive.add(tensor)
        counts.append(len(alive))
        return tensor

    monkeypatch.setattr(StoredTensors, "as_stored", noted)
    loaded = load(str(checkpoint("llama", num_hidden_layers=6)), dtype="bfloat16")
    assert len(counts) == 6 * 9 + 3
    assert max(counts) <= 9 + 3 + 6 * 2, "a layer's own nine, embedding, norm and head, and the norms that stay"
    assert loaded.info.parameters == sum(prod(size) for size in loaded.model.shape.weight_sizes().values())


@pytest.mark.parametrize(
    ("method", "packages"), [("bitsandbytes", "bitsandbytes accelerate"), ("compressed-tensors", "compressed-tensors")]
)
def test_a_quantised_checkpoint_says_what_to_install_before_its_weights_are_read(
    checkpoint, tmp_path, monkeypatch, method, packages
):
    monkeypatch.setattr(hub_refusals, "find_spec", lambda name: None)
    folder = with_config(checkpoint("llama"), tmp_path, quantization_config={"quant_method": method})
    (folder / "model.safetensors").unlink()
    sentence = rf"its weights are quantised \('{method}'\) and .*; install what is missing: pip install {packages}\."
    with pytest.raises(ModelError, match=sentence):
        load(str(folder))


def test_nothing_is_missing_where_the_packages_are_there_or_the_weights_are_plain(monkeypatch):
    monkeypatch.setattr(hub_refusals, "find_spec", lambda name: name)
    assert hub_refusals.what_to_install({"quantization_config": {"quant_method": "gptq"}}) is None
    monkeypatch.setattr(hub_refusals, "find_spec", lambda name: None)
    assert hub_refusals.what_to_install({}) is None
    assert hub_refusals.what_to_install({"quantization_config": {"quant_method": "new"}}) is None

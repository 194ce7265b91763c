"""A GGUF file is the checkpoint it was made from, number for number; what the engine does not run is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

from specviz.errors import ModelError
from specviz.lm.gguf import _halves, is_gguf, unpacked
from specviz.lm.load import load
from specviz.lm.place import chosen_format
from tests.lm.tiny_models import error, plain

gguf = pytest.importorskip("gguf", reason="the extra gguf is not installed")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "cache"))


WORDS = ["<end>", "a", "b", "c", "ab", "Ġ", "Ġa", "d"]
MERGES = ["a b", "Ġ a"]
SIZES = {
    "token_embd": (8, 32), "output_norm": (32,), "blk.0.attn_norm": (32,), "blk.0.ffn_norm": (32,),
    "blk.0.attn_q": (32, 32), "blk.0.attn_k": (16, 32), "blk.0.attn_v": (16, 32), "blk.0.attn_output": (32, 32),
    "blk.0.ffn_gate": (64, 32), "blk.0.ffn_up": (64, 32), "blk.0.ffn_down": (32, 64),
}  # fmt: skip


def numbers(name: str) -> np.ndarray:
    """Small whole numbers, which every type holds exactly, other ones for every tensor."""
    size = SIZES[name]
    return ((np.arange(np.prod(size)) * 7 + len(name)) % 13 - 6).reshape(size).astype(np.float32)


def made(
    path: Path, family: str = "llama", types: str = "F32", extra: dict[str, str] | None = None, odd: str = ""
) -> Path:
    """A model of one layer with four query heads over two key heads."""
    writer = gguf.GGUFWriter(path, family)
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(WORDS)
    writer.add_token_types([gguf.TokenType.CONTROL, *[gguf.TokenType.NORMAL] * 7])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_chat_template("{{ messages[0]['content'] }}")
    for key, value in (extra or {}).items():
        writer.add_string(key, value)
    kind = getattr(gguf.GGMLQuantizationType, types)
    for name in SIZES:
        values = numbers(name)
        if values.ndim > 1 and kind != gguf.GGMLQuantizationType.F32:
            writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(f"{name}.weight", values)
    if odd:
        writer.add_tensor(odd, np.zeros(4, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_rows_of_a_head_come_back_from_pairs_to_halves() -> None:
    rows = torch.tensor([[0.0], [2.0], [1.0], [3.0], [4.0], [6.0], [5.0], [7.0]])
    assert _halves(rows, heads=2).flatten().tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_every_tensor_has_its_numbers_under_its_name(tmp_path: Path) -> None:
    folder = unpacked(made(tmp_path / "tiny.gguf"))
    found = load_file(folder / "model.safetensors")
    assert found["model.embed_tokens.weight"].tolist() == numbers("token_embd").tolist()
    assert found["model.layers.0.mlp.down_proj.weight"].tolist() == numbers("blk.0.ffn_down").tolist()
    assert found["model.norm.weight"].tolist() == numbers("output_norm").tolist()
    key = torch.from_numpy(numbers("blk.0.attn_k"))  # two heads of eight rows
    assert found["model.layers.0.self_attn.k_proj.weight"][:8].tolist() == key[[0, 2, 4, 6, 1, 3, 5, 7]].tolist()
    assert found["model.layers.0.self_attn.v_proj.weight"].tolist() == numbers("blk.0.attn_v").tolist()
    assert len(found) == 11


def test_its_configuration_and_tokenizer_are_those_of_the_metadata(tmp_path: Path) -> None:
    folder = unpacked(made(tmp_path / "tiny.gguf"))
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    assert (config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]) == (4, 2, 8)
    assert (config["tie_word_embeddings"], config["dtype"], config["rope_theta"]) == (True, "float32", 10_000.0)
    assert (folder / "chat_template.jinja").read_text() == "{{ messages[0]['content'] }}"
    assert json.loads((folder / "tokenizer.json").read_text())["model"]["merges"] == [["a", "b"], ["Ġ", "a"]]


def test_a_sentence_says_how_a_file_is_kept_and_in_what_it_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPECVIZ_DTYPE", raising=False)
    monkeypatch.setattr("specviz.lm.place.passes_are_compiled", lambda: True)
    blocks, plain_file = made(tmp_path / "tiny.gguf", types="Q8_0"), made(tmp_path / "half.gguf", types="F16")
    said = "tiny: kept as Q8_0 blocks, unpacked to bfloat16; computes in float32"
    assert chosen_format(str(blocks), "cpu", "float32") == f"{said}."
    assert chosen_format(str(blocks), "cpu") == f"{said}: width 32, and bfloat16 pays from 384 on."
    assert chosen_format(str(plain_file), "cpu", "bfloat16") == "half: kept as float16; computes in bfloat16."
    assert chosen_format("target") == chosen_format("owner/model") == ""


@pytest.mark.parametrize(("types", "dtype"), [("F16", torch.float16), ("Q8_0", torch.bfloat16)])
def test_blocks_are_unpacked_once(tmp_path: Path, types: str, dtype: torch.dtype) -> None:
    file = made(tmp_path / "tiny.gguf", types=types)
    folder = unpacked(file)
    found = load_file(folder / "model.safetensors")["model.layers.0.mlp.up_proj.weight"]
    assert found.dtype == dtype
    assert torch.allclose(found.float(), torch.from_numpy(numbers("blk.0.ffn_up")), atol=0.04)
    before = (folder / "model.safetensors").stat().st_mtime_ns
    assert unpacked(file) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"family": "qwen2"}, "of the family 'qwen2'; of GGUF files SpecViz runs the Llama family alone"),
        ({"extra": {"llama.rope.scaling.type": "yarn"}}, "has experts or a scaled rotary embedding"),
        ({"odd": "rope_freqs.weight"}, "holds the tensor 'rope_freqs.weight', which a plain Llama does not have"),
    ],
)
def test_what_the_engine_does_not_run_is_refused(tmp_path: Path, told: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        unpacked(made(tmp_path / "odd.gguf", **told))
    assert list((tmp_path / "cache" / "gguf").iterdir()) == []


@pytest.mark.parametrize("kept", [0, 3, 40, 700])
def test_a_file_that_is_cut_off_is_a_sentence(tmp_path: Path, kept: int) -> None:
    file = made(tmp_path / "tiny.gguf")
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(ModelError, match=r"^tiny\.gguf is (no GGUF file, or )?a damaged (one|GGUF file)"):
        unpacked(file)


def test_a_file_is_a_target_like_a_folder(tmp_path: Path) -> None:
    """The same logits as transformers', and a name without the machine's path."""
    file = made(tmp_path / "tiny.gguf")
    loaded = load(str(file), device="cpu")
    assert (loaded.info.name, loaded.info.adapter, loaded.info.dtype) == ("tiny", "lean-llama", "float32")
    reference = LlamaForCausalLM.from_pretrained(unpacked(file)).eval()
    logits = plain(reference, [1, 4, 2, 7])
    assert error(loaded.model.forward([1, 4, 2, 7], loaded.model.new_cache()), logits) < 1e-6 * logits.abs().max()


def test_a_name_is_a_file_only_where_it_is_there(tmp_path: Path) -> None:
    made(tmp_path / "tiny.gguf")
    assert is_gguf(str(tmp_path / "tiny.gguf"))
    assert not is_gguf(str(tmp_path / "other.gguf"))
    assert not is_gguf("owner/model.gguf")

"""A GGUF file of the Llama family as an ordinary checkpoint folder: unpacked once into the user's cache.

Place in the flow: `place.locate` asks for names that are such files. What is loaded, hashed and audited afterwards is
the folder, so nothing else knows the format. Layout of the file: github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from specviz.errors import ModelError
from specviz.resources import cache_folder, file_sha256, whole_folder

ENDING = ".gguf"
FAMILY = "llama"
"""what `general.architecture` says; Mistral and SmolLM files say it too"""
LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
WHOLE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
"""names in the file → names in a checkpoint of transformers"""
STORED = {"F32": torch.float32, "F16": torch.float16}
"""files of one of these types alone keep it; every other is unpacked to bfloat16, in which such models are trained"""
TYPE = "gguf_type"
"""in the folder's `config.json`: the type of most numbers in the file"""
DAMAGES = (ValueError, KeyError, IndexError, TypeError, OverflowError, UnicodeDecodeError, AttributeError)
"""what the reader raises over a damaged file"""


def is_gguf(name: str) -> bool:
    """Whether a name is the path of a GGUF file."""
    return name.lower().endswith(ENDING) and os.path.isfile(os.path.expanduser(name))


def unpacked(file: Path) -> Path:
    """The checkpoint folder of a GGUF file; made where it is not there yet, whole or not at all.

    Raises ModelError for a family, a tensor type or a setting that the engine does not run, for a damaged file, a full
    disk, and where the package `gguf` is missing.
    """
    folder = cache_folder() / "gguf" / f"{file.stem}-{file_sha256(file)[:12]}"
    if not folder.is_dir():
        write_folder(file, folder)
    return folder


def write_folder(file: Path, folder: Path) -> None:
    """Unpack a file into a folder of its own. Raises ModelError like `unpacked`."""
    try:
        with whole_folder(folder) as made:
            _write(file, made)
    except OSError as error:
        raise ModelError(
            f"{file.name} cannot be unpacked into {folder.parent} ({error.strerror or type(error).__name__}); it needs "
            f"about {4 * file.stat().st_size / 1e9:.1f} GB there; set SPECVIZ_CACHE to a folder on another disk."
        ) from error


def _write(file: Path, folder: Path) -> None:
    from safetensors.torch import save_file
    from transformers import AutoTokenizer

    reader = _reader(file)
    try:
        config = _config(file.name, _Metadata(reader))
        save_file(dict(_tensors(file.name, reader, config)), folder / "model.safetensors", {"format": "pt"})
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    except DAMAGES as error:
        raise ModelError(
            f"{file.name} is a damaged GGUF file ({type(error).__name__}: {' '.join(str(error).split())[:120]}); "
            "download it again."
        ) from error
    tokenizer.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


def check_reader(name: str) -> None:
    """Raises ModelError where the package that reads such a file is missing."""
    if find_spec("gguf") is None:
        raise ModelError(
            f"{name} is a GGUF file, which the package gguf reads; install it: pip install 'specviz[gguf]'."
        )


def _reader(file: Path) -> Any:
    check_reader(file.name)
    from gguf import GGUFReader

    try:
        return GGUFReader(file)
    except DAMAGES as error:
        raise ModelError(f"{file.name} is no GGUF file, or a damaged one; download it again.") from error


class _Metadata:
    """The file's key-value pairs."""

    def __init__(self, reader: Any) -> None:
        self._fields = reader.fields

    def get(self, key: str, otherwise: Any = None) -> Any:
        field = self._fields.get(key)
        return otherwise if field is None else field.contents()

    def __getitem__(self, key: str) -> Any:
        """Raises KeyError, which names the key."""
        return self._fields[key].contents()


def _config(name: str, metadata: _Metadata) -> dict[str, Any]:
    """The `config.json` of the same model. Raises ModelError for what the engine does not run, KeyError for a key that
    is not there."""
    family = str(metadata["general.architecture"])
    if family != FAMILY:
        raise ModelError(
            f"{name} holds a model of the family '{family[:40]}'; of GGUF files SpecViz runs the Llama family alone "
            "(Llama, Mistral, SmolLM). Name the model's folder or hub id with safetensors weights instead."
        )
    if metadata.get("llama.expert_count", 0) or metadata.get("llama.rope.scaling.type", "none") != "none":
        raise ModelError(
            f"{name} has experts or a scaled rotary embedding, which SpecViz does not read from a GGUF file; name the "
            "model's folder or hub id with safetensors weights instead."
        )
    heads, width = int(metadata["llama.attention.head_count"]), int(metadata["llama.embedding_length"])
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(metadata["tokenizer.ggml.tokens"]),
        "hidden_size": width,
        "intermediate_size": int(metadata["llama.feed_forward_length"]),
        "num_hidden_layers": int(metadata["llama.block_count"]),
        "num_attention_heads": heads,
        "num_key_value_heads": int(metadata.get("llama.attention.head_count_kv", heads)),
        "head_dim": int(metadata.get("llama.attention.key_length", width // heads)),
        "hidden_act": "silu",
        "max_position_embeddings": int(metadata["llama.context_length"]),
        "rms_norm_eps": float(metadata["llama.attention.layer_norm_rms_epsilon"]),
        "rope_theta": float(metadata.get("llama.rope.freq_base", 10_000.0)),
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": metadata.get("tokenizer.ggml.eos_token_id"),
    }


def _tensors(name: str, reader: Any, config: dict[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor under its name in a checkpoint of transformers; completes `config` by what the tensors tell."""
    stored = Counter[str]()
    for tensor in reader.tensors:
        stored[tensor.tensor_type.name] += int(tensor.n_elements) * (len(tensor.shape) > 1)
    stored = +stored  # norms, which every file holds in F32, do not count
    config[TYPE] = stored.most_common(1)[0][0]
    dtype = STORED.get(next(iter(stored)), torch.bfloat16) if len(stored) == 1 else torch.bfloat16
    config["dtype"] = str(dtype).removeprefix("torch.")
    config["tie_word_embeddings"] = all(tensor.name != "output.weight" for tensor in reader.tensors)
    for tensor in reader.tensors:
        key, numbers = _place(name, tensor.name), _dequantised(name, tensor)
        heads = {"attn_q": "num_attention_heads", "attn_k": "num_key_value_heads"}.get(tensor.name.split(".")[-2])
        if heads:
            numbers = _halves(numbers, config[heads])
        yield key, numbers.to(dtype).contiguous()


def _place(name: str, tensor: str) -> str:
    layered = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", tensor)
    if layered and layered[2] in LAYER:
        return f"model.layers.{layered[1]}.{LAYER[layered[2]]}.weight"
    whole = re.fullmatch(r"(\w+)\.weight", tensor)
    if whole and whole[1] in WHOLE:
        return f"{WHOLE[whole[1]]}.weight"
    raise ModelError(
        f"{name} holds the tensor '{tensor[:60]}', which a plain Llama does not have; name the model's folder or hub "
        "id with safetensors weights instead."
    )


def _dequantised(name: str, tensor: Any) -> torch.Tensor:
    """The numbers in float32, rows first."""
    from gguf.quants import dequantize

    try:
        return torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
    except NotImplementedError:
        raise ModelError(
            f"the blocks of {name} are of the type {tensor.tensor_type.name}, which cannot be unpacked; take the file "
            "in another type, such as Q4_K_M, Q8_0 or BF16."
        ) from None


def _halves(rows: torch.Tensor, heads: int) -> torch.Tensor:
    """Query or key rows [heads · size, width] in the order of a transformers checkpoint. The file pairs neighbours for
    the rotation, (0, 1), (2, 3) …; the checkpoint pairs a head's first half with its second."""
    pairs = rows.reshape(heads, -1, 2, rows.shape[-1])  # [heads, size / 2, 2, width]
    return pairs.transpose(1, 2).reshape(rows.shape)

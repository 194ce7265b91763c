"""Tiny checkpoints with random weights, made on the spot: no download, a few thousand parameters each."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

VOCABULARY = 60
CONTEXT = 48

SIZES = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": VOCABULARY}

Make = Callable[..., Path]


def config_of(kind: str, **changes: object):
    """A tiny transformers config; `changes` override its sizes."""
    from transformers import (
        BloomConfig,
        FalconConfig,
        GemmaConfig,
        GPT2Config,
        LlamaConfig,
        MambaConfig,
        MistralConfig,
        OPTConfig,
        Qwen3Config,
        T5Config,
    )
    from transformers.models.gemma2 import Gemma2Config
    from transformers.models.gemma3 import Gemma3TextConfig
    from transformers.models.gpt_oss import GptOssConfig
    from transformers.models.olmo3 import Olmo3Config

    kinds = {
        "llama": (LlamaConfig, {**SIZES, "intermediate_size": 40, "max_position_embeddings": CONTEXT}),
        "qwen3": (
            Qwen3Config,
            {
                **SIZES,
                "intermediate_size": 40,
                "max_position_embeddings": CONTEXT,
                "head_dim": 8,
                "num_key_value_heads": 2,
            },
        ),
        "gpt2": (
            GPT2Config,
            {"n_embd": 24, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY, "n_positions": CONTEXT},
        ),
        "opt": (
            OPTConfig,
            {**SIZES, "ffn_dim": 40, "max_position_embeddings": CONTEXT, "word_embed_proj_dim": 24, "dropout": 0.0},
        ),
        "gemma": (GemmaConfig, {**SIZES, "intermediate_size": 40, "head_dim": 6, "num_key_value_heads": 4}),
        "gemma2": (Gemma2Config, {**SIZES, "intermediate_size": 40, "head_dim": 6, "num_key_value_heads": 4}),
        "mistral": (MistralConfig, {**SIZES, "intermediate_size": 40, "num_key_value_heads": 4, "sliding_window": 8}),
        **_windowed(Gemma3TextConfig, GptOssConfig, Olmo3Config),
        "mamba": (MambaConfig, {"hidden_size": 24, "num_hidden_layers": 2, "vocab_size": VOCABULARY}),
        "bloom": (BloomConfig, {"hidden_size": 24, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY}),
        "falcon": (FalconConfig, {**SIZES, "alibi": True}),
        "t5": (T5Config, {"d_model": 24, "num_layers": 2, "num_heads": 4, "vocab_size": VOCABULARY}),
    }
    kind_of_config, sizes = kinds[kind]
    return kind_of_config(**{**sizes, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None, **changes})


def _windowed(gemma3: type, gpt_oss: type, olmo3: type) -> dict[str, tuple[type, dict[str, object]]]:
    """Architectures whose layers take turns: one sees a window of 8 tokens, the next all of them."""
    turns = {
        "intermediate_size": 40,
        "num_key_value_heads": 2,
        "head_dim": 6,
        "max_position_embeddings": CONTEXT,
        "sliding_window": 8,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1}
    return {
        "gemma3_text": (gemma3, {**SIZES, **turns}),
        "gpt_oss": (gpt_oss, {**SIZES, **turns, **experts}),
        "olmo3": (olmo3, {**SIZES, **{name: turns[name] for name in turns if name != "head_dim"}}),
    }


def random_model(kind: str, **changes: object):
    """The transformers model itself; weights large enough that every mistake shows in the logits."""
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config_of(kind, **changes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model


def write_tokenizer(folder: Path, vocab_size: int = VOCABULARY) -> None:
    """A tokenizer of `vocab_size` ids: `<end>` and made-up words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {"<end>": 0} | {f"w{i}": i for i in range(1, vocab_size)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<end>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["<end>"])
    tokenizer.save(str(folder / "tokenizer.json"))


def rounded_copy(folder: str | Path, to: Path) -> str:
    """The same checkpoint there, with every weight rounded to bfloat16."""
    copied = shutil.copytree(folder, to)
    weights = {name: tensor.bfloat16() for name, tensor in load_file(copied / "model.safetensors").items()}
    save_file(weights, copied / "model.safetensors", metadata={"format": "pt"})
    return str(copied)


def random_tokens(seed: int, n: int) -> list[int]:
    generator = random.Random(seed)
    return [generator.randrange(VOCABULARY) for _ in range(n)]


def random_parents(seed: int, first: int, start: int, n: int) -> list[int]:
    """Parents of n new rows at `start`: each is row `first` - 1, an earlier tree row, or an earlier new row."""
    generator = random.Random(seed)
    return [generator.randrange(first - 1, start + i) for i in range(n)]


def text_of(row: int, tokens: list[int], parents: list[int]) -> list[int]:
    """The text from the beginning to `row`, for rows described by parents alone."""
    text: list[int] = []
    while row >= 0:
        text.append(tokens[row])
        row = parents[row]
    return text[::-1]


def error(left: torch.Tensor, right: torch.Tensor) -> float:
    return float((left - right).abs().max())


def plain(reference, text: list[int]) -> torch.Tensor:
    """Logits [n, V] of a transformers model for a text on its own, without a cache."""
    with torch.inference_mode():
        return reference(torch.tensor([text])).logits[0]

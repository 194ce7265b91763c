"""Tiny models with random weights for the drafters that transformers publishes with a target of their own."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

SIZES = {
    "vocab_size": 60,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
    "initializer_range": 0.3,
}


def with_mtp(folder: Path) -> tuple[Any, dict[str, Any]]:
    """GLM-4.5 in small: two layers, and two modules behind them that predict further tokens. The modules are copies of
    the second layer, as the checkpoint would name them."""
    from transformers.models.glm4_moe import Glm4MoeConfig, Glm4MoeForCausalLM

    experts = {"moe_intermediate_size": 16, "num_experts_per_tok": 2, "n_routed_experts": 4, "first_k_dense_replace": 1}
    torch.manual_seed(0)
    Glm4MoeForCausalLM(Glm4MoeConfig(**SIZES, **experts, num_nextn_predict_layers=2)).save_pretrained(folder)
    state, size = load_file(folder / "model.safetensors"), SIZES["hidden_size"]
    for module in (2, 3):
        at = f"model.layers.{module}."
        state |= {
            name.replace("model.layers.1.", at): weights.clone()
            for name, weights in state.items()
            if name.startswith("model.layers.1.")
        }
        state |= {f"{at}{norm}.weight": torch.ones(size) for norm in ("enorm", "hnorm", "shared_head.norm")}
        state[f"{at}eh_proj.weight"] = torch.eye(size, 2 * size)  # [H, 2H]: the token, and nothing of the state
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    model = Glm4MoeForCausalLM.from_pretrained(folder).eval()
    model._keys_to_ignore_on_load_unexpected = [r"model\.layers\.[23]\..*"]  # where transformers looks for them
    return model, {"use_mtp": True}


def with_dflash() -> tuple[Any, dict[str, Any]]:
    """A Llama, and a block drafter over the states of its two layers."""
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.models.muse_glimmer_assistant import MuseGlimmerAssistantConfig, MuseGlimmerAssistantModel

    block = {"block_size": 4, "mask_token_id": 3, "target_layer_ids": [0, 1], "head_dim": 8, "sliding_window": 32}
    sizes = {name: size for name, size in SIZES.items() if name not in ("vocab_size", "initializer_range")}
    torch.manual_seed(0)
    target = LlamaForCausalLM(LlamaConfig(**SIZES)).eval()
    drafter = MuseGlimmerAssistantModel(MuseGlimmerAssistantConfig(**{**sizes, "num_hidden_layers": 1}, **block)).eval()
    return target, {"assistant_model": drafter, "speculation_type": "dflash"}


def with_gemma_assistant() -> tuple[Any, dict[str, Any]]:
    """A Gemma 4, and an assistant that reads its keys and values."""
    from transformers.models.gemma4 import Gemma4ForCausalLM, Gemma4TextConfig
    from transformers.models.gemma4_assistant import Gemma4AssistantConfig, Gemma4AssistantForCausalLM

    text = {
        "head_dim": 8,
        "global_head_dim": 8,
        "sliding_window": 16,
        "layer_types": ["sliding_attention", "full_attention"],
        "hidden_size_per_layer_input": 0,
        "vocab_size_per_layer_input": 0,
    }
    torch.manual_seed(9)
    target = Gemma4ForCausalLM(Gemma4TextConfig(**SIZES, **text, num_kv_shared_layers=0)).eval()
    reader = Gemma4TextConfig(**SIZES, **text, num_kv_shared_layers=2)
    drafter = Gemma4AssistantForCausalLM(Gemma4AssistantConfig(text_config=reader, backbone_hidden_size=24)).eval()
    drafter.generation_config.num_assistant_tokens = 4
    return target, {"assistant_model": drafter}

"""A captioner with random weights, a few thousand of them, as a checkpoint folder."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from specviz.lm.llama.captioner import PREFIX, Eyes, EyesShape
from specviz.scenes.captions import PICTURE_IDS
from specviz.training.captions.train import language_config, tokenizer

SHAPE = EyesShape(PICTURE_IDS[0], width=8, heads=2, layers=1)


def write_captioner(folder: Path, seed: int = 0, sees: bool = True, cells: int = 16) -> Path:
    """Weights large enough that every mistake shows in the logits."""
    from transformers import LlamaForCausalLM

    torch.manual_seed(seed)
    words = tokenizer()
    config = language_config(words.get_vocab_size(), hidden=24, layers=2, heads=2, intermediate=40)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    model.save_pretrained(folder)
    words.save(str(folder / "tokenizer.json"))
    if sees:
        shape = EyesShape(**{**{name: getattr(SHAPE, name) for name in SHAPE.__dataclass_fields__}, "cells": cells})
        eyes = Eyes(shape, 24)
        with torch.no_grad():
            for parameter in eyes.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
        save_file({PREFIX + name: one for name, one in eyes.state_dict().items()}, folder / "eyes.safetensors")
        told = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        told["eyes"] = {name: getattr(shape, name) for name in shape.__dataclass_fields__}
        (folder / "config.json").write_text(json.dumps(told), encoding="utf-8")
    return folder

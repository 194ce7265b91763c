"""Depth growth by stacking: train shallow first, then repeat the stack and train on.

Place in the flow: called once by the training loop of the target.
"""

import copy
import re

import torch
from transformers import LlamaForCausalLM

from specviz.training.target import moved

LAYER = re.compile(r"(model\.layers\.)(\d+)(\..*)")


def source_of(name: str, depth: int) -> str:
    """Name in the shallow model of the parameter that `name` in the grown model is copied from."""
    match = LAYER.fullmatch(name)
    return name if match is None else f"{match[1]}{int(match[2]) % depth}{match[3]}"


@torch.no_grad()
def grown(model: LlamaForCausalLM) -> LlamaForCausalLM:
    """Depth L to 2L by repeating the whole stack: the G_stack operator (Du et al. 2024, arXiv 2405.15319)."""
    depth = model.config.num_hidden_layers
    config = copy.deepcopy(model.config)
    config.num_hidden_layers = 2 * depth
    if getattr(config, "layer_types", None):
        config.layer_types = list(config.layer_types) * 2
    deeper = moved(LlamaForCausalLM(config), model.device, model.dtype)
    shallow = dict(model.named_parameters())
    for name, parameter in deeper.named_parameters():
        parameter.copy_(shallow[source_of(name, depth)])
    deeper.train(model.training)
    return deeper

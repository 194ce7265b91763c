"""Causal attention in tiles of queries, for layers that are compiled on a CPU.

Place in the flow: `loop.compile_layers` chooses it. Each tile of queries meets only the keys up to its own end, and the
compiler fuses scaling, mask and softmax: forward and backward take about half the time of torch's fused CPU kernel
(50 against 97 ms for 8 windows of 512 tokens and 6 heads of 64 in bfloat16, two threads of an AMD EPYC).
"""

from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.models.llama.modeling_llama import repeat_kv

NAME = "specviz_causal_tiles"
TILE = 128
"""queries at a time"""


def causal_tiles(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    **_: Any,
) -> tuple[Tensor, None]:
    """softmax(q k^T · scaling) v, each place attending to itself and what stands before it; softmax in float32.

    query [batch, heads, length, D], key and value [batch, key heads, length, D] -> [batch, length, heads, D]. It knows
    no mask and no cache: training windows have neither.
    """
    assert attention_mask is None
    assert query.shape[2] == key.shape[2]
    groups = query.shape[1] // key.shape[1]
    key, value = repeat_kv(key, groups), repeat_kv(value, groups)
    places = torch.arange(query.shape[2], device=query.device)
    tiles = []
    for start in range(0, query.shape[2], TILE):
        end = min(start + TILE, query.shape[2])
        scores = query[:, :, start:end] @ key[:, :, :end].transpose(-1, -2) * scaling
        scores = scores.masked_fill(places[None, :end] > places[start:end, None], float("-inf"))
        tiles.append(torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype) @ value[:, :, :end])
    return torch.cat(tiles, dim=2).transpose(1, 2), None


AttentionInterface.register(NAME, causal_tiles)

"""How surprising a prompt is to its target: here it shows where a small model is asked what it never learnt."""

from __future__ import annotations

import torch

from specviz.live.models import Models
from specviz.protocol.runs import RunRequest

LEAST = 5
"""tokens below which a prompt says too little about itself"""


@torch.inference_mode()
def surprise(models: Models, request: RunRequest) -> float | None:
    """Mean of −ln p over the prompt's tokens but the first, p being the target's probability of each given those before
    it [nats per token]. None of a prompt of fewer than `LEAST` tokens, and of one that does not fit the context."""
    target = models.get(request.target, request)
    ids = target.tokenizer.encode(request.prompt)
    if not LEAST <= len(ids) <= target.info.context_length:
        return None
    with models.lane:
        logits = target.model.forward(ids[:-1], target.model.new_cache())[:, : target.info.vocab_size]
    said = logits.float().log_softmax(-1)
    return -float(said[torch.arange(len(ids) - 1), torch.tensor(ids[1:])].mean())

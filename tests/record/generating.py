"""How the tests of `specviz.record` generate: one prompt, one seed."""

from typing import Any

import torch

PROMPT = [5, 6, 7, 8, 9, 5, 6, 7]


def generate(model: Any, **settings: Any) -> list[int]:
    prompt = torch.tensor([settings.pop("prompt", PROMPT)])
    torch.manual_seed(3)
    result = model.generate(prompt, attention_mask=torch.ones_like(prompt), **settings)
    ids: list[int] = result[0].tolist()
    return ids

"""Weights for the heads that draft on the proof's toys.

Untrained, all heads say what the target said, whatever their method, and the walks of two methods would be one walk.
Place in the flow: the walk moves a toy's modules before a session is made of them.
"""

from __future__ import annotations

from weakref import WeakSet

import torch

from specviz.drafters.base import Drafter
from specviz.drafters.learned.heads import HeadDrafter
from specviz.drafters.learned.module import DrafterModule
from specviz.lm.base import GivesFeatures
from specviz.options import Options
from specviz.protocol.trainings import UNTRAINED

SPREAD = 1.0
"""standard deviation of what is added to every weight; the toys' logits have one of 1.5"""

STILL = frozenset(["masked_block"])
"""left as they begin: one kind may say what the target said, and this one's walk would be the longest otherwise"""

_MOVED: WeakSet[DrafterModule[Options]] = WeakSet()


def move_weights(drafter: Drafter[Options], target: GivesFeatures) -> None:
    """Give the untrained heads that this drafter will find for the toy weights of their own, the same in every run."""
    if not isinstance(drafter, HeadDrafter) or drafter.options.weights != UNTRAINED or drafter.name in STILL:
        return
    module = drafter.load(target)
    if module in _MOVED:
        return
    generator = torch.Generator().manual_seed(sum(module.name.encode()))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(SPREAD * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    _MOVED.add(module)

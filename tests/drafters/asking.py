"""How tests ask a drafter for a draft without an engine around it, and how they read the answer."""

from collections.abc import Sequence
from typing import Any

import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.drafters.base import DraftContext
from specviz.drafters.learned.module import FeatureBatch


def context(
    tokens: Sequence[int],
    max_depth: int = 9,
    temperature: float = 0.0,
    top_k: int = 0,
    round: int = 0,
    seed: int = 0,
    **marks: Any,
) -> DraftContext:
    return DraftContext(tokens, round, max_depth, Sampling(temperature, top_k), SeededRandom(seed), **marks)


def proposed(drafter: Any, *given: Any, **settings: Any) -> Any:
    """What a drafter proposes in a context with these arguments."""
    return drafter.propose(context(*given, **settings))


def paths(tree: DraftTree, source: str | None = None) -> list[list[int]]:
    """The tokens from the root to each candidate (of a source)."""
    nodes = range(1, len(tree))
    return [tree.token_path(node) for node in nodes if source in (None, tree.sources[node])]


def batch_of(target: Any, tokens: list[int], depths: Sequence[int]) -> FeatureBatch:
    """What a module that reads these depths sees of a text in training, from one pass over all of it."""
    cache = target.new_cache()
    target.watch(cache, [*depths, target.info.layers])
    target.forward(tokens, cache)
    seen = target.seen(cache)[None].clone()  # no tensor of inference mode
    return FeatureBatch(torch.tensor([tokens]), seen[:, :, :-1], seen[:, :, -1])

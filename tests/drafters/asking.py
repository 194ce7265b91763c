"""How tests ask a drafter for a draft without an engine around it, and how they read the answer."""

from collections.abc import Sequence
from typing import Any

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.drafters.base import DraftContext


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

"""How the children of a node are drawn from a model's logits, and what that makes of them as candidates.

Each way returns, per node, the tokens in draw order with the distribution they were drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from torch import Tensor

from specviz.core.sampling import transform, without
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import Draft

Children = list[tuple[int, Tensor | None]]
"""(token, distribution [V] it was drawn from, before earlier siblings were removed) in draw order"""


class Draw(Protocol):
    """One way of drawing."""

    kind: CandidateKind

    def level(self, draft: Draft, logits: Tensor, width: int, first: int) -> tuple[Sequence[Children], int]:
        """Up to `width` children for each row of logits [n, V].

        `first` is the first free index for this round's draw keys; the second result is how many were used.
        """
        ...


class Independent:
    """i.i.d. from q; siblings may repeat a token, and must then be judged as often."""

    kind: CandidateKind = "iid"

    def level(self, draft: Draft, logits: Tensor, width: int, first: int) -> tuple[Sequence[Children], int]:
        found, used = [], first
        for q in transform(logits, draft.sampling).unbind(0):
            children: Children = []
            for _ in range(width):
                children.append((draft.randomness.draw(q, ("draft", draft.round, used)).token, q))
                used += 1
            found.append(children)
        return found, used - first


class WithoutReplacement:
    """One after the other from q, each draw among what the earlier ones left; never more than the support holds."""

    kind: CandidateKind = "without_replacement"

    def level(self, draft: Draft, logits: Tensor, width: int, first: int) -> tuple[Sequence[Children], int]:
        found, used = [], first
        for q in transform(logits, draft.sampling).unbind(0):
            children: Children = []
            left, mass = q, 1.0
            while mass > 0.0:
                token = draft.randomness.draw(left, ("draft", draft.round, used)).token
                children.append((token, q))
                used += 1
                if len(children) == width:
                    break
                left, mass = without(left, [token])
            found.append(children)
        return found, used - first


class MostProbable:
    """The tokens with the largest logits: nothing is drawn, so each is a point mass. At width 1 the argmax."""

    kind: CandidateKind = "point_mass"

    def level(self, draft: Draft, logits: Tensor, width: int, first: int) -> tuple[Sequence[Children], int]:
        width = min(width, logits.shape[-1])
        chosen = logits.argmax(-1, keepdim=True) if width == 1 else logits.float().topk(width, dim=-1).indices
        return [[(token, None) for token in row] for row in chosen.tolist()], 0


class Shape(NamedTuple):
    """What decides `auto`."""

    is_tree: bool
    greedy: bool


DRAWS: dict[str, Draw] = {
    "iid": Independent(),
    "without_replacement": WithoutReplacement(),
    "top_k": MostProbable(),
}
AUTO = {
    Shape(is_tree=False, greedy=False): "iid",
    Shape(is_tree=True, greedy=False): "without_replacement",
    Shape(is_tree=False, greedy=True): "top_k",
    Shape(is_tree=True, greedy=True): "top_k",
}


def choose_draw(name: str, is_tree: bool, greedy: bool) -> Draw:
    """The way called `name`; `auto` depends on the draft's shape and on the temperature being zero."""
    return DRAWS[AUTO[Shape(is_tree, greedy)] if name == "auto" else name]

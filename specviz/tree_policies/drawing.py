"""How the candidates below nodes are drawn, and what that makes of them: level by level, or siblings taken one by one.

A `Draw` gives each node of a level its children, in draw order, with the distribution they were drawn from; every node
of a level gets them before the next level begins, one pass per level. `Siblings` are taken one by one, so that a policy
can decide before each whether to take another: above temperature 0 drawn without replacement, at temperature 0 the most
probable in order, as point masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from specviz.core.sampling import Sampling, most_probable, transform, without
from specviz.core.tree import ROOT
from specviz.errors import OptionError
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import MOST_NODES, Draft, TreePolicyOptions

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
                children.append((draft.candidate(q, used, lane=len(children)), q))
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
                token = draft.candidate(left, used)
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
        if width == 1:
            return [[(token, None)] for token in most_probable(logits)], 0
        chosen = logits.float().topk(width, dim=-1).indices
        return [[(token, None) for token in row] for row in chosen.tolist()], 0


DRAWS: dict[str, Draw] = {
    "iid": Independent(),
    "without_replacement": WithoutReplacement(),
    "top_k": MostProbable(),
}


def choose_draw(name: str, is_tree: bool, greedy: bool) -> Draw:
    """The way called `name`; `auto` depends on the draft's shape and on the temperature being zero."""
    if name == "auto":
        name = "top_k" if greedy else "without_replacement" if is_tree else "iid"
    return DRAWS[name]


def plain_chain(widths: Sequence[int], draw: Draw, options: TreePolicyOptions) -> tuple[int, CandidateKind] | None:
    """See `TreePolicy.chain`, of what `grow_levels` makes of the same; None where that is a tree, a budget ends it, or
    the way of drawing is none of the above: a compiled chain follows these alone, of which the two that draw take one
    candidate with the same number."""
    is_plain = set(widths) == {1} and not options.budget and draw in DRAWS.values()
    return (len(widths), draw.kind) if is_plain else None


def check_size(branching: Sequence[int]) -> None:
    """Raises OptionError where a tree of this branching has too many nodes."""
    nodes, width = 0, 1
    for children in branching:
        width *= children
        nodes += width
    if nodes > MOST_NODES:
        raise OptionError(
            f"branching {','.join(map(str, branching))} makes {nodes} candidates per round, but at most "
            f"{MOST_NODES} are allowed; use fewer children or levels."
        )


def grow_levels(
    draft: Draft, widths: Sequence[int], draw: Draw, options: TreePolicyOptions, first: Sequence[int] = (ROOT,)
) -> None:
    """`widths[i]` children below every node of level i; with a budget exactly so many candidates.

    Where the budget ends inside a level, the first nodes get theirs and the others none; where it reaches further than
    the shape, the last level's width goes on. Who gets how many is settled before anything is drawn. `first` are the
    nodes to begin below. A chain without a budget is as long as the stop policy lets it become.
    """
    is_chain = not options.budget and set(widths) == {1} and tuple(first) == (ROOT,)
    if is_chain and (levels := draft.chain_levels):
        widths = (1,) * levels
    level, depth, most = list(first), 0, options.most
    while (
        widths and level and draft.tree.drafted < most and options.goes_deeper(depth, len(widths), draft.tree.drafted)
    ):
        width = widths[min(depth, len(widths) - 1)]
        depth += 1
        nodes, logits = draft.expand(level)
        level = []
        whole, rest = divmod(most - draft.tree.drafted, width)
        for start, stop, children in ((0, whole, width), (whole, whole + 1, rest)):
            part = nodes[start:stop]
            if not part or not children:
                continue
            rows = logits if len(part) == len(logits) else logits[start:stop]
            found, used = draw.level(draft, rows, children, draft.draws)
            draft.draws += used
            level += [
                draft.add(parent, token, draw.kind, q)
                for parent, family in zip(part, found, strict=True)
                for token, q in family
            ]


Row = npt.NDArray[np.float32]


class Taken(NamedTuple):
    """One candidate."""

    token: int
    proposal: Tensor | None
    prob: float
    """its share of what the node's distribution had before any sibling was taken"""


class Siblings(Protocol):
    """What is left below a node."""

    kind: CandidateKind

    @property
    def left(self) -> float:
        """Mass of the distribution that no sibling has taken; 0 where there is nothing to take any more."""
        ...

    @property
    def best(self) -> float:
        """Probability of the most probable token that is left."""
        ...

    def take(self, draft: Draft) -> Taken:
        """The next one. Only where something is left."""
        ...


class DrawnSiblings:
    """Drawn one after the other from q without replacement."""

    kind: CandidateKind = "without_replacement"

    def __init__(self, q: Tensor) -> None:
        self._q = q
        self._rest = q
        self._left = 1.0

    @property
    def left(self) -> float:
        return self._left

    @property
    def best(self) -> float:
        return self._left * float(self._rest.max())

    def take(self, draft: Draft) -> Taken:
        token = draft.draw(self._rest)
        self._rest, mass = without(self._rest, [token])
        self._left *= mass
        return Taken(token, self._q, float(self._q[token]))


class RankedSiblings:
    """The most probable, one after the other; of equal ones the lowest id."""

    kind: CandidateKind = "point_mass"

    def __init__(self, probs: Row) -> None:
        self._rest = probs
        self._left = 1.0

    @property
    def left(self) -> float:
        return self._left

    @property
    def best(self) -> float:
        return float(self._rest.max())

    def take(self, draft: Draft) -> Taken:
        token = int(self._rest.argmax())
        prob = float(self._rest[token])
        self._rest[token] = 0.0
        self._left = float(self._rest.sum())
        return Taken(token, None, prob)


def siblings_of(logits: Tensor, sampling: Sampling) -> list[Siblings]:
    """What can be taken below each of the nodes with these logits [n, V]; worked out for all of them at once.

    At temperature 0 the sampling's distribution is a point mass and says nothing about a second candidate, so there
    the model's own softmax ranks them; in one transfer, after which nothing waits for the device.
    """
    if sampling.greedy:
        return [RankedSiblings(row) for row in logits.float().softmax(-1).cpu().numpy()]
    return [DrawnSiblings(row) for row in transform(logits, sampling).unbind(0)]


def sibling_kinds(sampling: Sampling) -> frozenset[CandidateKind]:
    """The kind that `siblings_of` takes."""
    return frozenset([RankedSiblings.kind if sampling.greedy else DrawnSiblings.kind])

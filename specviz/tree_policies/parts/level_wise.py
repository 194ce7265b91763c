"""Level by level: every node of a level gets its children before the next level begins. One pass per level."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.core.tree import ROOT
from specviz.errors import OptionError
from specviz.tree_policies.base import MOST_NODES, Draft, TreePolicyOptions
from specviz.tree_policies.parts.draws import Draw


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
    level, depth, most = list(first), 0, options.most
    if draft.chain_levels and not options.budget and set(widths) == {1} and tuple(first) == (ROOT,):
        widths = (1,) * draft.chain_levels
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
            found, used = draw.level(draft, logits[start:stop], children, draft.draws)
            draft.draws += used
            level += [
                draft.add(parent, token, draw.kind, q)
                for parent, family in zip(part, found, strict=True)
                for token, q in family
            ]

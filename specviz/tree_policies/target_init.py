"""A fork whose prongs begin with what the target itself proposes: the first level always passes, and the text drifts.

The target's last pass has already said what follows the root. Instead of one token of it several are tried, each with a
chain below it, and the longest accepted one wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.core.sampling import Sampling, transform, without
from specviz.core.tree import FROM_TARGET, ROOT
from specviz.options import option
from specviz.trace.declared_method import Trees
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import (
    DEEPEST,
    TREE_POLICIES,
    WIDEST,
    Draft,
    TargetProposal,
    TreePolicy,
    TreePolicyOptions,
)
from specviz.tree_policies.drawing import Draw, check_size, choose_draw, grow_levels


@dataclass(frozen=True)
class TargetInitOptions(TreePolicyOptions):
    """Size of the fork; the defaults are the paper's."""

    width: int = option(
        6, help="candidates for the next token, taken from the target", minimum=1, maximum=WIDEST, counts="per_level"
    )
    depth: int = option(10, help="levels, the target's own included", minimum=1, maximum=DEEPEST, counts="levels")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size((self.width, *(1,) * (self.depth - 1)))


@TREE_POLICIES.register("target_init")
class TargetInitTreePolicy(TreePolicy[TargetInitOptions]):
    """Lossy: the first level comes from the target's own distribution, one chain below each candidate.

    "Improving Multi-candidate Speculative Decoding" (Lu et al., 2409.10644, §3.1). A round leaves its last token open;
    the next tries it and others drawn from the same distribution without replacement (at temperature 0 the most
    probable), and the one whose chain is accepted furthest becomes text, which is why the law is not the target's.
    Where the target's answer is not known (the first round, after a rejection of all) the drafter proposes.
    """

    trees: ClassVar[Trees] = Trees(forks=True, notes=("from_target", "mask_side", "mask_side_largest"))
    lossless: ClassVar[bool] = False
    settles_siblings: ClassVar[bool] = True
    opens: ClassVar[bool] = True
    # and so no plain `chain` even of one prong: where the target has proposed, its first candidate is not the drafter's

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset([_draw(sampling).kind])

    def grow(self, draft: Draft) -> None:
        options, draw = self.options, _draw(draft.sampling)
        width, depth = min(options.width, options.most), options.depth
        if draft.target_proposal is None:
            grow_levels(draft, (width, *(1,) * (depth - 1)), draw, options)
        else:
            draft.expand([ROOT])  # not for its answer: the drafter reads the text that its later levels continue
            first = _of_the_target(draft, draft.target_proposal, width)
            if options.goes_deeper(1, depth, draft.tree.drafted):
                grow_levels(draft, (1,) * max(1, depth - 1), draw, options, first)
        draft.note["from_target"] = draft.tree.sources.count(FROM_TARGET)
        # A fork cut short is the top-left block of the whole fork's mask (§3.2): how large that is, and this one.
        draft.note["mask_side_largest"] = 1 + (options.budget or width * depth)
        draft.note["mask_side"] = len(draft.tree)


def _of_the_target(draft: Draft, target_proposal: TargetProposal, width: int) -> list[int]:
    """The open token and others of the same distribution, as candidates below the root."""
    if draft.sampling.greedy:
        tokens = target_proposal.logits.float().topk(min(width, len(target_proposal.logits))).indices.tolist()
        others = [token for token in tokens if token != target_proposal.token][: width - 1]
        return [draft.add(ROOT, token, "point_mass", None, FROM_TARGET) for token in (target_proposal.token, *others)]
    p = transform(target_proposal.logits, draft.sampling)
    taken = [target_proposal.token]
    left, mass = without(p, taken)
    while len(taken) < width and mass > 0.0:
        taken.append(draft.draw(left))
        left, mass = without(p, taken)
    return [draft.add(ROOT, token, "without_replacement", p, FROM_TARGET) for token in taken]


def _draw(sampling: Sampling) -> Draw:
    return choose_draw("auto", is_tree=True, greedy=sampling.greedy)

"""A tree judged from its leaves: whole paths first, and what rejected ones leave goes to the paths beside and above.

Where top-down rules lose everything below a rejected node, this one looks at the deep candidates before it gives up
their ancestors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from specviz.core.randomness import RandomSource
from specviz.core.tree import ROOT, DraftTree
from specviz.options import Options
from specviz.trace.declared_rule import Rule
from specviz.trace.events import CandidateKind, Trial
from specviz.verifiers.base import VERIFIERS, TargetRows, Verdict, Verifier, ending
from specviz.verifiers.candidates import drawn_from, path_reach, reach_after, scaled_rejection
from specviz.verifiers.foreseen import Ends, LeafEnds, ends_of


@dataclass(frozen=True)
class TraversalOptions(Options):
    """Nothing to choose."""


@VERIFIERS.register("traversal")
class TraversalVerifier(Verifier[TraversalOptions]):
    """Traversal verification: tries the left-most leaf's whole path, and deletes the leaf where that is rejected.

    A(root) = 1, A(child) = min(1, A p/Q). A leaf's path is accepted with probability A. A rejected leaf leaves its
    parent s = sum max(0, A p - Q): A becomes s / (s + 1 - A), p becomes norm(max(0, A p - Q)), and for candidates drawn
    without replacement Q loses the token. A parent whose children are all rejected is a leaf. On a chain this is block
    verification. Traversal Verification (Weng et al., 2505.12398, algorithms 1 and 2).
    """

    judges: ClassVar[frozenset[CandidateKind]] = frozenset(["iid", "without_replacement", "point_mass"])
    judges_merged: ClassVar[bool] = True
    temperatures: ClassVar[str] = "any"
    rule: ClassVar[Rule | None] = Rule(
        order="bottom_up",
        threshold="where(left, end_here(left, reach), ratio(parent_reach * p, q))",
        words="the probability of its path",
        numbers="scaled",
        terms={"parent_reach": "A", "reach": "A′", "left": "s"},
        formula=(
            "A(child) = min(1, A(parent) · p(x) / Q(x)), A(root) = 1",
            "a rejected leaf leaves its parent s = Σ max(0, A·p − Q), and A becomes s / (s + 1 − A)",
            "Q is what x was drawn from: q; drawn without replacement, q without the siblings rejected before, made "
            "whole; 1 at x where it was proposed without drawing",
        ),
        code=("A = min(1, A_parent * p[x] / q[x])", "if not u < A: A_parent = s / (s + 1 - A_parent)"),
        rest="s: Σ max(0, A·p − Q), what the rejected leaves left here",
        rest_formula="r(x) = max(0, A·p(x) − Q(x)) / Σ max(0, A·p − Q)",
    )

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        """`terms` of a trial: `parent_reach` is A of the parent; where children of the node were rejected before it,
        `left` is the last one's s and `reach` the node's A before that."""
        ends = ends_of(tree, target, randomness, position, LeafEnds)
        stack = [Visit(tree, target, ROOT, ends=ends)]
        trials = list[Trial]()
        while True:
            here = stack[-1]
            while here.waiting:
                here = here.descend()
                stack.append(here)
            if here.node == ROOT:
                break
            decision = randomness.accept(here.reach, ("accept", position, here.node))
            trials.append(here.trial(decision.u, decision.accepted))
            if decision.accepted:
                break
            stack.pop()
            stack[-1].reject(here.node)
        depth = tree.depths[here.node]
        if ends is not None:
            left, drawn = ends.at(here.node)
        else:
            left = here.probs()
            drawn = randomness.draw(left, ("target", position + depth, 0))
        changed = None if here.left is None else left
        origin = ending(tree, tree.children(here.node))
        return Verdict(
            tree.path(here.node), drawn.token, origin, trials, changed, here.left, drawn.u, order="bottom_up"
        )


@dataclass(slots=True)
class Visit:
    """A node on the way to the left-most leaf that is left. V-sized work is put off until a child is rejected."""

    tree: DraftTree
    target: TargetRows
    node: int
    reach: float = 1.0
    """A: the probability that the path down to here is accepted once its children are rejected"""
    parent_reach: float = 1.0
    p: float = 1.0
    q: float = 1.0
    """p and Q of the node's token at its parent, when it was reached"""
    before: float = 1.0
    """A before the last rejected child"""
    left: float | None = None
    """s of the last rejected child"""
    rejected: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    """children not yet rejected, the next one last"""
    ends: Ends | None = None
    """what was worked out before the walk began"""
    _probs: Tensor | None = None

    def __post_init__(self) -> None:
        self.waiting = self.tree.children(self.node)[::-1]

    def probs(self) -> Tensor:
        """What rejected children have left of the target [V]."""
        if self._probs is None:
            self._probs = self.target.probs(self.node)
        return self._probs

    def descend(self) -> Visit:
        """Go on to the next child."""
        child = self.waiting[-1]
        token = self.tree.tokens[child]
        if self.ends is not None:
            p, q = self.ends.odds(child)
        elif not self.rejected:
            p, q = self.target.candidate_prob(child), self.tree.proposal_prob(child)
        else:
            proposal = drawn_from(self.tree, child, self.rejected)
            p, q = float(self.probs()[token]), 1.0 if proposal is None else float(proposal[token])
        return Visit(self.tree, self.target, child, path_reach(self.reach, p, q), self.reach, p, q, ends=self.ends)

    def reject(self, child: int) -> None:
        """Take a child away, with all that hung below it."""
        if self.ends is not None:
            left = self.ends.mass(child)
        else:
            proposal = drawn_from(self.tree, child, self.rejected)
            self._probs, left = scaled_rejection(self.probs(), self.reach, self.tree.tokens[child], proposal)
        self.before, self.left = self.reach, left
        self.reach = reach_after(self.reach, left)
        self.rejected.append(child)
        self.waiting.remove(child)

    def trial(self, u: float | None, accepted: bool) -> Trial:
        terms = {"parent_reach": self.parent_reach}
        if self.left is not None:
            terms |= {"reach": self.before, "left": self.left}
        return Trial(self.node, self.p, self.q, self.reach, u, accepted, terms)

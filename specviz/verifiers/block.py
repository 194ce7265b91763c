"""A chain judged as one block: the longest prefix whose joint probability the target can bear.

Needs the distributions of the whole chain at once, in exchange accepts at least as much as token by token. A drafter
whose candidates may have siblings is refused before anything runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from specviz.core.randomness import RandomSource
from specviz.core.tree import ROOT, DraftTree, Shape
from specviz.errors import DraftError
from specviz.options import Options
from specviz.trace.declared_rule import Rule
from specviz.trace.events import CandidateKind, Trial
from specviz.verifiers.base import VERIFIERS, TargetRows, Verdict, Verifier, ending
from specviz.verifiers.candidates import path_reach, reach_after, scaled_rejection
from specviz.verifiers.foreseen import LeafEnds, ends_of


@dataclass(frozen=True)
class BlockOptions(Options):
    """Nothing to choose."""


@VERIFIERS.register("block")
class BlockVerifier(Verifier[BlockOptions]):
    """Block verification: accepts the longest prefix of a chain whose u falls below h_i; never worse than by token.

    P_0 = 1, P_i = min(1, P_{i-1} p(x_i) / q(x_i)); s_i = sum max(0, P_i p - q) over the distributions after x_i;
    h_i = s_i / (s_i + 1 - P_i), and P_i itself at the end of the chain. The correction after prefix i is drawn from
    norm(max(0, P_i p - q)). No rule for a single chain accepts more. Sun et al. (2403.10444, algorithm 2).
    """

    judges: ClassVar[frozenset[CandidateKind]] = frozenset(["iid", "without_replacement", "point_mass"])
    temperatures: ClassVar[str] = "any"
    shapes: ClassVar[Shape] = "chain"
    rule: ClassVar[Rule | None] = Rule(
        order="bottom_up",
        threshold="where(left, end_here(left, reach), ratio(parent_reach * p, q))",
        words="the probability of its path",
        terms={"parent_reach": "A", "reach": "A′", "left": "s"},
        formula=(
            "Pᵢ = min(1, Pᵢ₋₁ · p(xᵢ) / q(xᵢ)), P₀ = 1",
            "hᵢ = sᵢ / (sᵢ + 1 − Pᵢ), sᵢ = Σ max(0, Pᵢ · p − q); at the end h = P",
            "keep the longest prefix whose u falls below its h",
        ),
        code=("P = min(1, P * p[x] / q[x])", "h = s / (s + 1 - P)"),
        rest="s: Σ max(0, P·p − q), what the draft left here",
        rest_formula="r(x) = max(0, P·p(x) − q(x)) / Σ max(0, P·p − q)",
    )

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        """Uniform draws are made from the end of the chain; the first that accepts makes those of shorter prefixes
        idle.

        `terms` of a trial: `parent_reach` is P_{i-1}, `reach` P_i, and `left` s_i (none at the end of the chain).
        """
        if not tree.is_chain():
            raise DraftError("block verification judges chains only, but this draft has siblings; draft a chain.")
        ends = ends_of(tree, target, randomness, position, LeafEnds)
        reach = _reach(tree, target)
        trials = list[Trial]()
        left: Tensor | None = None
        mass: float | None = None
        node = len(tree) - 1
        while node != ROOT:
            terms = {"parent_reach": reach[node - 1], "reach": reach[node]}
            if mass is not None:
                terms["left"] = mass
            threshold = reach[node] if mass is None else reach_after(reach[node], mass)
            decision = randomness.accept(threshold, ("accept", position, node))
            p, q = target.candidate_prob(node), tree.proposal_prob(node)
            trials.append(Trial(node, p, q, threshold, decision.u, decision.accepted, terms))
            if decision.accepted:
                break
            rejected, node = node, node - 1
            if ends is not None:
                left, mass = ends.at(node)[0], ends.mass(rejected)
                continue
            left, mass = scaled_rejection(
                target.probs(node), reach[node], tree.tokens[rejected], tree.proposals[rejected]
            )
        if ends is not None:
            drawn = ends.at(node)[1]
        else:
            drawn = randomness.draw(target.probs(node) if left is None else left, ("target", position + node, 0))
        origin = ending(tree, tree.children(node))
        return Verdict(tree.path(node), drawn.token, origin, trials, left, mass, drawn.u, order="bottom_up")


def _reach(tree: DraftTree, target: TargetRows) -> list[float]:
    """P_0, P_1, …: how much of the draft's joint probability of each prefix the target can bear, at most 1."""
    reach = [1.0]
    for node in range(1, len(tree)):
        reach.append(path_reach(reach[-1], target.candidate_prob(node), tree.proposal_prob(node)))
    return reach

"""The master rule: try the candidates one after the other against what the earlier ones have left of the target.

One rule for chains and trees, drawn i.i.d., without replacement or not at all, in any mixture.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from specviz.core.randomness import RandomSource, SeededRandom, TokenDraw
from specviz.core.sampling import residual, without
from specviz.core.tree import ROOT, DraftTree
from specviz.registry import OptionsT_co
from specviz.trace.declared_rule import Rule
from specviz.trace.events import CandidateKind, Trial
from specviz.verifiers.base import VERIFIERS, TargetRows, Verdict, Verifier, ending
from specviz.verifiers.candidates import drawn_before
from specviz.verifiers.foreseen import Ends, ends_of


@VERIFIERS.register("sequential")
class SequentialVerifier(Verifier[OptionsT_co]):
    """Accepts each candidate with probability min(1, p/Q); a rejection leaves norm(max(0, p - Q)) for the next.

    Q is what that very candidate was drawn from: q itself (i.i.d.), q without the siblings drawn before it, or a
    point mass. On a chain this is speculative sampling (Leviathan et al. 2211.17192, algorithm 1; Chen et al.
    2302.01318); on trees multi-step speculative sampling (SpecInfer, 2305.09781) and recursive rejection
    sampling (2402.14160).
    """

    judges: ClassVar[frozenset[CandidateKind]] = frozenset(["iid", "without_replacement", "point_mass"])
    judges_merged: ClassVar[bool] = True
    rule: ClassVar[Rule | None] = Rule(
        threshold="ratio(p, q)",
        words="min(1, p/q)",
        numbers="residual",
        one_by_one=True,
        formula=(
            "accept x with probability min(1, p(x) / Q(x))",
            "after a rejection p becomes max(0, p − Q) / Σ max(0, p − Q)",
            "Q is what x was drawn from: q; drawn without replacement, q without the siblings rejected before, made "
            "whole; 1 at x where it was proposed without drawing",
        ),
        code=(
            "accepted = u < min(1, p[x] / q[x])",
            "if not accepted: p = normalise(maximum(0, p - q))",
            "if not accepted and without_replacement: q[x] = 0; q = normalise(q)",
        ),
        rest="what the rejections left: Σ max(0, p − Q) at the last one",
        rest_formula="r(x) = max(0, p(x) − Q(x)) / Σ max(0, p − Q)",
    )

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        walked = self._by_one_call(tree, target, randomness, position)
        if walked is not None:
            return walked
        node, path, trials = ROOT, list[int](), list[Trial]()
        ends = ends_of(tree, target, randomness, position)
        while True:
            children = tree.children(node)
            level = self.level(tree, target, node)
            level.ends = ends
            accepted = None
            for child in children:
                trial = level.try_child(child, randomness, position)
                trials.append(trial)
                if trial.accepted:
                    accepted = child
                    break
            if accepted is None:
                left, drawn = level.end(randomness, position)
                changed = left if level.mass is not None else None
                return Verdict(path, drawn.token, ending(tree, children), trials, changed, level.mass, drawn.u)
            node = accepted
            path.append(node)

    def _by_one_call(
        self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int
    ) -> Verdict | None:
        """The same where a compiled walk says all: down a chain, by this very rule, with numbers known beforehand."""
        if type(randomness) is not SeededRandom or type(self).level is not SequentialVerifier.level:
            return None
        if tree.block is None and not (tree.is_chain() and tree.kinds.count("point_mass") == tree.drafted):
            return None
        walked = target.walk(randomness.seed, position)
        if walked is None:
            return None
        drafted, passed = tree.drafted, walked.passed
        p, q, thresholds, u = walked.p, walked.q, walked.thresholds, walked.u
        tried = range(min(drafted, passed + 1))
        trials = [Trial(i + 1, p[i], q[i], thresholds[i], u[i], i < passed) for i in tried]
        path, rejected = list(range(1, passed + 1)), range(passed + 1, drafted + 1)
        verdict = Verdict(path, walked.token, ending(tree, rejected), trials, u=walked.u_of_token)
        if rejected:
            verdict.residual = walked.room.rows[-1 if walked.mass > 0.0 else passed]
            verdict.residual_mass = walked.mass
        return verdict

    def level(self, tree: DraftTree, target: TargetRows, node: int) -> Level:
        """How the candidates below `node` are tried."""
        return Level(tree, target, node)


@dataclass(slots=True)
class Level:
    """The candidates below one visited node. V-sized work is put off until a rejection makes it necessary."""

    tree: DraftTree
    target: TargetRows
    node: int
    lenience: float = 1.0
    """candidates are accepted as if Q were this many times as large (Leviathan et al., appendix A.5)"""
    mass: float | None = None
    """left over by the last rejected candidate; None: nothing rejected yet"""
    rejected: list[int] = field(default_factory=list)
    ends: Ends | None = None
    """what was worked out before the walk began"""
    _left: Tensor | None = None
    _pending: tuple[int, Tensor | None] | None = None
    """the last rejected candidate and its Q (None: as in the tree), not yet subtracted"""

    def try_child(self, child: int, randomness: RandomSource, position: int) -> Trial:
        """One trial. First siblings need two numbers of the target and the draft, not two distributions."""
        token, adjusted = self.tree.tokens[child], None
        if self.ends is not None:
            p, q = self.ends.odds(child)
        else:
            p = float(self.left()[token]) if self.rejected else self.target.candidate_prob(child)
            adjusted = self._adjusted(child)
            q = self.tree.proposal_prob(child) if adjusted is None else float(adjusted[token])
        threshold, terms = self.acceptance_probability(child, p, q)
        decision = randomness.accept(threshold, ("accept", position, child))
        if not decision.accepted:
            self._pending = (child, adjusted)
            self.rejected.append(child)
        return Trial(child, p, q, threshold, decision.u, decision.accepted, terms)

    def acceptance_probability(self, child: int, p: float, q: float) -> tuple[float, dict[str, float]]:
        """With which probability a candidate is accepted, and what is named of how that was worked out."""
        return min(1.0, p / (self.lenience * q)) if q > 0.0 else float(p > 0.0), {}

    def end(self, randomness: RandomSource, position: int) -> tuple[Tensor, TokenDraw]:
        """What the candidates, all rejected, have left of the target [V], and the token drawn from it."""
        if self.ends is None:
            left = self.left()
            return left, randomness.draw(left, ("target", position + self.tree.depths[self.node], 0))
        self.mass = self.ends.mass(self.rejected[-1]) if self.rejected else None
        return self.ends.at(self.node)

    def left(self) -> Tensor:
        """What the rejected candidates have left of the target [V]."""
        if self._left is None:
            self._left = self.target.probs(self.node)
        if self._pending is not None:
            child, adjusted = self._pending
            self._pending = None
            proposal = self.tree.proposals[child] if adjusted is None else adjusted
            if proposal is None:
                self._left, self.mass = _without_token(self._left, self.tree.tokens[child])
            else:
                self._left, self.mass = residual(self._left, proposal)
        return self._left

    def _adjusted(self, child: int) -> Tensor | None:
        """Q of a candidate drawn without replacement after others from the same q; None where Q is as in the tree."""
        proposal = self.tree.proposals[child]
        drawn = drawn_before(self.tree, child, self.rejected)
        return without(proposal, drawn)[0] if drawn and proposal is not None else None


def _without_token(target: Tensor, token: int) -> tuple[Tensor, float]:
    """norm(max(0, p - point mass on `token`)) and its mass; p itself with mass 0 where nothing else has mass."""
    left, mass = without(target, [token])
    return (left, mass) if mass > 0.0 else (target, 0.0)

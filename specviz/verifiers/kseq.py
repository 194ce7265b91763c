"""K i.i.d. siblings, each judged alike against the whole target, with one factor that makes the law come out right.

Unlike multi-step sampling nothing is subtracted between siblings, and drafts that begin alike stay candidates
together: each level is judged by itself, over all drafts that share the text accepted so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from specviz.core.randomness import RandomSource
from specviz.core.tree import ROOT, DraftTree
from specviz.errors import DraftError
from specviz.options import Options, option
from specviz.trace.declared_rule import Rule
from specviz.trace.events import CandidateKind, Trial
from specviz.verifiers.base import VERIFIERS, TargetRows, Verdict, Verifier, ending

Row = npt.NDArray[np.float64]
HALVINGS = 52
"""of an interval no longer than the number of siblings: down to the last bit of rho"""


@dataclass(frozen=True)
class KSeqOptions(Options):
    """Which candidates stand below an accepted one."""

    survivors: bool = option(
        True,
        help="drafts that share the accepted token all go on, as in SpecTr; false: only the children of the very node "
        "that was accepted",
    )


@dataclass(frozen=True, slots=True)
class Level:
    """K i.i.d. candidates from q [V] below a node with target p [V]."""

    p: Tensor
    q: Tensor
    siblings: int
    rho: float
    beta: float
    """sum of min(p / rho, q): the probability that one candidate passes"""

    @property
    def passed(self) -> float:
        """1 - (1 - beta)^K: the probability that any candidate passes."""
        return _any_of(self.beta, self.siblings)

    @property
    def terms(self) -> dict[str, float]:
        return {"rho": self.rho, "beta": self.beta}

    def threshold(self, p: float, q: float) -> float:
        """min(1, p / (rho q))."""
        return min(1.0, p / (self.rho * q)) if q > 0.0 else float(p > 0.0)

    def left(self) -> tuple[Tensor, float]:
        """norm(p - min(p / rho, q) (1 - (1 - beta)^K) / beta) [V] and its mass; p with mass 0 where nothing is left."""
        if self.beta <= 0.0:
            return self.p, 1.0
        p, q = self.p.double(), self.q.double()
        rest = (p - torch.minimum(p / self.rho, q) * (self.passed / self.beta)).clamp_(min=0.0)
        mass = float(rest.sum())
        return ((rest / mass).to(self.p.dtype), mass) if mass > 0.0 else (self.p, 0.0)


@VERIFIERS.register("kseq")
class KSeqVerifier(Verifier[KSeqOptions]):
    """K-SEQ: accepts each of K i.i.d. candidates with probability min(1, p / (rho q)).

    rho in [1, K] solves 1 - (1 - beta)^K = rho beta with beta = sum min(p / rho, q). If all are rejected, the
    correction is drawn from norm(p - min(p / rho, q) (1 - (1 - beta)^K) / beta). After an acceptance every draft that
    shares the accepted token goes on, tried before or not: K of the next level is what these offer together. Accepts
    at least (1 - 1/e) times as often as any rule could. One candidate: rho = 1, Leviathan's rule.
    SpecTr (Sun et al., 2310.15141, algorithms 2 and 3).
    """

    judges: ClassVar[frozenset[CandidateKind]] = frozenset(["iid"])
    temperatures: ClassVar[str] = "any"
    counts_siblings: ClassVar[bool] = True
    rule: ClassVar[Rule | None] = Rule(
        threshold="ratio(p, rho * q)",
        words="min(1, p/(rho q))",
        survivors="survivors",
        terms={"rho": "ρ", "beta": "β"},
        formula=(
            "accept x with probability min(1, p(x) / (ρ · q(x)))",
            "β = Σ min(p / ρ, q), and ρ solves 1 − (1 − β)ᴷ = ρ β",
        ),
        code=(
            "accepted = u < min(1, p[x] / (rho * q[x]))",
            "if none: p - minimum(p / rho, q) * (1 - (1 - beta)**K) / beta",
        ),
        rest="what the candidates could not serve",
        rest_formula="r ∝ p − min(p/ρ, q) · (1 − (1 − β)ᴷ) / β",
    )

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        """`terms` of a trial: `rho`, and `beta`, the probability of one candidate."""
        node, path, trials = ROOT, list[int](), list[Trial]()
        while True:
            children, level = self.level(tree, target, node)
            place = ("target", position + len(path), 0)
            if level is None:
                drawn = randomness.draw(target.probs(node), place)
                return Verdict(path, drawn.token, ending(tree, children), trials, u=drawn.u)
            accepted = None
            for child in children:
                p, q = target.candidate_prob(child), tree.proposal_prob(child)
                threshold = level.threshold(p, q)
                decision = randomness.accept(threshold, ("accept", position, child))
                trials.append(Trial(child, p, q, threshold, decision.u, decision.accepted, level.terms))
                if decision.accepted:
                    accepted = child
                    break
            if accepted is None:
                left, mass = level.left()
                drawn = randomness.draw(left, place)
                return Verdict(path, drawn.token, ending(tree, children), trials, left, mass, drawn.u)
            node = accepted
            path.append(node)

    def level(self, tree: DraftTree, target: TargetRows, node: int) -> tuple[list[int], Level | None]:
        """The candidates for the token after `node` and how they are judged; None where there are none.

        Raises DraftError where they were not drawn from one distribution."""
        children = self._candidates(tree, node)
        if not children:
            return [], None
        return children, solve(target.probs(node), _shared(tree, children), len(children))

    def _candidates(self, tree: DraftTree, node: int) -> list[int]:
        """What the drafts that are still alive offer below `node`, in draw order."""
        assert isinstance(self.options, KSeqOptions)
        if not self.options.survivors:
            return tree.children(node)
        rows = tree.rows()
        return [child for child in range(1, len(tree)) if rows[tree.parents[child]] == rows[node]]


def solve(p: Tensor, q: Tensor, siblings: int) -> Level:
    """rho by bisection, on the CPU after one transfer.

    Any rho with 1 - (1 - beta)^K <= rho beta is exact, so the upper end is taken.
    """
    wide_p, wide_q = p.double().cpu().numpy(), q.double().cpu().numpy()
    low, high = 1.0, float(siblings)
    beta = _beta(wide_p, wide_q, low)
    if _any_of(beta, siblings) <= low * beta:
        return Level(p, q, siblings, low, beta)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        beta = _beta(wide_p, wide_q, middle)
        if _any_of(beta, siblings) <= middle * beta:
            high = middle
        else:
            low = middle
    return Level(p, q, siblings, high, _beta(wide_p, wide_q, high))


def _beta(p: Row, q: Row, rho: float) -> float:
    return min(1.0, float(np.minimum(p / rho, q).sum()))


def _any_of(acceptance_probability: float, times: int) -> float:
    return float(1.0 - (1.0 - acceptance_probability) ** times)


def _shared(tree: DraftTree, children: Sequence[int]) -> Tensor:
    """The one distribution that siblings were drawn from. Raises DraftError where there are several."""
    first = tree.proposals[children[0]]
    for child in children:
        other = tree.proposals[child]
        if first is None or other is None or not (other is first or torch.equal(other, first)):
            raise DraftError(
                f"node {child} was not drawn from the same distribution as its sibling {children[0]}, which K-SEQ "
                "needs; choose the verifier 'sequential'."
            )
    assert first is not None
    return first

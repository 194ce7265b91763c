"""A round's trials, verdicts, residual and last token, from recomputed p and q and the stored uniform draws.

Thresholds follow from the rules' declarations (`trace.declared_rule`). What rejected candidates leave of the target is
worked out in double precision over the whole vocabulary, from the rules' equations and not taken from the verifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import exp

import numpy as np

from specviz.live.audit.heads import ModelsSay
from specviz.live.audit.laws import Law, Number, Tally, normalised, spread
from specviz.protocol.audits import LAST_TOKENS, RESIDUALS, TRIALS, VERDICTS
from specviz.trace.declared_rule import OPERATIONS, KnownRule, evaluate
from specviz.trace.events import Node, Trial
from specviz.trace.rules.races import races_here, targets_key
from specviz.trace.rules.residuals import rejected_below
from specviz.trace.rules.scene import producer_of
from specviz.trace.uniform_draws import race_time, uniform

WHOLE = Number(1.0)
ANY = Number(0.5, 0.5)
"""a probability of which nothing is known"""
ratio, end_here = OPERATIONS["ratio"], OPERATIONS["end_here"]


@dataclass
class Level:
    """The candidates below one node while they are tried."""

    left: Law | None
    """the target's distribution after the rejected ones; None: it cannot be recomputed any more"""
    proposal_of: Callable[[Node, Sequence[Node]], Law | None]
    """(candidate, rejected before it) → what it was drawn from; None: not recomputed"""
    reach: Number = WHOLE
    """A: by how much the target is scaled before a candidate is subtracted (bottom-up rules); 1 elsewhere"""
    before: Number = WHOLE
    """A before the last rejected one"""
    mass: Number | None = None
    """s: what the last rejected one left; None: not recomputed"""
    unseen: bool = False
    """a rejected one was drawn from what is not recomputed"""
    rejected: list[Node] = field(default_factory=list)

    def proposal(self, child: Node) -> Law | None:
        return self.proposal_of(child, self.rejected)

    def probability(self, child: Node, p: Number, q: Number) -> Number:
        """min(1, A p/Q): A of a candidate from A of its parent."""
        return spread(lambda a, x, y: ratio(a * x, y), self.reach, p, q)

    def reject(self, child: Node, scales: bool) -> None:
        """max(0, A p − Q), normalised, is what the next one is tried against; with `scales` A becomes s/(s + 1 − A),
        and is as unknown as s where that is not recomputed."""
        drawn_from = self.proposal(child)
        self.rejected.append(child)
        self.unseen = self.unseen or drawn_from is None
        if self.left is None or drawn_from is None:
            self.left = self.mass = None
        else:
            self.left, self.mass = subtract(self.left, self.reach, drawn_from)
        if scales:
            self.before = self.reach
            self.reach = ANY if self.mass is None else spread(end_here, self.mass, self.reach)


def subtract(p: Law, scale: Number, q: Law) -> tuple[Law | None, Number]:
    """norm(max(0, A p − Q)) and its mass; None where what is left is within the precision of the two."""
    over = scale.value * p.probs - q.probs
    near = scale.value * p.near + scale.near * p.probs + q.near
    return normalised(over, near)


def kseq_beta(p: Law, q: Law, rho: float) -> Number:
    """beta = Σ min(p / rho, q) (SpecTr, 2310.15141)."""
    return Number(float(np.minimum(p.probs / rho, q.probs).sum()), float(np.maximum(p.near / rho, q.near).sum()))


def kseq_left(p: Law, q: Law, rho: float, siblings: int) -> tuple[Law | None, Number]:
    """norm(p − min(p / rho, q) (1 − (1 − beta)^K) / beta) and its mass."""
    factor = spread(lambda beta: (1 - (1 - min(1.0, beta)) ** siblings) / beta, kseq_beta(p, q, rho))
    both = np.minimum(p.probs / rho, q.probs)
    near = p.near + factor.value * np.maximum(p.near / rho, q.near) + factor.near * both
    return normalised(p.probs - factor.value * both, near)


UNKNOWN = "trials whose p or Q follows a candidate that was drawn from what is not recomputed"
ROUNDING = "trials after a rejection that left nothing but rounding"
SCALED = "reaches of paths above or beside such trials"


@dataclass
class Trials:
    """One round while its trials are gone through."""

    say: ModelsSay
    tally: Tally
    rule: KnownRule
    levels: dict[int, Level] = field(default_factory=dict)

    def audit(self) -> None:
        """Trials in their order, then the residual and the last token."""
        scene = self.say.scene
        subtracts = self.rule.numbers != "plain" or self.rule.order == "bottom_up"
        for index, trial in enumerate(scene.round.judged.trials):
            node = scene.round.nodes[trial.node]
            level = self._level(scene.level_of(node))
            self._trial(f"{scene.place}.judged.trials[{index}]", trial, node, level)
            if not trial.accepted and subtracts:
                level.reject(node, scales=self.rule.order == "bottom_up")
        self._last_token()

    def _level(self, parent: int) -> Level:
        if parent not in self.levels:
            self.levels[parent] = Level(self.say.target(parent), self.say.proposal, self._first_reach(parent))
        return self.levels[parent]

    def _first_reach(self, node_id: int) -> Number:
        """A of a node none of whose children was rejected; 1 where the rule does not scale."""
        if node_id == 0 or self.rule.order != "bottom_up":
            return WHOLE
        node = self.say.scene.round.nodes[node_id]
        above = self._level(node.parent)
        p, q = self._numbers(node, above, None)
        return ANY if p is None else above.probability(node, p, q)

    def _numbers(self, node: Node, level: Level, trial: Trial | None) -> tuple[Number | None, Number]:
        """p and Q of a candidate at its level; the recorded Q where it is not recomputed."""
        drawn_from = level.proposal(node)
        told = trial.draft_prob if trial is not None else node.draft_prob
        q = drawn_from[node.token] if drawn_from is not None else Number(told or 0.0)
        return (None if level.left is None else level.left[node.token]), q

    def _trial(self, place: str, trial: Trial, node: Node, level: Level) -> None:
        p, q = self._numbers(node, level, trial)
        if p is None:
            self.tally.skip(UNKNOWN if level.unseen else ROUNDING)
            return
        self.tally.number(TRIALS, f"{place}.target_prob", trial.target_prob, p, 0.0)
        if level.proposal(node) is not None:
            self.tally.number(TRIALS, f"{place}.draft_prob", trial.draft_prob, q, 0.0)
        terms = self._terms(trial, node, level, p, q)
        for name, due in terms.items():
            if name in trial.terms and due == ANY:
                self.tally.skip(SCALED)
            elif name in trial.terms:
                self.tally.number(TRIALS, f"{place}.terms.{name}", trial.terms[name], due, 0.0)
        threshold = self._threshold(trial, p, q, terms)
        self.tally.number(TRIALS, f"{place}.threshold", trial.threshold, threshold, 0.0)
        self._verdict(place, trial, node, level, threshold)

    def _threshold(self, trial: Trial, p: Number, q: Number, terms: dict[str, Number]) -> Number:
        """The rule's declared equation over recomputed numbers."""
        options = self.say.scene.started.verifier.options
        fixed = {name: float(value) for name, value in options.items() if isinstance(value, (int, float))}
        given = trial.terms | fixed
        names = ["p", "q", *(name for name in terms if name in trial.terms)]

        def equation(*numbers: float) -> float:
            return evaluate(self.rule.expression, given | dict(zip(names, numbers, strict=True)))

        return spread(equation, p, q, *(terms[name] for name in names[2:]))

    def _verdict(self, place: str, trial: Trial, node: Node, level: Level, threshold: Number) -> None:
        """Whether u, or what the rule goes by instead, makes of the threshold what was recorded."""
        told = "accepted" if trial.accepted else "rejected"
        if self.rule.draws and not self.rule.compares:
            self._followed(place, trial, node, level)
            return
        u = 0.5 if trial.u is None else trial.u
        close = abs(u - threshold.value) <= threshold.near
        due_told = "accepted" if u < threshold.value else "rejected"
        said = f"{told} with u {u:.6g}" if trial.u is not None else told
        holds = close or told == due_told
        self.tally.compare(VERDICTS, place, holds, said, f"{due_told} (threshold {threshold.value:.6g})")

    def _followed(self, place: str, trial: Trial, node: Node, level: Level) -> None:
        """The rule draws the target's own token at every visited node and accepts the candidate that has it."""
        scene = self.say.scene
        assert level.left is not None, "nothing is subtracted here."
        if producer_of(scene.started) != "engine":
            self.tally.skip("verdicts that follow a draw: another program's uniform draws are unknown here")
            return
        u = uniform(scene.started.seed, ("target", scene.round.base_length + node.depth - 1, 0))
        if trial.accepted:
            holds = level.left.points_to(node.token, u)
        else:
            holds = not self._surely(level.left, node.token, u)
        told, other = ("accepted", "rejected") if trial.accepted else ("rejected", "accepted")
        self.tally.compare(VERDICTS, place, holds, told, f"{other}, by a u of {u:.6g}")

    def _surely(self, law: Law, token: int, u: float) -> bool:
        """Whether u gives this token whatever rounding did."""
        start, own = law.below(token), law[token]
        slack = start.near + own.near + 1e-5
        return start.value + slack <= u < start.value + own.value - slack

    def _terms(self, trial: Trial, node: Node, level: Level, p: Number, q: Number) -> dict[str, Number]:
        """What the rule names of how its threshold came about, recomputed."""
        if self.rule.order == "bottom_up":
            below = self.levels.get(node.id)
            terms = {"parent_reach": level.reach, "reach": level.probability(node, p, q)}
            if below is not None and below.rejected:
                left = below.mass
                terms["reach"] = below.before
                return terms if left is None else terms | {"left": left}
            return terms
        law = self.say.target(node.parent)
        if "rho" in trial.terms and (q_law := self.say.draft(node.parent)) is not None:
            return {"beta": kseq_beta(law, q_law, trial.terms["rho"])}
        if "entropy" in trial.terms:
            return self._entropy(law)
        if "share" in trial.terms:
            raw = self.say.target_raw(node.parent)
            return {"share": spread(ratio, raw[node.token], raw[int(raw.probs.argmax())])}
        return {}

    def _entropy(self, law: Law) -> dict[str, Number]:
        """H in nats, and the bar min(epsilon, delta e^(-H))."""
        logs = np.log(np.where(law.probs > 0, law.probs, 1.0))
        entropy = Number(float(-(law.probs * logs).sum()), float((law.near * (np.abs(logs) + 1)).sum()))
        options = self.say.scene.started.verifier.options
        epsilon, delta = float(str(options["epsilon"])), float(str(options["delta"]))
        return {"entropy": entropy, "bar": spread(lambda h: min(epsilon, delta * exp(-h)), entropy)}

    def _residual(self) -> tuple[Law | None, Number | None]:
        """What the correction was drawn from, and its mass."""
        scene, judged = self.say.scene, self.say.scene.round.judged
        below = rejected_below(scene, judged.final_node)
        first = scene.round.nodes[below[0].node] if below else None
        level = self._level(judged.final_node if first is None else scene.level_of(first))
        if first is None or "rho" not in below[0].terms:
            return level.left, level.mass
        q = self.say.draft(first.parent)
        if q is None or level.left is None:
            return None, None
        return kseq_left(level.left, q, below[0].terms["rho"], len(below))

    def _raced(self, law: Law) -> None:
        """The last token won the race of its place."""
        scene, judged = self.say.scene, self.say.scene.round.judged
        key = targets_key(scene, scene.round.nodes[judged.final_node])
        times = np.array([race_time(scene.started.seed, key, token) for token in range(len(law.probs))])  # [V]
        with np.errstate(divide="ignore"):
            due = int((times / law.probs).argmin())
        where = f"{scene.place}.judged.token"
        self.tally.compare(LAST_TOKENS, where, law.wins(judged.token, times), judged.token, due)

    def _last_token(self) -> None:
        scene, judged, tally = self.say.scene, self.say.scene.round.judged, self.tally
        place = f"{scene.place}.judged"
        law: Law | None = self.say.target(judged.final_node)
        if judged.residual_mass is not None:
            law, mass = self._residual()
            if mass is None:
                tally.skip("residuals behind trials that are not recomputed")
                return
            tally.number(RESIDUALS, f"{place}.residual_mass", judged.residual_mass, mass, 0.0)
            if law is None:
                tally.skip("residuals and last tokens where nothing but rounding was left")
                return
            if judged.residual is not None:
                tally.head(RESIDUALS, f"{place}.residual", judged.residual, law)
        assert law is not None
        if judged.u is None and producer_of(scene.started) == "other" and not scene.greedy:
            tally.skip("last tokens that another engine drew without a uniform number")
        elif races_here(scene) and not scene.greedy:
            self._raced(law)
        elif judged.u is None:
            tally.compare(
                LAST_TOKENS, f"{place}.token", law.is_most_probable(judged.token), judged.token, int(law.probs.argmax())
            )
        elif producer_of(scene.started) == "engine":
            due = int(np.searchsorted(law.probs.cumsum(), judged.u, side="right"))
            tally.compare(LAST_TOKENS, f"{place}.token", law.points_to(judged.token, judged.u), judged.token, due)

"""What rounds cost, and what a stop policy would have made of logged ones: how its threshold is chosen.

    tokens of the round / (target pass over root and kept candidates + one drafter pass per level), in target passes

It is handed a decision per node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specviz.errors import TrainingError
from specviz.theory import metrics
from specviz.theory.formulas import StepTimes
from specviz.trace.events import Trace
from specviz.training.stop_classifiers.rounds import LoggedRound

GoesOn = Callable[[LoggedRound, int], bool]
"""whether candidates are drawn below this node"""


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured times; only their ratios count."""

    target: StepTimes
    """one target pass"""
    draft: float
    """one pass of the drafter over one row"""


def costs_of(traces: Sequence[Trace]) -> Costs:
    """The step times of the first header that has them; without any, one cost for all target passes, and the drafter's
    by the rounds' own passes. Raises TrainingError where the traces were not timed."""
    for trace in traces:
        header = trace.started
        if header.step_times and header.draft_step_s is not None:
            return Costs(StepTimes.of(header.step_times), header.draft_step_s)
    ratio = metrics.cost_ratio([this for trace in traces for this in trace.rounds])
    if ratio is None:
        raise TrainingError("these traces carry no times of drafter and target passes; learn from live runs.")
    return Costs(StepTimes((1,), (1.0,)), ratio)


@dataclass(frozen=True, slots=True)
class PolicyCost:
    """What a policy would have made of the logged rounds, no draft being longer than it was."""

    tokens_per_cost: float
    """tokens in the time of one target pass over one row"""
    tokens_per_pass: float
    wasted: float
    """candidates drafted in vain, per token"""


def outcome(rounds: Sequence[LoggedRound], costs: Costs, goes_on: GoesOn, looks_ahead: bool) -> PolicyCost:
    """`looks_ahead`: a node is decided on after the drafter has read it, so that a stop has cost that pass too."""
    tokens, cost, drafted = 0, 0.0, 0
    for logged_round in rounds:
        kept = {0}
        for node, parent in enumerate(logged_round.parents[1:], start=1):
            if parent in kept and (parent == 0 or goes_on(logged_round, parent)):
                kept.add(node)
        levels = max(logged_round.depths[node] for node in kept)
        passes = levels + (1 if looks_ahead and levels < max(logged_round.depths) else 0)
        tokens += 1 + sum(node in kept for node in logged_round.path)
        drafted += len(kept) - 1
        cost += (costs.target.at(len(kept)) + costs.draft * passes) / costs.target.at(1)
    accepted = tokens - len(rounds)
    return PolicyCost(tokens / cost, tokens / len(rounds), (drafted - accepted) / tokens)

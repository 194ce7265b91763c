"""From traces to what a classifier can learn from: what was known of each candidate and how likely it is accepted; and
what the logged rounds cost, and would have cost under another stop policy.

The probability of a candidate whose parent was accepted is min(1, p / q), as the soft label of SpecDec++ (2405.19715,
§3.2); at temperature 0 it is 0 or 1, DISCO's label (2405.04304). It does not depend on the verifier, and not on the
stop policy of the run either. A candidate below a rejected one has no label: its text was never written. Above
temperature 0 only the first of drawn siblings has one, since the others are judged by what the first leaves.

Tokens per cost, by which a threshold is chosen from a decision per node, is
tokens of the round / (target pass over root and kept candidates + one drafter pass per level), in target passes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from specviz.errors import TrainingError
from specviz.stop_policies.learned import HEAD, features
from specviz.theory import metrics
from specviz.theory.formulas import StepTimes
from specviz.trace.events import Node, Round, TopK, Trace

NO_ENTRY = 1e-3
"""a head shorter than asked for is whole where less than this lies outside"""


@dataclass(frozen=True, slots=True)
class LoggedRound:
    """One round. Nodes are those of the trace, the root being 0."""

    prompt: str
    """the same for runs of the same prompt"""
    parents: Sequence[int]
    depths: Sequence[int]
    path: Sequence[int]
    """accepted nodes from depth 1 on"""
    known: dict[int, list[float]]
    """candidate → its features, wherever the trace has what it takes"""
    labels: dict[int, float]
    """candidate → probability of being accepted, wherever that is known"""


def logged_rounds(trace: Trace) -> list[LoggedRound]:
    """The rounds of a trace in which something was drafted; empty where no model drafted.

    Raises TrainingError where the trace keeps too little of the drafter's distributions.
    """
    greedy = trace.started.sampling.temperature == 0
    rounds = [this for this in trace.rounds if len(this.nodes) > 1]
    if trace.started.drafter.model is None or not rounds:
        return []
    _check_heads(trace, greedy)
    prompt = hashlib.sha256(json.dumps(trace.started.prompt_ids).encode()).hexdigest()
    return [_logged(this, prompt, greedy) for this in rounds]


def _logged(this: Round, prompt: str, greedy: bool) -> LoggedRound:
    candidates = this.nodes[1:]
    known = {}
    for node in candidates:
        seen = _features(node, this.nodes[node.parent], greedy)
        if seen is not None:
            known[node.id] = seen
    return LoggedRound(
        prompt,
        [node.parent for node in this.nodes],
        [node.depth for node in this.nodes],
        this.judged.path,
        known,
        _labels(candidates, {0, *this.judged.path}),
    )


def _labels(candidates: Iterable[Node], reached: set[int]) -> dict[int, float]:
    labels: dict[int, float] = {}
    seen: set[int] = set()
    for node in candidates:
        first = node.parent not in seen
        seen.add(node.parent)
        if node.parent in reached and (first or node.kind == "point_mass") and node.draft_prob:
            labels[node.id] = min(1.0, (node.target_prob or 0.0) / node.draft_prob)
    return labels


def _features(node: Node, parent: Node, greedy: bool) -> list[float] | None:
    """As a stop policy sees the candidate; None where the trace does not say what the drafter gave it."""
    head = drafter_head(parent, greedy)
    if head is None or (node.kind == "point_mass" and not greedy):
        return None
    if not greedy:
        prob = node.draft_prob
    else:
        prob = dict(zip(head.tokens, head.probs, strict=True)).get(node.token)
    return None if prob is None else features(head.probs, prob, node.depth)


def drafter_head(parent: Node, greedy: bool) -> TopK | None:
    """What the drafter said follows: its own softmax at temperature 0, otherwise what was drawn from."""
    return parent.draft_raw if greedy else parent.draft


def _check_heads(trace: Trace, greedy: bool) -> None:
    heads = [head for this in trace.rounds for node in this.nodes if (head := drafter_head(node, greedy)) is not None]
    if not heads:
        raise TrainingError(
            f"the trace {trace.started.run_id} keeps no distributions of its drafter, so there is nothing to learn "
            "from; make it with `specviz run --trace`."
        )
    longest = max(len(head.probs) for head in heads)
    if longest < HEAD and any(head.rest > NO_ENTRY for head in heads):
        raise TrainingError(
            f"the trace {trace.started.run_id} keeps {longest} tokens of each distribution, but {HEAD} are looked at; "
            f"make it with --top {HEAD} or more."
        )


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

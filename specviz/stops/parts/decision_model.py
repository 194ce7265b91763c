"""The decision model of a fork: what it looks at, and how it is trained from logged rounds.

`python -m specviz.stops.parts.decision_model TRACE…` writes `assets/stops/decision.json` anew. Reads traces; knows
nothing about models, drafts or verifiers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from specviz.assets import ROOT
from specviz.errors import TrainingError
from specviz.trace import codec
from specviz.trace.events import Round, Trace

HEAD = 4
"""how many of the largest probabilities are looked at"""
SMALLEST = 1e-6
"""a trace keeps six decimals"""
LEAST_OF_A_KIND = 20
STEPS, RATE = 500, 0.05
HELD_OUT = 10
"""every tenth example is kept back (the paper: 90 to 10)"""


def features(head: Sequence[float], prob: float, depth: int) -> list[float]:
    """Of a candidate at `depth` to which the drafter gave `prob`, out of a distribution with the largest
    probabilities `head` (decreasing): their logarithms, that of `prob`, the entropy in nats of the head with the rest
    as one outcome, and the depth."""
    kept = [*head[:HEAD], *[0.0] * (HEAD - len(head))]
    entropy = -sum(p * log(p) for p in (*kept, 1.0 - sum(kept)) if p > SMALLEST)
    return [*(log(max(p, SMALLEST)) for p in (*kept, prob)), entropy, float(depth)]


def belief(weights: Mapping[str, Any], inputs: Sequence[float]) -> float:
    """Probability that a candidate with these features is accepted."""
    terms = zip(weights["weight"], inputs, weights["mean"], weights["scale"], strict=True)
    return 1.0 / (1.0 + exp(-weights["bias"] - sum(w * (x - m) / s for w, x, m, s in terms)))


def examples(traces: Sequence[Trace]) -> list[tuple[list[float], bool]]:
    """(features, accepted) of every candidate that was tried, wherever a trace says what the drafter thought of it."""
    return [one for trace in traces for this in trace.rounds for one in _of(this, trace.started.sampling.temperature)]


def _of(this: Round, temperature: float) -> Iterator[tuple[list[float], bool]]:
    for trial in this.judged.trials:
        node = this.nodes[trial.node]
        parent = this.nodes[node.parent]
        head = parent.draft if temperature > 0 else parent.draft_raw
        if head is None or (node.kind == "point_mass") != (temperature == 0):
            continue
        prob = node.draft_prob if temperature > 0 else dict(zip(head.tokens, head.probs, strict=True)).get(node.token)
        if prob is not None:
            yield features(head.probs, prob, node.depth), trial.accepted


def train(traces: Sequence[Trace]) -> dict[str, Any]:
    """Weights by logistic regression on balanced hard labels, with what they were made from and how they do on the
    tenth held out. Raises TrainingError where there is too little to learn from."""
    found = examples(traces)
    learnt = [one for place, one in enumerate(found) if place % HELD_OUT != HELD_OUT - 1]
    accepted = sum(label for _, label in learnt)
    if min(accepted, len(learnt) - accepted) < LEAST_OF_A_KIND:
        raise TrainingError(
            f"{len(traces)} traces hold {accepted} accepted and {len(learnt) - accepted} refused candidates to learn "
            f"from, but {LEAST_OF_A_KIND} of each are needed; make longer runs with a drafter that has a model."
        )
    x = torch.tensor([inputs for inputs, _ in learnt])
    y = torch.tensor([float(label) for _, label in learnt])
    mean, scale = x.mean(0), x.std(0).clamp_min(1e-3)
    weight = torch.zeros(x.shape[1] + 1, requires_grad=True)
    optimiser = torch.optim.Adam([weight], RATE)
    balance = torch.where(y > 0, len(y) / (2 * y.sum()), len(y) / (2 * (1 - y).sum()))
    rows = torch.cat([(x - mean) / scale, torch.ones(len(x), 1)], 1)
    for _ in range(STEPS):
        optimiser.zero_grad()
        functional.binary_cross_entropy_with_logits(rows @ weight, y, balance).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    *slopes, bias = weight.tolist()
    weights: dict[str, Any] = {"weight": slopes, "bias": bias, "mean": mean.tolist(), "scale": scale.tolist()}
    away = [one for place, one in enumerate(found) if place % HELD_OUT == HELD_OUT - 1]
    right = sum((belief(weights, inputs) > 0.5) == label for inputs, label in away)
    weights["made_from"] = {
        "traces": len(traces),
        "accepted": accepted,
        "refused": len(learnt) - accepted,
        "held_out": len(away),
        "held_out_accuracy": round(right / len(away), 4),
    }
    return weights


def main(arguments: Sequence[str]) -> None:
    weights = train([codec.read(Path(one)) for one in arguments])
    (ROOT / "stops" / "decision.json").write_text(json.dumps(weights) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(weights["made_from"]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Training as a whole: traces in, weights of a stop policy and an account of them out.

    traces ─► logged rounds ─► examples ─► fit ─► threshold by replaying the rounds ─► held-out numbers

Rounds of every fourth prompt are held out; where there are fewer than four prompts, the last quarter of the rounds, one
at least. The network is small: full batches, AdamW, a fixed number of steps, so the same examples give the same
weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from specviz.errors import OptionError, TrainingError
from specviz.lm.base import GivesHidden, LanguageModel
from specviz.protocol.runs import Learned
from specviz.stop_policies.base import STOP_POLICIES, Recipe
from specviz.stop_policies.learned import FEATURES, Layers, against_base_rate, logits
from specviz.trace.events import Trace
from specviz.training.stop_classifiers.rounds import GoesOn, LoggedRound, PolicyCost, costs_of, logged_rounds, outcome

WEIGHT_DECAY = 0.05
SEED = 7


@dataclass(frozen=True, slots=True)
class Fitted:
    """Trained weights. Inputs are standardised by `mean` and `scale` [in] first."""

    mean: Tensor
    scale: Tensor
    layers: Layers

    def predict(self, inputs: Tensor) -> Tensor:
        """inputs [n, in] → probabilities [n]."""
        return logits((inputs - self.mean) / self.scale, self.layers).sigmoid()


def fit(inputs: Tensor, labels: Tensor, recipe: Recipe) -> Fitted:
    """inputs [n, in], probabilities [n] in [0, 1].

    Binary cross-entropy with soft labels; the part that speaks for a rejection counts `reject_weight` times (SpecDec++,
    2405.19715, §3.2: 6).
    """
    mean, scale = inputs.mean(0), inputs.std(0, correction=0).clamp(min=1e-3)
    x = (inputs - mean) / scale
    layers = _fresh([inputs.shape[1], *recipe.widths, 1])
    parameters = [tensor for layer in layers for tensor in layer]
    optimiser = torch.optim.AdamW(parameters, lr=recipe.learning_rate, weight_decay=WEIGHT_DECAY)
    for_accept, for_reject = labels, recipe.reject_weight * (1.0 - labels)
    for step in range(recipe.steps):
        for group in optimiser.param_groups:
            group["lr"] = recipe.learning_rate * (1.0 - step / recipe.steps)
        optimiser.zero_grad()
        predicted = logits(x, layers)
        gain = for_accept * functional.logsigmoid(predicted) + for_reject * functional.logsigmoid(-predicted)
        loss = -gain.sum() / (for_accept + for_reject).sum()
        loss.backward()
        optimiser.step()
    return Fitted(mean, scale, [(weight.detach(), bias.detach()) for weight, bias in layers])


def _fresh(sizes: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    """Random weights; a residual block begins as no change at all."""
    generator = torch.Generator().manual_seed(SEED)
    layers = []
    for wide, narrow in pairwise(sizes):
        weight = torch.randn(narrow, wide, generator=generator) / wide**0.5
        layers.append(
            ((weight * 0.1 if wide == narrow else weight).requires_grad_(), torch.zeros(narrow).requires_grad_())
        )
    return layers


def accuracy(predicted: Tensor, labels: Tensor) -> float:
    """Expected share of right answers, "accepted" being said from 0.5 on: said and probabilities [n]."""
    return float(torch.where(predicted >= 0.5, labels, 1.0 - labels).mean())


def frequency(predicted: Tensor, recipe: Recipe) -> Tensor:
    """said [n] → the frequencies of acceptance [n] that it stands for: a rejection that counts w times in training
    makes the odds w times too low."""
    odds = recipe.reject_weight * predicted / (1.0 - predicted).clamp(min=1e-12)
    return odds / (1.0 + odds)


def log_loss(predicted: Tensor, labels: Tensor) -> float:
    """Cross-entropy in nats per example of said [n] against probabilities [n]."""
    predicted = predicted.double().clamp(1e-6, 1.0 - 1e-6)
    return float(-(labels * predicted.log() + (1.0 - labels) * (1.0 - predicted).log()).mean())


def auc(predicted: Tensor, labels: Tensor) -> float | None:
    """Probability that an accepted candidate got more than a rejected one, ties counting half; each example is accepted
    with its probability. None where there is only one kind."""
    order = predicted.argsort()
    values, mass, rest = predicted[order].double(), labels[order].double(), 1.0 - labels[order].double()
    positives, negatives = float(mass.sum()), float(rest.sum())
    if positives <= 0.0 or negatives <= 0.0:
        return None
    _, groups = values.unique_consecutive(return_inverse=True)
    by_group = torch.zeros(int(groups.max()) + 1, dtype=torch.float64).index_add(0, groups, rest)
    below = (by_group.cumsum(0) - by_group / 2)[groups]
    return float((mass * below).sum() / (positives * negatives))


LEAST_EXAMPLES = 60
LEAST_OF_A_KIND = 8
"""so many accepted and rejected candidates there must be"""
DIGITS = 5
"""significant digits of stored weights"""
THRESHOLDS = [number / 20 for number in range(1, 20)]


ModelOf = Callable[[Trace], LanguageModel]
"""the drafter's model of a trace; only called where hidden states are needed"""


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """Logged rounds with the numbers a policy sees at each candidate."""

    rounds: list[LoggedRound]
    inputs: list[dict[int, Tensor]]
    """per round, candidate → [in]"""

    def examples(self, chosen: Sequence[int]) -> tuple[Tensor, Tensor]:
        """(inputs [n, in], probabilities [n]) of the labelled candidates of these rounds."""
        pairs = [
            (self.inputs[i][node], label)
            for i in chosen
            for node, label in self.rounds[i].labels.items()
            if node in self.inputs[i]
        ]
        if not pairs:
            return torch.empty(0, 1), torch.empty(0)
        return torch.stack([inputs for inputs, _ in pairs]), torch.tensor([label for _, label in pairs])


def learnable() -> list[str]:
    """The stop policies that go by trained weights."""
    return [name for name, kind in STOP_POLICIES.items() if kind.recipe is not None]


def learn(traces: Sequence[Trace], policy: str, model_of: ModelOf) -> Learned:
    """Raises OptionError for a policy that learns nothing, TrainingError where the traces do not suffice."""
    recipe = STOP_POLICIES.get(policy).recipe
    if recipe is None:
        raise OptionError(f"the stop policy '{policy}' has nothing to learn; choose one of {', '.join(learnable())}.")
    read = [(trace, logged_rounds(trace)) for trace in traces]
    used = [one for one, rounds in read if rounds]
    training_set = _training_set(read, recipe, model_of)
    train, held_out = _split(training_set.rounds)
    inputs, labels = training_set.examples(train)
    _check_enough(labels, len(traces))
    fitted = fit(inputs, labels, recipe)
    return _account(policy, recipe, training_set, fitted, (train, held_out), used)


def _training_set(read: Sequence[tuple[Trace, list[LoggedRound]]], recipe: Recipe, model_of: ModelOf) -> TrainingSet:
    rounds = [logged for _, logged_of_trace in read for logged in logged_of_trace]
    if recipe.from_hidden:
        drafted = [trace for trace, logged_of_trace in read if logged_of_trace]
        return TrainingSet(rounds, [states for trace in drafted for states in hidden_states(trace, model_of(trace))])
    chosen = range(FEATURES) if recipe.features is None else recipe.features
    return TrainingSet(
        rounds,
        [{node: torch.tensor([known[i] for i in chosen]) for node, known in logged.known.items()} for logged in rounds],
    )


def _split(rounds: Sequence[LoggedRound]) -> tuple[list[int], list[int]]:
    """Indices of the rounds to train on and of those held out."""
    prompts = sorted({logged_round.prompt for logged_round in rounds})
    if len(prompts) >= 4:
        away = set(prompts[3::4])
        held_out = [i for i, logged_round in enumerate(rounds) if logged_round.prompt in away]
    else:
        held_out = list(range(len(rounds) - max(1, len(rounds) // 4), len(rounds)))
    return sorted(set(range(len(rounds))) - set(held_out)), held_out


def _check_enough(labels: Tensor, runs: int) -> None:
    accepted, rejected = float(labels.sum()), float((1.0 - labels).sum())
    if len(labels) < LEAST_EXAMPLES or min(accepted, rejected) < LEAST_OF_A_KIND:
        raise TrainingError(
            f"{runs} runs hold {len(labels)} judged candidates to learn from, about {accepted:.0f} accepted and "
            f"{rejected:.0f} rejected, but at least {LEAST_EXAMPLES} are needed and {LEAST_OF_A_KIND} of each kind; "
            f"make "
            "more or longer runs with a drafter that has a model and a longer draft."
        )


def _account(
    policy: str,
    recipe: Recipe,
    training_set: TrainingSet,
    fitted: Fitted,
    parts: tuple[list[int], list[int]],
    traces: Sequence[Trace],
) -> Learned:
    """Choose the threshold on the training rounds, and tell how all this does on the others."""
    train, held_out = ([training_set.rounds[i] for i in part] for part in parts)
    scores = {
        id(one): _scores(inputs, fitted) for one, inputs in zip(training_set.rounds, training_set.inputs, strict=True)
    }
    costs = costs_of(traces)

    def at(threshold: float, rounds: Sequence[LoggedRound]) -> PolicyCost:
        return outcome(rounds, costs, _rule(recipe, threshold, scores), recipe.whole_path)

    threshold = max(THRESHOLDS, key=lambda one: (at(one, train).tokens_per_cost, -abs(one - 0.5)))
    inputs, labels = training_set.examples(parts[1])
    _, trained_on = training_set.examples(parts[0])
    predicted = fitted.predict(inputs) if len(labels) else torch.empty(0)
    always = outcome(held_out, costs, lambda one, node: True, looks_ahead=False)
    reached = at(threshold, held_out)
    numbers: dict[str, int | float | str | None] = {
        "runs": len(traces),
        "prompts": len({one.prompt for one in training_set.rounds}),
        "rounds": len(training_set.rounds),
        "examples_trained_on": len(trained_on),
        "examples_held_out": len(labels),
        "held_out_accepted": round(float(labels.mean()), 4) if len(labels) else None,
        "held_out_accuracy": round(accuracy(predicted, labels), 4) if len(labels) else None,
        "held_out_log_loss": round(log_loss(frequency(predicted, recipe), labels), 4) if len(labels) else None,
        "held_out_log_loss_of_base_rate": (
            round(log_loss(torch.full_like(labels, float(trained_on.mean())), labels), 4) if len(labels) else None
        ),
        "held_out_auc": None if (area := auc(predicted, labels)) is None else round(area, 4),
        "threshold": threshold,
        "draft_cost": round(costs.draft / costs.target.at(1), 4),
        "modelled_gain": round(reached.tokens_per_cost / always.tokens_per_cost, 4),
        "tokens_per_pass": round(reached.tokens_per_pass, 4),
        "tokens_per_pass_whole_drafts": round(always.tokens_per_pass, 4),
        "wasted_per_token": round(reached.wasted, 4),
        "wasted_per_token_whole_drafts": round(always.wasted, 4),
    }
    return Learned(policy, _weights(policy, fitted, threshold, traces, numbers), _sentence(policy, numbers), numbers)


def _scores(inputs: Mapping[int, Tensor], fitted: Fitted) -> dict[int, float]:
    if not inputs:
        return {}
    predicted: list[float] = fitted.predict(torch.stack(list(inputs.values()))).tolist()
    return dict(zip(inputs, predicted, strict=True))


def _rule(recipe: Recipe, threshold: float, scores: Mapping[int, Mapping[int, float]]) -> GoesOn:
    """What the policy would decide at a node; it goes on where a trace does not say what it would have seen."""
    if recipe.whole_level:
        return lambda logged, node: any(
            scores[id(logged)].get(other, 1.0) >= threshold for other in _level(logged, logged.depths[node])
        )
    if not recipe.whole_path:
        return lambda logged, node: scores[id(logged)].get(node, 1.0) >= threshold

    def goes_on(logged_round: LoggedRound, node: int) -> bool:
        deep, survives = logged_round.depths[node] >= recipe.least, 1.0
        while node > 0:
            survives *= scores[id(logged_round)].get(node, 1.0)
            node = logged_round.parents[node]
        return not deep or 1.0 - survives <= threshold

    return goes_on


def _level(logged_round: LoggedRound, depth: int) -> list[int]:
    """All candidates of a level: where levels go on as wholes, all of them are drafted or none."""
    return [node for node, at in enumerate(logged_round.depths) if at == depth]


def _weights(
    policy: str, fitted: Fitted, threshold: float, traces: Sequence[Trace], numbers: Mapping[str, Any]
) -> dict[str, Any]:
    """Plain data, as it is shipped."""
    first = traces[0].started
    assert first.drafter.model is not None
    return {
        "policy": policy,
        "drafter_sha256": first.drafter.model.weights_sha256,
        "threshold": threshold,
        "mean": _rounded(fitted.mean),
        "scale": _rounded(fitted.scale),
        "layers": [{"weight": [_rounded(row) for row in w], "bias": _rounded(b)} for w, b in fitted.layers],
        "made_from": {
            "target": first.target.name,
            "target_sha256": first.target.weights_sha256,
            "drafter": first.drafter.model.name,
            "temperatures": sorted({trace.started.sampling.temperature for trace in traces}),
            "producer": first.producer,
            **numbers,
        },
    }


def _rounded(row: Tensor) -> list[float]:
    return [float(f"{number:.{DIGITS}g}") for number in row.tolist()]


def _sentence(policy: str, numbers: Mapping[str, Any]) -> str:
    """What a visitor is told."""
    area = "" if numbers["held_out_auc"] is None else f" and an AUC of {numbers['held_out_auc']:.3f}"
    right, loss = numbers["held_out_accuracy"], numbers["held_out_log_loss"]
    quality = (
        "nothing was left to test it on" if right is None else f"right on {right:.1%} of held-out candidates{area}"
    )
    return (
        f"{policy} learnt from {numbers['examples_trained_on']} candidates of {numbers['runs']} runs: {quality}. "
        f"{'' if loss is None else against_base_rate(loss, numbers['held_out_log_loss_of_base_rate']) + ' '}Its "
        f"threshold {numbers['threshold']:.2f} gives the most tokens for the time of the logged rounds, modelled from "
        f"measured passes; on held-out rounds that is {numbers['modelled_gain']:.2f} times what whole drafts give, "
        f"with {numbers['wasted_per_token']:.2f} instead of {numbers['wasted_per_token_whole_drafts']:.2f} wasted "
        "candidates per token."
    )


@torch.inference_mode()
def hidden_states(trace: Trace, model: LanguageModel) -> list[dict[int, Tensor]]:
    """Per round in which something was drafted: candidate → last hidden state [H] once it was read, float32 on the CPU.

    Raises TrainingError where the model is not the one that drafted, or gives none.
    """
    _check_model(trace, model)
    assert isinstance(model, GivesHidden)
    cache = model.new_cache()
    text = list(trace.started.prompt_ids)
    model.forward(text, cache, last_only=True)
    cache.keep(range(len(text)))
    states_below = []
    for this in trace.rounds:
        if len(this.nodes) > 1:
            parents = [cache.length - 1 + node.parent for node in this.nodes[1:]]
            _, states = model.forward_hidden([node.token for node in this.nodes[1:]], cache, parents)
            after = zip(this.nodes[1:], states.float().cpu(), strict=True)
            states_below.append({node.id: state for node, state in after})
            cache.keep([])
        committed = [token.token for token in this.committed.tokens]
        before = cache.length
        if before + len(committed) < model.info.context_length:
            model.forward(committed, cache, last_only=True)
            cache.keep(range(before, cache.length))
    return states_below


def _check_model(trace: Trace, model: LanguageModel) -> None:
    drafted = trace.started.drafter.model
    if drafted is None or drafted.weights_sha256 != model.info.weights_sha256:
        raise TrainingError(
            f"the trace {trace.started.run_id} was drafted with other weights than {model.info.name} has here, and "
            "hidden states can be had of its own drafter alone; make new runs."
        )
    if not isinstance(model, GivesHidden):
        raise TrainingError(f"{model.info.name} gives no hidden states; learn another stop policy.")

"""Traces to weights: what is learnt from, how good it is, and what a threshold would have made of logged rounds."""

from dataclasses import replace
from math import exp

import pytest
import torch

from specviz.errors import OptionError, TrainingError
from specviz.live.source import LiveSource, collect
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.stop_policies.base import STOP_POLICIES, Recipe
from specviz.stop_policies.learned import Network, shipped
from specviz.theory.formulas import StepTimes
from specviz.training.stop_classifiers.learn import _rule, _split, accuracy, auc, fit, learnable
from specviz.training.stop_classifiers.rounds import Costs, LoggedRound, logged_rounds, outcome
from tests.proof.letters import toy_loader, toy_source

RUN = RunRequest("abcab", drafter=Choice("model", {"gamma": 4}), max_new_tokens=40)


@pytest.fixture(scope="module")
def source():
    return toy_source()


@pytest.fixture(scope="module")
def traces(source):
    """Runs of toy models, warm, at eight prompts."""
    return [collect(source, replace(RUN, prompt=letter + "ab", temperature=1.0)) for letter in "abcde"]


def test_a_label_is_how_often_the_lossless_rule_accepts(traces):
    """min(1, p/q) where the prefix became text; nothing below a rejection."""
    trace = traces[0]
    for this, logged in zip([one for one in trace.rounds if len(one.nodes) > 1], logged_rounds(trace), strict=True):
        judged = this.judged.trials
        assert list(logged.labels) == [trial.node for trial in judged]
        assert list(logged.labels.values()) == pytest.approx([trial.threshold for trial in judged], abs=1e-4)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_trace_shows_what_the_policy_saw_in_the_run(source, monkeypatch, temperature):
    """Or it would learn from other numbers than it is asked with."""
    seen = []
    monkeypatch.setattr(Network, "predict", lambda self, inputs: seen.append(inputs.tolist()) or 1.0)
    trace = collect(source, replace(RUN, temperature=temperature, stop_policy=Choice("decision")))
    asked = [one for one in seen if any(one)]
    logged = [one.known[i] for one in logged_rounds(trace) for i in sorted(one.known) if i < len(one.parents) - 1]
    assert len(asked) == len(logged) > 5
    for live, kept in zip(asked, logged, strict=True):
        assert [exp(x) for x in live[:11]] == pytest.approx([exp(x) for x in kept[:11]], abs=2e-6)
        assert live[11:] == pytest.approx(kept[11:], abs=1e-4)


def test_training_is_repeatable_and_its_weights_run(source, traces):
    first, second = source.learn(traces, "disco"), source.learn(traces, "disco")
    assert first == second
    assert 0.0 < first.weights["threshold"] < 1.0
    assert first.numbers["prompts"] == 5
    assert "held-out candidates" in first.sentence
    trace = collect(source, replace(RUN, stop_policy=Choice("disco"), stop_policy_weights=first.weights))
    assert trace.rounds[0].drafted.note["stop_weights"] == Network(first.weights).digest


def test_a_head_on_hidden_states_is_trained_on_the_drafter_of_the_runs(source, traces):
    learned = source.learn(traces[:3], "specdecpp")
    assert len(learned.weights["mean"]) == 6
    trace = collect(source, replace(RUN, stop_policy=Choice("specdecpp"), stop_policy_weights=learned.weights))
    assert trace.finished.reason != "failed"
    other = LiveSource(load=lambda name, **given: toy_loader()("drafter-weak", **given), measure=False)
    with pytest.raises(TrainingError, match="drafted with other weights"):
        other.learn(traces[:3], "specdecpp")


def test_a_level_that_goes_on_as_a_whole_is_replayed_as_one(source, traces):
    """Nodes 1 and 2 are siblings, 3 below 1 and 4 below 2: where 1 alone is believed in, 4 is drafted as well."""
    fork = LoggedRound("p", [-1, 0, 0, 1, 2], [0, 1, 1, 2, 2], [2, 4], {}, {})
    scores = {id(fork): {1: 0.9, 2: 0.1}}
    whole, single = (
        _rule(Recipe(widths=(), from_hidden=False, whole_level=whole), 0.5, scores) for whole in (True, False)
    )
    assert [whole(fork, node) for node in (1, 2)] == [True, True]
    assert [single(fork, node) for node in (1, 2)] == [True, False]
    assert not _rule(Recipe(widths=(), from_hidden=False, whole_level=True), 0.95, scores)(fork, 1)


def test_the_decision_network_is_small_and_learnt_alike(source, traces):
    learned = source.learn(traces, "decision")
    assert [len(one["weight"]) for one in learned.weights["layers"]] == [32, 1]
    assert len(learned.weights["mean"]) == 13
    trace = collect(source, replace(RUN, stop_policy=Choice("decision"), stop_policy_weights=learned.weights))
    assert trace.rounds[0].drafted.note["stop_weights"] == Network(learned.weights).digest


def test_too_little_to_learn_from_says_how_much_there_is(source, traces):
    with pytest.raises(TrainingError, match=r"1 runs hold .* but at least 60"):
        source.learn(traces[:1], "disco")
    with pytest.raises(OptionError, match="nothing to learn; choose one of decision, disco, specdecpp"):
        source.learn(traces, "fixed")


@pytest.mark.parametrize(("rounds", "held_out"), [(2, [1]), (3, [2]), (9, [7, 8])])
def test_of_few_rounds_one_is_held_out_too(rounds, held_out):
    one = LoggedRound("p", [-1, 0], [0, 1], [1], {}, {})
    assert _split([one] * rounds) == ([*range(held_out[0])], held_out)


def test_a_trace_with_short_heads_is_refused_with_the_cure(source):
    with pytest.raises(TrainingError, match=r"keeps 2 tokens .* --top 10"):
        source.learn([collect(source, replace(RUN, temperature=1.0, top=2))], "disco")


def test_the_network_learns_a_line_and_weighs_rejections():
    x = torch.linspace(-1, 1, 200).unsqueeze(1)
    labels = (x[:, 0] > 0.2).float()
    said = fit(x, labels, Recipe(widths=(4,), from_hidden=False)).predict(x)
    assert accuracy(said, labels) > 0.95
    half = torch.full((50,), 0.5)
    same = fit(torch.zeros(50, 1), half, Recipe(widths=(), from_hidden=False, reject_weight=3.0))
    assert float(same.predict(torch.zeros(1, 1))) == pytest.approx(0.25, abs=0.02)  # unweighted it would be 0.5


def test_auc_and_accuracy_with_soft_labels():
    said = torch.tensor([0.9, 0.6, 0.6, 0.1])
    assert auc(said, torch.tensor([1.0, 1.0, 0.0, 0.0])) == pytest.approx(3.5 / 4)
    assert auc(said, torch.tensor([0.5, 0.5, 0.5, 0.5])) == pytest.approx(0.5)
    assert auc(said, torch.ones(4)) is None
    assert accuracy(said, torch.tensor([1.0, 0.5, 0.0, 0.25])) == pytest.approx((1 + 0.5 + 0 + 0.75) / 4)


def test_what_a_shorter_draft_would_have_cost():
    """A chain of 3 of which 2 were accepted. Cut after the first candidate: 2 tokens, one pass of each model."""
    chain = LoggedRound("p", [-1, 0, 1, 2], [0, 1, 2, 3], [1, 2], {}, {})
    costs = Costs(StepTimes((1, 2, 4), (1.0, 1.5, 2.0)), draft=0.25)
    whole = outcome([chain], costs, lambda one, node: True, looks_ahead=False)
    assert (whole.tokens_per_cost, whole.tokens_per_pass, whole.wasted) == (3 / 2.75, 3.0, 1 / 3)
    cut = outcome([chain], costs, lambda one, node: node < 1, looks_ahead=False)
    assert (cut.tokens_per_cost, cut.tokens_per_pass, cut.wasted) == (2 / 1.75, 2.0, 0.0)
    assert outcome([chain], costs, lambda one, node: node < 1, looks_ahead=True).tokens_per_cost == 2 / 2.0


def test_every_policy_that_learns_has_shipped_weights_that_fit_it():
    assert learnable() == ["decision", "disco", "specdecpp"]
    for name in learnable():
        kind = STOP_POLICIES.get(name)
        stop = kind.of({})
        assert stop.network.digest == shipped(name).digest

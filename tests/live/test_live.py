"""The live source: names to methods, what is refused before anything is loaded, what the header says."""

import re
from dataclasses import replace

import pytest
import torch

from specviz.cli.sources import live_source
from specviz.drafters.base import DRAFTERS, DraftPolicies
from specviz.engine.header import Participants
from specviz.errors import ModelError, OptionError, PairingError
from specviz.live.plan import make_plan
from specviz.live.run import _tune
from specviz.live.source import LiveSource, collect
from specviz.protocol.choice import Choice, with_choices
from specviz.protocol.runs import RunRequest, request_of
from specviz.trace.header import StepTime
from specviz.tree_policies.base import TREE_POLICIES
from tests.proof.letters import toy_loader, toy_source

REQUEST = RunRequest("abc", max_new_tokens=8)


class Counting:
    def __init__(self):
        self.loaded = []
        self._load = toy_loader()

    def __call__(self, name, device, dtype):
        self.loaded.append((name, device, dtype))
        return self._load(name, device, dtype)


def test_auto_judges_greedily_at_temperature_zero_and_sequentially_above():
    assert make_plan(REQUEST).verifier.name == "greedy"
    assert make_plan(replace(REQUEST, temperature=0.5)).verifier.name == "sequential"


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"drafter": "modle"}, OptionError, "no drafter called 'modle'; did you mean 'model'"),
        ({"verifier": "gredy"}, OptionError, "did you mean 'greedy'"),
        ({"drafter_options": {"gama": 3}}, OptionError, "no option 'gama' here; did you mean 'gamma'"),
        ({"drafter_options": {"gamma": 99}}, OptionError, "gamma is 99"),
        ({"temperature": 99.0}, OptionError, "temperature is 99"),
        ({"verifier": "greedy", "temperature": 0.7}, PairingError, "works at temperature 0 only.*0.7.*'sequential'"),
        ({"max_new_tokens": 0}, OptionError, "max_new_tokens is 0"),
        ({"top": 0}, OptionError, "top is 0"),
        ({"stop": ("",)}, OptionError, "stop string is empty"),
    ],
)
def test_what_cannot_run_is_refused_by_one_sentence_and_explained_by_the_same(changes, error, message):
    request = replace(REQUEST, **with_choices(changes))
    with pytest.raises(error, match=message) as caught:
        collect(toy_source(), request)
    assert toy_source().explain(request) == str(caught.value)


def test_a_request_that_can_run_needs_no_explanation_and_loads_nothing():
    load = Counting()
    assert LiveSource(load=load).explain(REQUEST) is None
    assert load.loaded == []


def test_an_unknown_model_is_explained_without_loading():
    reason = LiveSource().explain(replace(REQUEST, target="no-such-model"))
    assert "there is no model 'no-such-model'" in reason


def test_models_are_loaded_once_per_name_device_and_dtype():
    load = Counting()
    source = LiveSource(load=load, measure=False)
    collect(source, REQUEST)
    collect(source, REQUEST)
    assert load.loaded == [("target", "auto", "auto"), ("drafter", "auto", "auto")]
    collect(source, replace(REQUEST, dtype="float32", drafter=Choice("ngram")))
    assert load.loaded[2:] == [("target", "auto", "float32")]


def test_warming_loads_the_default_pair_and_says_so():
    load = Counting()
    source = LiveSource(load=load)
    assert source.status() == "models not loaded yet"
    source.warm()
    assert source.status() == "engine ready"
    assert [name for name, _, _ in load.loaded] == ["target", "drafter"]


def test_while_the_loaded_models_are_timed_they_are_not_called_ready(monkeypatch):
    source, said = LiveSource(load=Counting()), []
    monkeypatch.setattr(Participants, "measure", lambda self: said.append(source.status()))
    source.warm()
    assert said == ["models loaded, timing their passes…"]
    assert source.status() == "engine ready"


def test_once_the_bundled_models_are_ready_no_other_model_is_said_to_be_or_not_to_be():
    def load(name, device, dtype):
        said.append(source.status())
        if name == "another":
            raise ModelError("no weights here; train some.")
        return Counting()(name, device, dtype)

    said, source = [], LiveSource(load=load)
    source.warm()
    assert said == ["loading target…", "loading drafter…"]
    with pytest.raises(ModelError):
        collect(source, replace(REQUEST, target="another"))
    assert (said[2:], source.status()) == (["engine ready"], "engine ready")


def test_a_model_that_does_not_load_is_reported_in_the_status():
    def broken(name, device, dtype):
        raise ModelError("no weights here; train some.")

    source = LiveSource(load=broken)
    with pytest.raises(ModelError):
        source.warm()
    assert "no weights here; train some." in source.status()


def test_the_header_holds_what_it_takes_to_run_again():
    started = collect(
        toy_source(), replace(REQUEST, temperature=0.5, drafter=Choice("model", {"branching": "2,1"}))
    ).started
    assert (started.source, started.seed, started.max_new_tokens) == ("live", 7, 8)
    assert started.drafter.options == {"branching": [2, 1], "draw": "auto"}
    assert (started.target.adapter, started.drafter.model.name) == ("table", "table-6-2")
    assert (started.sampling.temperature, started.sampling.top_k, started.sampling.top_p) == (0.5, 0, 1.0)
    assert (started.prompt_text, started.prompt_ids) == ("abc", [1, 2, 3])
    assert started.machine.dtype == "float64"
    assert len(started.run_id) == 16


def test_runs_have_different_ids_where_anything_differs():
    source = toy_source()
    assert collect(source, REQUEST).started.run_id != collect(source, replace(REQUEST, seed=8)).started.run_id


def test_measured_step_times_travel_with_the_run():
    started = collect(LiveSource(load=toy_loader()), REQUEST).started
    assert [one.rows for one in started.step_times][:4] == [1, 2, 4, 8]
    assert started.draft_step_s > 0


@pytest.fixture
def only_two_rows_are_cheap(monkeypatch):
    curve = [StepTime(rows, 8, seconds, seconds, seconds) for rows, seconds in ((1, 1.0), (2, 1.0), (3, 9.0))]
    monkeypatch.setattr("specviz.engine.header.step_times", lambda model: curve)


@pytest.mark.parametrize(("options", "nodes"), [({"fit": True}, 1), ({}, 16)])
def test_a_drafter_is_sized_by_the_measured_step_times_on_request_and_the_header_says_how(
    only_two_rows_are_cheap, options, nodes
):
    request = RunRequest("abc", drafter=Choice("token_recycling", options))
    started = collect(LiveSource(load=toy_loader()), request).started
    assert (started.drafter.options["nodes"], started.drafter.options["fit"]) == (nodes, False)


def test_trees_are_not_sized_for_a_drafter_whose_passes_were_not_measured(only_two_rows_are_cheap):
    """Parts of the target are not free: with a draft that costs nothing, trees would come out too deep."""
    target = toy_loader()("target", "cpu", "float64")
    drafter = DRAFTERS.get("model").of({})
    sequoia = TREE_POLICIES.get("sequoia")
    for drafting, fitted in ((None, False), (target, True)):
        drafter.follow(DraftPolicies(sequoia.of({"fit": True})))
        who = Participants(target, drafting)
        who.measure()
        _tune(drafter, who)
        assert (drafter.policies().tree_policy.options.fit is False) == fitted


@pytest.mark.parametrize(
    ("options", "tree_policy", "sentence"),
    [
        ({"gamma": "9"}, "chain", "gamma of the drafter 'model' is 9, but the tree policy 'chain' decides the shape"),
        ({"branching": "3,2,1"}, "dyspec", r"branching of the drafter 'model' is \[3, 2, 1\], but .* 'dyspec' decides"),
        ({"draw": "iid"}, "levels", r"leave draw out and use the policy's own options \(budget, branching, draw\)"),
        ({"gamma": "9", "branching": "2,1"}, "auto", "gamma is 9, but branching 2,1 replaces it; leave it at 4"),
    ],
)
def test_a_shape_that_would_be_ignored_is_refused_with_what_decides_instead(options, tree_policy, sentence):
    """`--tree-policy chain --gamma 9` once drafted 4 and reported 9."""
    request = replace(REQUEST, drafter=Choice("model", options), tree_policy=Choice(tree_policy))
    assert re.search(sentence, toy_source().explain(request))


def test_the_header_reports_no_shape_that_was_not_drafted():
    request = replace(REQUEST, tree_policy=Choice("chain", {"length": 2}))
    started = collect(toy_source(), request).started
    assert (started.drafter.options, started.tree_policy.options["length"]) == ({}, 2)
    again = replace(request_of(started), target=REQUEST.target, drafter_model=REQUEST.drafter_model)
    assert collect(toy_source(), again).started.tree_policy == started.tree_policy


def test_a_request_names_tree_and_stop_policy_and_the_header_says_what_they_were():
    policies = {
        "tree_policy": Choice("sequoia", {"budget": 3}),
        "stop_policy": Choice("confidence", {"threshold": 0.1}),
    }
    request = RunRequest("ab", **policies, temperature=1.0, max_new_tokens=8)
    started = collect(LiveSource(load=toy_loader(), measure=False), request).started
    seen = (started.tree_policy.name, started.tree_policy.options["budget"], started.tree_policy.lossless)
    assert seen == ("sequoia", 3, True)
    assert (started.stop_policy.name, started.stop_policy.options) == ("confidence", {"longest": 0, "threshold": 0.1})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tree_policy": "rsdc"}, "there is no tree policy called 'rsdc'; did you mean 'rsd_c'?"),
        ({"stop_policy": "heuristics"}, "there is no stop policy called 'heuristics'; did you mean 'heuristic'?"),
        (
            {"tree_policy_options": {"budget": 3}},
            "the tree policy is 'auto', which has no options, but budget was given",
        ),
        ({"tree_policy": "eagle2", "tree_policy_options": {"width": 99}}, "width is 99, but must be between 1 and 16"),
        ({"drafter": "ngram", "tree_policy": "chain"}, "makes its drafts in its own way and has no tree policy"),
        ({"drafter": "none", "stop_policy": "entropy"}, "makes its drafts in its own way and has no stop policy"),
    ],
)
def test_policies_that_cannot_be_are_explained(changes, reason):
    assert reason in LiveSource(load=toy_loader(), measure=False).explain(RunRequest("ab", **with_choices(changes)))


def test_a_command_s_threads_are_those_of_the_process() -> None:
    before = torch.get_num_threads()
    live_source(threads=2)
    assert torch.get_num_threads() == 2
    live_source()
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)

"""The gallery: every method that can be chosen has a recorded run, and every recorded run is there."""

import tomllib
from pathlib import Path

import pytest

from specviz.drafters.base import DRAFTERS
from specviz.lm.load import load
from specviz.stop_policies.base import STOP_POLICIES
from specviz.studies.heads.result import STUDY as HEADS
from specviz.trace import cautions, codec
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS

FOLDER = Path(__file__).parents[2] / "assets" / "traces"
RECORDINGS = tomllib.loads((FOLDER / "recordings.toml").read_text(encoding="utf-8"))["recording"]


@pytest.fixture(scope="module")
def headers():
    return [codec.read(FOLDER / f"{one['name']}.json.gz").started for one in RECORDINGS]


def test_every_method_has_a_recorded_run(headers):
    recorded = {
        "drafter": {one.drafter.name for one in headers},
        "verifier": {one.verifier.name for one in headers},
        "tree policy": {one.tree_policy.name for one in headers if one.tree_policy is not None},
        "stop policy": {one.stop_policy.name for one in headers if one.stop_policy is not None} | {"fixed"},
    }
    registered = {
        "drafter": DRAFTERS,
        "verifier": VERIFIERS,
        "tree policy": TREE_POLICIES,
        "stop policy": STOP_POLICIES,
    }
    missing = {kind: sorted(set(names.names()) - recorded[kind]) for kind, names in registered.items()}
    assert missing == {kind: [] for kind in registered}


def test_no_trace_lies_there_that_the_list_does_not_make():
    assert sorted(path.name for path in FOLDER.glob("*.json.gz")) == sorted(
        f"{one['name']}.json.gz" for one in RECORDINGS
    )


def test_all_recordings_together_stay_small():
    assert sum(path.stat().st_size for path in FOLDER.glob("*.json.gz")) < 2_000_000


@pytest.fixture(scope="module")
def weights():
    return {role: load(role).info.weights_sha256 for role in ("target", "drafter")}


def test_recordings_are_of_the_bundled_weights(headers, weights):
    """If this fails: `specviz record`."""
    scenes = [one for one in headers if one.scene is not None]
    headers = [one for one in headers if one.scene is None and one.chat_message is None]
    assert {(one.target.weights_sha256, one.drafter.model.weights_sha256) for one in scenes} == {
        (load("captioner").info.weights_sha256, load(f"caption-drafter-{kind}").info.weights_sha256)
        for kind in ("tuned", "eyes")
    }
    assert {one.target.weights_sha256 for one in headers} == {weights["target"]}
    drafters = {weights["drafter"], load("drafter-weak").info.weights_sha256}
    assert {one.drafter.model.weights_sha256 for one in headers if one.drafter.model} == drafters


def test_answers_to_messages_are_of_one_real_model_and_drafted_by_what_needs_no_second_one(headers):
    answers = [one for one in headers if one.chat_message is not None]
    assert {one.target.name for one in answers} == {"smollm2"}
    assert len({one.target.weights_sha256 for one in answers}) == 1
    assert {one.drafter.model for one in answers} == {None}


def test_the_alpha_of_smaller_heads_is_of_the_bundled_weights(weights):
    """If this fails: `specviz study heads --write`."""
    assert HEADS.shipped().models == weights


def test_the_lossy_distances_are_of_the_bundled_weights_and_of_every_lossy_method(weights):
    measured = cautions.measured_distances()
    again = "the distances are of other models or methods; run `specviz prove lossy --write`"
    assert measured["models"] == weights, again
    methods = [*VERIFIERS.items(), *TREE_POLICIES.items(), *DRAFTERS.items(), *STOP_POLICIES.items()]
    lossy_ones = {name for name, kind in methods if not kind.lossless}
    assert {one["method"] for one in measured["rows"]} == {"sequential", *lossy_ones}, again

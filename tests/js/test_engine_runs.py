"""Whole runs of the browser's engine under node: sound traces, and those that the Python engine writes in float32."""

from pathlib import Path
from typing import Any

import pytest

from specviz.live.audit.audit import audit
from specviz.live.source import LiveSource
from specviz.lm.load import LoadedModel, load
from specviz.trace.check import check
from specviz.trace.codec import dumps, loads
from specviz.trace.events import VERSION, Trace
from specviz.trace.uniform_draws import uniform
from tests.js.engine import answer, asked, assert_same_run, engines, prompts, unpacked_modules, written
from tests.js.recordings import FEWEST_EQUAL, TIE, parting

TREE = {"branching": [3, 2, 1]}
COPIES = {"continuations": 3}
PAIRS = {"branching": [2, 2], "draw": "iid"}
SHORT = {"max_new_tokens": 20}
LONG_PROMPT = 60
"""of 1,260 characters, among the prompts that are short; reading it takes as long as three short runs"""
GREEDY: list[dict[str, Any]] = [
    {"drafter": "none"},
    {"drafter": "model"},
    {"drafter": "model", "drafter_options": {"gamma": 7}, "drafter_model": "drafter-weak"},
    {"drafter": "model", "drafter_options": TREE},
    {"drafter": "ngram", "drafter_options": {"gamma": 6}},
    {"drafter": "ngram", "drafter_options": COPIES},
    {"drafter": "token_recycling"},
    {"drafter": "eagle"},
    {"drafter": "eagle", "drafter_options": TREE},
    {"drafter": "medusa"},
    {"drafter": "medusa", "drafter_options": {"nodes": 0, "gamma": 3}},
]
SAMPLED: list[dict[str, Any]] = [
    {"drafter": "none", "temperature": 1.0, "seed": 12},
    {"drafter": "model", "temperature": 0.8, "seed": 8},
    {"drafter": "model", "temperature": 1.0, "seed": 14, "drafter_options": TREE, "drafter_model": "drafter-weak"},
    {"drafter": "model", "temperature": 1.0, "seed": 3, "drafter_options": PAIRS},
    {"drafter": "model", "temperature": 0.9, "seed": 4, "top_k": 20, "top_p": 0.9},
    {"drafter": "model", "temperature": 0.8, "seed": 5, "verifier": "naive", "drafter_model": "drafter-weak"},
    {"drafter": "model", "temperature": 0.8, "seed": 6, "verifier": "specinfer"},
    {"drafter": "model", "temperature": 0.8, "seed": 6, "verifier": "lenience", "verifier_options": {"lenience": 0.3}},
    {"drafter": "model", "temperature": 0.8, "seed": 6, "verifier": "longest_path", "drafter_options": TREE},
    {"drafter": "model", "verifier": "lenience", "verifier_options": {"lenience": 0.5}},
    {"drafter": "ngram", "temperature": 0.7, "seed": 7},
    {"drafter": "token_recycling", "temperature": 0.7, "seed": 9},
    {"drafter": "eagle", "temperature": 0.8, "seed": 10},
    {"drafter": "eagle", "temperature": 0.8, "seed": 11, "drafter_options": TREE},
    {"drafter": "medusa", "temperature": 0.8, "seed": 12},
    {"drafter": "medusa", "temperature": 0.8, "seed": 13, "drafter_options": {"nodes": 0}},
    {"drafter": "eagle", "temperature": 0.8, "seed": 6, "verifier": "block"},
    {"drafter": "model", "temperature": 0.8, "seed": 5, "verifier": "traversal", "drafter_options": TREE},
    {"drafter": "model", "temperature": 0.8, "seed": 9, "verifier": "kseq", "drafter_options": PAIRS},
    {"drafter": "medusa", "temperature": 0.8, "seed": 7, "verifier": "typical"},
]
WAYS = [*GREEDY, *SAMPLED]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked_modules(tmp_path_factory.mktemp("modules"))


@pytest.fixture(scope="module")
def source() -> LiveSource:
    return LiveSource(measure=False)


Runs = list[tuple[dict[str, Any], Trace]]


@pytest.fixture(scope="module")
def runs(unpacked: Path) -> Runs:
    """Each way on a prompt of its own, one of them a long one with much to copy."""
    texts = prompts(1)
    requests = [
        asked(texts[LONG_PROMPT if way.get("drafter_options") == COPIES else place], SHORT | way)
        for place, way in enumerate(WAYS)
    ]
    return list(zip(requests, written(requests, unpacked), strict=True))


@pytest.fixture(scope="module")
def greedy(runs: Runs) -> Runs:
    return runs[: len(GREEDY)]


@pytest.fixture(scope="module")
def sampled(runs: Runs) -> Runs:
    return runs[len(GREEDY) :]


def test_its_numbers_of_seeds_and_keys_are_the_engines() -> None:
    keys = [("accept", 17, 3), ("target", 0, 0), ("draft", 5, 31), ("guess", 1000, 0)]
    cases = [(seed, key) for seed in (0, 7, 2**31, -1) for key in keys]
    assert answer("uniform", cases=cases) == [uniform(seed, key) for seed, key in cases]


def test_every_trace_is_sound_and_its_header_sealed(runs: Runs) -> None:
    for request, trace in runs:
        assert [str(problem) for problem in check(trace)] == [], request
        assert trace.version == VERSION
        assert trace.started.target.dtype == "float32"
        assert loads(dumps(trace)) == trace


def test_the_checkpoints_say_what_its_traces_say(sampled: Runs) -> None:
    for request, trace in sampled[1::12]:
        *_, last = audit(trace)
        assert [str(difference) for difference in last.differences] == [], request


@pytest.fixture(scope="module")
def target() -> LoadedModel:
    return load("target", dtype="float32")


def test_greedy_runs_are_the_engines_token_for_token_but_for_ties(
    greedy: Runs, source: LiveSource, target: LoadedModel
) -> None:
    tokens = equal = 0
    partings = []
    for request, trace in greedy:
        due = engines(source, request)
        parted = parting(trace, due, target)
        tokens += len(due.finished.output_ids)
        equal += len(due.finished.output_ids) if parted is None else parted.at
        partings += [(request, parted)] if parted else []
    assert [each for each in partings if each[1].nats >= TIE] == []
    assert equal >= FEWEST_EQUAL * tokens, partings


def test_a_seed_gives_the_run_that_the_engine_gives(sampled: Runs, source: LiveSource) -> None:
    for request, trace in sampled:
        assert_same_run(trace, engines(source, request), request)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"drafter": "hydra"}, "the browser's engine has no drafter 'hydra'; run it on the server."),
    (
        {"drafter": "eagle", "drafter_options": {"weights": "untrained"}},
        "the browser's engine has no weights 'untrained'; run it on the server.",
    ),
    ({"drafter": "model", "verifier": "loose"}, "the browser's engine has no verifier 'loose'; run it on the server."),
    (
        {"drafter": "model", "verifier": "block", "drafter_options": {"branching": [3, 2]}},
        "the verifier 'block' judges a chain of candidates only, and the drafter gives them siblings with these "
        "options; draft a chain or choose another verifier.",
    ),
    ({"drafter": "ngram", "drafter_options": {"gamma": 65}}, "gamma of 'ngram' is 65, which is not allowed."),
    ({"drafter": "ngram", "drafter_options": {"beam": 2}}, "'ngram' has no option 'beam'."),
    (
        {"drafter": "ngram", "temperature": 1.0, "verifier": "greedy"},
        "the verifier 'greedy' works at temperature 0 only, but the temperature is 1.",
    ),
    (
        {"drafter": "ngram", "temperature": 1.0, "verifier": "specinfer"},
        "the verifier 'specinfer' does not judge candidates of the kind 'point_mass'; choose another one.",
    ),
    ({"drafter": "none", "target": "a/b"}, "the browser's engine has no target 'a/b'; run it on the server."),
    ({"drafter": "model", "drafter_model": "a/b"}, "the browser's engine has no model 'a/b'; run it on the server."),
    (
        {"drafter": "model", "tree_policy": "hexagon"},
        "the browser's engine has no tree policy 'hexagon'; run it on the server.",
    ),
    (
        {"drafter": "model", "stop_policy": "hexagon"},
        "the browser's engine has no stop policy 'hexagon'; run it on the server.",
    ),
    (
        {"drafter": "model", "stop_policy": "oracle", "temperature": 0.5},
        "the stop policy 'oracle' works at temperature 0 only, because above it what the target will accept is not "
        "settled beforehand, but the temperature is 0.5; set it to 0 or choose another stop policy.",
    ),
    (
        {"drafter": "ngram", "tree_policy": "chain", "stop_policy": "confidence"},
        "the drafter 'ngram' makes its drafts in its own way and has no tree policy and no stop policy; leave tree "
        "policy and stop policy at their defaults or choose the drafter 'model'.",
    ),
    (
        {"drafter": "model", "tree_policy": "dyspec", "drafter_options": {"gamma": 6}},
        "gamma of the drafter 'model' is 6, but the tree policy 'dyspec' decides the shape of its drafts; leave gamma "
        "out and use the policy's own options.",
    ),
    (
        {"drafter": "model", "tree_policy": "target_init"},
        "the tree policy 'target_init' lets the target propose the first level, about which the verifier 'greedy' has "
        "nothing to decide; choose the verifier 'longest_path', which is lossy as well.",
    ),
    (
        {"drafter": "eagle", "stop_policy": "specdecpp"},
        "the stop policy 'specdecpp' looks at hidden states, but the drafter 'eagle' gives none; choose the drafter "
        "'model' or another stop policy.",
    ),
    (
        {"drafter": "model", "drafter_model": "drafter-weak", "stop_policy": "specdecpp"},
        "the stop policy 'specdecpp' cannot work with the drafter's model drafter-weak, because its weights were "
        "trained on the hidden states of other drafter weights; choose another stop policy.",
    ),
    (
        {"drafter": "model", "tree_policy": "paths", "tree_policy_options": {"paths": "0; 1,0"}},
        "paths lists 1,0, but not 1, below which it hangs.",
    ),
    (
        {"drafter": "model", "tree_policy": "sequoia", "tree_policy_options": {"acceptance": "0.9,0.3"}},
        "acceptance is '0.9,0.3', but must be probabilities separated by commas that sum to at most 1, such as "
        "0.6,0.1,0.05; or auto.",
    ),
    (
        {"drafter": "token_recycling", "memory": "warm"},
        "the browser's engine has no memory of earlier runs, and this request's is 'warm'; run it on the server.",
    ),
    (
        {"drafter": "none", "chat": True},
        "the browser's engine has no chat template, and the prompt is marked as a message; run it on the server.",
    ),
    (
        {"drafter": "none", "scene": "red circle at 8,8"},
        "the browser's engine has no target that sees a picture; run it on the server.",
    ),
]
"""what is asked for, and why the browser's engine cannot run it"""


def test_what_it_cannot_run_it_says_in_a_sentence() -> None:
    said = answer("traces", requests=[asked("x", settings) for settings, _ in REFUSED])
    assert said == [sentence for _, sentence in REFUSED]

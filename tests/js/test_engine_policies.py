"""Tree and stop policies of the browser's engine under node: the drafts that Python's make of the same seeds."""

from typing import Any

import pytest

from specviz.live.source import LiveSource
from specviz.stop_policies.base import STOP_POLICIES
from specviz.trace.check import check
from specviz.trace.events import Trace
from specviz.trace.header import MethodCard
from specviz.tree_policies.base import TREE_POLICIES
from tests.js.engine import asked, assert_same_run, engines, prompts, unpacked_modules, written

WARM = {"temperature": 0.8}
WAYS: list[dict[str, Any]] = [
    {"tree_policy": "chain", "stop_policy": "confidence", **WARM},
    {"tree_policy": "levels", "tree_policy_options": {"budget": 7}, "stop_policy": "decision"},
    {"tree_policy": "rsd_c", "stop_policy": "survival", **WARM},
    {"tree_policy": "paths", "stop_policy": "disco", **WARM},
    {"tree_policy": "eagle2", "stop_policy": "entropy", "stop_policy_options": {"moves": True}},
    {"tree_policy": "dyspec", "stop_policy": "specdecpp", "stop_policy_options": {"threshold": 0.4}, **WARM},
    {"tree_policy": "dyspec", "tree_policy_options": {"threshold": 0.05, "budget": 12}},
    {"tree_policy": "ddtree", **WARM},
    {"tree_policy": "sequoia", "stop_policy": "heuristic", **WARM},
    {"tree_policy": "rsd_s", **WARM},
    {"tree_policy": "rsd_s", "tree_policy_options": {"budget": 10}},
    {"tree_policy": "target_init", "verifier": "longest_path", "stop_policy": "draft_verify", **WARM},
    {"stop_policy": "fixed", "stop_policy_options": {"longest": 6}},
    {"stop_policy": "oracle", "stop_policy_options": {"longest": 8}},
    {"tree_policy": "levels", "tree_policy_options": {"budget": 7}, "stop_policy": "oracle"},
    {"drafter": "eagle", "tree_policy": "sequoia", **WARM},
    {"drafter": "medusa", "tree_policy": "paths", "stop_policy": "entropy", "stop_policy_options": {"keep": True}},
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], Trace]]:
    texts = prompts(8)  # eight short ones, and long ones for what moves its threshold from round to round
    requests = [
        asked(
            texts[place if way.get("stop_policy") == "draft_verify" else place % 8],
            {"drafter": "model", "seed": place, "max_new_tokens": 12, **way},
        )
        for place, way in enumerate(WAYS)
    ]
    traces = written(requests, unpacked_modules(tmp_path_factory.mktemp("modules")))
    return list(zip(requests, traces, strict=True))


def said(card: MethodCard | None) -> tuple[Any, ...] | None:
    return None if card is None else (card.name, card.options, card.lossless, card.deployable)


def test_every_policy_is_among_these_runs() -> None:
    assert {way["tree_policy"] for way in WAYS if "tree_policy" in way} == set(TREE_POLICIES.names())
    assert {way["stop_policy"] for way in WAYS if "stop_policy" in way} == set(STOP_POLICIES.names())


def test_the_trace_of_every_policy_is_sound(runs: list[tuple[dict[str, Any], Trace]]) -> None:
    for request, trace in runs:
        assert [str(problem) for problem in check(trace)] == [], request


def test_a_seed_gives_the_drafts_that_pythons_policies_make(runs: list[tuple[dict[str, Any], Trace]]) -> None:
    source = LiveSource(measure=False)
    for request, trace in runs:
        due = engines(source, request)
        assert_same_run(trace, due, request)
        for role in ("drafter", "tree_policy", "stop_policy"):
            assert said(getattr(trace.started, role)) == said(getattr(due.started, role)), request

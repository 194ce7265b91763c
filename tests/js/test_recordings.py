"""The comparison with shipped recordings, on a few of them, and that it falls where the two engines differ."""

from dataclasses import replace

import pytest

from specviz.lm.load import LoadedModel, load
from specviz.trace.events import Trace
from tests.js.recordings import Compared, Shipped, compare, compared, failures, recorded, sorted_out, table

FEW = ("none-tests-randbytes", "drafter-token-recycling", "growth-dyspec", "stop-survival", "verifier-traversal")


@pytest.fixture(scope="module")
def target() -> LoadedModel:
    return load("target", dtype="float32")


@pytest.fixture(scope="module")
def few() -> dict[str, Trace]:
    return recorded(*FEW)


@pytest.fixture(scope="module")
def results(few: dict[str, Trace], target: LoadedModel) -> list[Compared]:
    return compare(few, target)


def test_shipped_recordings_are_made_again_token_for_token(results: list[Compared]) -> None:
    assert failures(results) == []
    assert [(each.name, each.tokens, each.equal, each.rounds - each.equal_verdicts) for each in results] == [
        ("none-tests-randbytes", 24, 24, 0),
        ("drafter-token-recycling", 20, 20, 0),
        ("growth-dyspec", 20, 20, 0),
        ("stop-survival", 20, 20, 0),
        ("verifier-traversal", 20, 20, 0),
    ]


def test_another_token_in_a_greedy_text_is_listed_and_no_tie(few: dict[str, Trace], target: LoadedModel) -> None:
    due = few["none-tests-randbytes"]
    ids = list(due.finished.output_ids)
    ids[3] = 5
    parted = compared("changed", replace(due, finished=replace(due.finished, output_ids=ids)), due, target)
    assert (parted.tokens, parted.equal) == (24, 3)
    first, second = failures([parted])
    assert first == "none: 3 of 24 greedy tokens are equal."
    assert second.startswith("changed: token 3 is off by")
    assert "- changed: from token 3 on" in table([parted], Shipped({}, [], []))


def test_another_probability_and_another_verdict_fall(few: dict[str, Trace], target: LoadedModel) -> None:
    due = few["verifier-traversal"]
    first, *rest = due.rounds
    node = replace(first.nodes[1], target_prob=first.nodes[1].target_prob + 2e-5)
    near = replace(due, rounds=[replace(first, nodes=[first.nodes[0], node, *first.nodes[2:]]), *rest])
    assert failures([compared("near", near, due, target)]) == ["near: a probability is off by 2e-05."]
    other = replace(due, rounds=[replace(first, judged=replace(first.judged, u=0.5)), *rest])
    assert failures([compared("other", other, due, target)]) == ["other: the verdict of round 1 is another one."]


def test_recordings_that_cannot_be_made_again_are_named() -> None:
    names = ("dflash-story", "growth-chain", "model-chain-story", "stop-oracle", "verifier-coupled")
    shipped = sorted_out(recorded(*names))
    assert list(shipped.here) == ["growth-chain", "stop-oracle"]
    assert (shipped.bfloat16, shipped.other_methods) == (["model-chain-story"], ["verifier-coupled"])

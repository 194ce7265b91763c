"""`specviz prove lines`, `sample` and `greedy`, on toys."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from specviz.cli.commands import prove_experiments as prove_parts
from specviz.live.source import LiveSource
from tests.proof.letters import toy_loader


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove_parts, "live_source", lambda: LiveSource(load=toy_loader(), measure=False))


def test_lines_and_their_sums_are_printed(specviz: Callable) -> None:
    done = specviz("prove", "lines")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[1] == "drafted b(0.4500) | b accepted u in [0.0000, 0.6667) (0.6667) | accepted b (1.0000) | 0.300000"
    assert "sum a: 0.500000   p: 0.500000   difference -0.000000" in done.out.replace("+0.000000", "-0.000000")
    assert lines[-1].endswith(": the target's law")


def test_a_bug_shows_in_the_json(specviz: Callable) -> None:
    done = specviz("prove", "lines", "--tree", 2, "--break", "sort_siblings", "--json")
    found = json.loads(done.out)
    assert not found["exact"]
    assert found["total_variation"] == pytest.approx(0.236538, abs=1e-6)
    assert found["toy"]["candidates"] == 2


def test_a_sample_of_a_broken_toy(specviz: Callable) -> None:
    found = json.loads(specviz("prove", "sample", "--runs", 200, "--break", "reuse_noise", "--json").out)
    assert found["runs"] == 200
    assert found["p_value"] < 1e-4
    assert "G = " in specviz("prove", "sample", "--runs", 20).out


def test_greedy_texts_are_compared(specviz: Callable) -> None:
    done = specviz("prove", "greedy", "--prompt", "ab", "--tokens", 8)
    assert done.code == 0, done.err
    assert done.out.startswith("8 of 8 tokens equal plain decoding, in ")


def test_weights_that_are_none_are_refused(specviz: Callable) -> None:
    done = specviz("prove", "lines", "--target", "a,b")
    assert done.code == 2
    assert "'a,b' are no weights" in done.err

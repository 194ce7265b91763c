"""`specviz list`: what can be chosen, for people and machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Call = Callable[..., Any]


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

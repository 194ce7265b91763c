"""`specviz race` over a played source: what is asked of the engine, what is printed, what is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from specviz.cli.commands import race as race_command
from specviz.protocol import races as race_file
from tests.cli.conftest import Call


@pytest.fixture
def raced(played: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command gets the played source: every run is the golden one, whose source is simulated."""
    monkeypatch.setattr(race_command, "live_source", lambda: played)
    return played


def test_the_table_the_timeline_and_the_equality_are_printed(specviz: Call, raced: Any) -> None:
    shown = specviz("race", "--prompt-id", "mean", "--drafters", "ngram,model@6", "--dtype", "float32")
    assert shown.code == 0
    assert shown.out.count("plain decoding  ") == 2
    assert "model γ 6" in shown.out
    assert "⚑" in shown.out
    assert "All 3 outputs are the same, token for token: 20 tokens." in shown.out
    asked = [(one.drafter.name, one.drafter.options, one.dtype, one.record) for one in raced.requests[1::2]]
    assert asked == [
        ("none", {}, "float32", False),
        ("ngram", {}, "float32", False),
        ("model", {"gamma": 6}, "float32", False),
    ]


def test_json_is_one_object_and_the_race_file_can_be_read(specviz: Call, raced: Any, tmp_path: Path) -> None:
    out = tmp_path / "race.json.gz"
    data = json.loads(specviz("race", "--prompt", "x", "--drafters", "ngram", "--json", "--out", out).out)
    seen = [(one["label"], one["differs_at"], one["ratio"]) for one in data["runners"]]
    assert seen == [("plain decoding", None, None), ("ngram", None, None)]
    assert data["runners"][0]["text"].startswith("    return a")
    assert [one.label for one in race_file.read(out).runners] == ["plain decoding", "ngram"]

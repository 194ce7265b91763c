"""`specviz bench asynchronous`: one prompt, its lanes kept, and what is refused before anything is measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specviz.studies.lanes.result import STUDY

Call = Callable[..., Any]


@pytest.mark.slow
def test_one_prompts_lanes_are_kept_with_what_was_simulated_beside_them(specviz: Call, tmp_path: Path) -> None:
    path = tmp_path / "lanes.json"
    words = ("--prompt-id", "story-looked-sleepy", "--max-new-tokens", "6", "--repeats", "1", "--slow", "0")
    result = specviz("bench", "asynchronous", *words, "--dtype", "float32", "--lanes", str(path))
    assert result.code == 0, result.err
    assert "`specviz bench asynchronous` is now `specviz study lanes`" in result.err
    assert STUDY.codec is not None
    file = STUDY.codec.read(path)
    assert [run.method for run in file.cases[0].runs] == ["plain", "sd", "pearl", "amusd", "ssd", "dsi"]
    assert [run.source for run in file.cases[0].runs] == [*["measured"] * 5, "simulated"]
    assert [fan.fan_out for fan in file.cases[0].fan_outs] == [0, 1, 2, 4, 8]
    assert {run.tokens for run in file.cases[0].runs} == {6}
    assert file.output
    assert sum(line.endswith("| 1/1 |") for line in result.out.splitlines()) == 5, "each method's text is the same"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--lanes", "lanes.txt"), "lanes.txt: a file of lanes is written to a name ending in .json"),
        (("--lanes", "nowhere/lanes.json"), "lanes.json: there is no folder 'nowhere'"),
        (("--prompt-id", "nobody"), "there is no prompt 'nobody' in the set"),
        (("--slow", "-1"), "--slow is -1 ms"),
    ],
)
def test_what_cannot_be_measured_or_kept_is_said_first(specviz: Call, words: tuple[str, ...], said: str) -> None:
    result = specviz("bench", "asynchronous", *words)
    assert result.code != 0
    assert said in result.err

"""`specviz advise` as somebody types it, on a tiny pair."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from specviz.cli.commands import advise
from specviz.live.source import LiveSource
from specviz.theory.rows import RunCounts, rates_of
from specviz.trace.header import StepTime
from tests.cli.conftest import Call
from tests.clinic.tiny_pair import prompt, write_pair
from tests.trace.changing import sample


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("advise")
    write_pair(folder)
    (folder / "prompts.jsonl").write_text("\n".join(json.dumps({"text": prompt(number)}) for number in (0, 2)))
    return folder


@pytest.fixture(autouse=True)
def real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advise, "live_source", lambda: LiveSource(measure=False))


def asked(specviz: Call, folder: Path, *flags: str) -> Any:
    return specviz(
        "advise", "--target", folder / "target", "--prompts", folder / "prompts.jsonl", "--max-new-tokens", "8", *flags
    )


def test_every_drafter_is_measured_beside_plain_decoding_and_what_cannot_run_is_said(
    specviz: Call, folder: Path
) -> None:
    result = asked(specviz, folder, "--json", "--drafters", "ngram,nosuch", "--drafter-model", str(folder / "drafter"))
    data = json.loads(result.out)
    assert data["runs"] == 6
    assert [one["drafter"] for one in data["candidates"]] == ["ngram", "model"]
    assert [sorted(one["ratios"]) for one in data["candidates"]] == [["own-1", "own-2"]] * 2
    assert data["sure"] == "low"
    assert "left out: nosuch: there is no drafter called 'nosuch'" in result.err


def test_categories_have_acceptance_length_and_conditional_acceptance_by_position(specviz: Call, folder: Path) -> None:
    result = asked(specviz, folder, "--categories", "--drafters", "", "--drafter-model", str(folder / "drafter"))
    lines = [line for line in result.out.splitlines() if "| own | 2 |" in line]
    assert "| all | 2 |" in result.out
    assert "| drafter | category | prompts | acceptance length | position 1 |" in result.out
    assert len(lines) == 1


def test_a_report_is_written_beside_the_advice_and_engines_that_cannot_are_named(
    specviz: Call, folder: Path, tmp_path: Path
) -> None:
    result = asked(specviz, folder, "--report", tmp_path / "mine", "--drafters", "ngram", "--minutes", "1")
    data = json.loads((tmp_path / "mine.json").read_text())
    assert list(data["drafters"]) == ["ngram"]
    assert set(data["drafters"]["ngram"]["Request_AL"]) == {"own-1", "own-2"}
    assert data["drafters"]["ngram"]["Conditional_Acceptance_Rate"]["1"] == 1.0
    assert "# Acceptance by category and position" in (tmp_path / "mine.md").read_text()
    assert "Report: " in result.out


def test_the_best_length_goes_by_how_often_a_tested_depth_was_accepted_and_not_by_how_often_it_was_drafted() -> None:
    """Of 100 drafts half end at depth 1; of the 10 that went to depth 2, 8 came there and 2 were accepted. By shares
    of what was drafted, 0.5 and 0.2, depth 2 would look as good as 0.4, and a chain of 2 the fastest."""
    counts = RunCounts(150, 100, by_depth=((100, 50), (10, 2)), levels=((100, 50), (8, 2)))
    assert rates_of([counts.levels]) == [0.5, 0.25]
    times = [StepTime(rows, 8, seconds, seconds, seconds) for rows, seconds in ((1, 1.0), (2, 1.1), (3, 1.22))]
    header = replace(sample().started, step_times=times, draft_step_s=0.0)
    header = replace(header, drafter=replace(header.drafter, options={"gamma": 4}))
    assert advise.best_length(header, rates_of([counts.levels])) == 1
    assert advise.best_length(header, [0.5, 0.4]) == 2
    assert advise.best_length(header, []) is None


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--minutes", "0"], "0 minutes are no time to measure in; give a number above 0."),
        (["--head", "eagle"], "--head is 'eagle', but must be a drafter and its weights, as eagle=./eagle."),
        (["--drafters", "nosuch"], "no drafter can run on this target"),
        (["--report", "no/such/mine"], "--report is 'mine' in a folder that does not exist; make it first."),
    ],
)
def test_bad_input_is_one_sentence(specviz: Call, folder: Path, flags: list[str], sentence: str) -> None:
    result = asked(specviz, folder, *flags)
    assert (result.code, sentence in result.err) == (2, True)

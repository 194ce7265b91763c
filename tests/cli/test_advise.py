"""`specviz advise` as somebody types it, on a tiny pair."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from specviz.cli.commands import advise
from specviz.live.source import LiveSource
from tests.cli.conftest import Call
from tests.clinic.tiny_pair import prompt, write_pair


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


@pytest.mark.parametrize(
    ("reached", "rates"), [((0.8, 0.4, 0.1), (0.8, 0.5, 0.25)), ((0.5, 0.0, 0.0), (0.5, 0.0)), ((), ())]
)
def test_conditional_acceptance_ends_where_nothing_came_through(
    reached: tuple[float, ...], rates: tuple[float, ...]
) -> None:
    assert advise.conditional(reached) == pytest.approx(rates)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--minutes", "0"], "--minutes is 0, but must be a number above 0."),
        (["--head", "eagle"], "--head is 'eagle', but must be a drafter and its weights, as eagle=./eagle."),
        (["--drafters", "nosuch"], "no drafter can run on this target"),
        (["--report", "no/such/mine"], "--report is 'mine' in a folder that does not exist; make it first."),
    ],
)
def test_bad_input_is_one_sentence(specviz: Call, folder: Path, flags: list[str], sentence: str) -> None:
    result = asked(specviz, folder, *flags)
    assert (result.code, sentence in result.err) == (2, True)

"""`specviz learn`, end to end on toy models."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from specviz.cli.commands import learn
from specviz.protocol.runs import Learned
from specviz.trace import codec
from tests.cli.conftest import Call


class Teacher:
    """Tells what it was handed."""

    def catalog(self) -> object:
        return SimpleNamespace(
            stop_policies=[SimpleNamespace(name="wise", learns=True), SimpleNamespace(name="fixed", learns=False)]
        )

    def learn(self, traces: list[object], policy: str) -> Learned:
        return Learned(policy, {"threshold": 0.5}, f"{policy} learnt from {len(traces)} runs.", {"runs": len(traces)})


@pytest.fixture
def teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn, "live_source", Teacher)


@pytest.mark.usefixtures("teacher")
def test_files_and_folders_are_read_and_weights_written(specviz: Call, golden: Path, tmp_path: Path) -> None:
    codec.write(codec.read(golden), tmp_path / "one.json.gz")
    done = specviz("learn", golden, tmp_path, "--out", tmp_path / "made")
    assert done.code == 0, done.err
    assert "wise learnt from 2 runs." in done.out
    assert json.loads((tmp_path / "made" / "wise.json").read_text()) == {"threshold": 0.5}


@pytest.mark.usefixtures("teacher")
def test_a_policy_that_learns_nothing_and_an_empty_folder_are_refused(specviz: Call, tmp_path: Path) -> None:
    assert "nothing to learn; choose of wise" in specviz("learn", tmp_path, "--policy", "fixed").err
    assert "there is no .json or .json.gz file in" in specviz("learn", tmp_path).err


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other interpreters carry other files")
@pytest.mark.slow
def test_own_runs_start_from_held_out_text_that_the_prompt_set_does_not_use() -> None:
    texts = learn.practice_prompts(8)
    assert len(set(texts)) == 8
    english, python = texts[::2], texts[1::2]
    assert all(text.endswith("\n") and len(text) <= learn.PROMPT_CHARS for text in python)
    assert all(len(text) < 200 and "\n    " not in text for text in english)


def test_a_file_that_holds_no_weights_is_refused(specviz: Call, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[1]")
    done = specviz("run", "--prompt", "a", "--stop-policy-weights", tmp_path / "bad.json")
    assert done.code == 2
    assert "holds no weights" in done.err

"""`specviz study batches` by its older name: a small measurement kept and written, and what is refused before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specviz.studies.batches import result as batches

Call = Callable[..., Any]
SHORT = ("--max-new-tokens", "4", "--repeats", "1", "--dtype", "float32")


@pytest.mark.slow
def test_a_measurement_is_printed_kept_and_written(specviz: Call, tmp_path: Path) -> None:
    page, file = tmp_path / "page.md", tmp_path / "batch.json.gz"
    page.write_text("before\n<!-- bench batch -->\nold\n<!-- /bench batch -->\nafter\n")
    words = ("--batch", "2,1", "--gamma", "2", "--branching", "2,1", "--families", "story,sums")
    result = specviz("bench", "batch", *words, *SHORT, "--result", file, "--write", page)
    assert result.code == 0, result.err
    found = batches.STUDY.codec.read(file)
    assert {(one.shape, one.size) for one in found.points} == {
        (shape, size) for shape in ((), (1, 1), (2, 1)) for size in (1, 2)
    }
    assert [one.prompt.partition("-")[0] for one in found.texts[:2]] == ["story", "sums"]
    assert all(one.same for one in found.texts)
    assert f"before\n<!-- bench batch -->\n{result.out.strip()}\n<!-- /bench batch -->\nafter\n" == page.read_text()
    assert found.target.weights_sha256[:12] in page.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--batch", "1,two"), "--batch is '1,two', but must be numbers like 1,2,4,8,16"),
        (("--batch", "0,2"), "--batch is '0,2', but must be different numbers of at least 1"),
        (("--batch", "2,2"), "--batch is '2,2', but must be different numbers"),
        (("--batch", ""), "--batch is '', but must be different numbers"),
        (("--batch", "512"), "512 texts are asked for, but there are 1 to "),
        (("--gamma", "33"), "gamma is 33, but must"),
        (("--branching", "3;x"), "--branching is 'x', but must be numbers like 3,2,1"),
        (("--branching", "99"), "branching"),
        (("--gamma", "", "--branching", ""), "there is nothing to compare with plain decoding"),
        (("--gamma", "2", "--branching", "1,1"), "there is nothing to compare with plain decoding; give different"),
        (("--families", "cooking"), "there is no prompt family 'cooking'; known: code, "),
        (("--texts", "0"), "0 texts are asked for"),
        (("--batch", "1,3", "--texts", "4"), "4 texts do not fill batches of 3"),
        (("--temperature", "-1"), "temperature is -1"),
        (("--repeats", "0"), "--repeats is 0, but must be at least 1"),
        (("--result", "batch.txt"), "batch.txt: a file of batches is written to a name ending in .json"),
        (("--write", "nowhere.md"), "nowhere.md has no place for the tables"),
    ],
)
def test_what_cannot_be_measured_or_kept_is_said_before_a_model_is_loaded(
    specviz: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    from specviz.cli.sources import SharedModels

    monkeypatch.setattr(SharedModels, "__call__", lambda *_, **__: pytest.fail("a model was loaded"))
    result = specviz("bench", "batch", *words)
    assert result.code == 2
    assert said in result.err


def test_a_model_that_computes_one_text_at_a_time_is_refused(specviz: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from specviz.cli.sources import SharedModels
    from specviz.lm.load import load

    monkeypatch.setattr(SharedModels, "__call__", lambda _, name, **settings: load(name, adapter="transformers"))
    result = specviz("bench", "batch", *SHORT)
    assert result.code == 2
    assert "`specviz bench batch` is now `specviz study batches`, with the same flags." in result.err
    assert "the adapter 'transformers' of target computes one text at a time" in result.err

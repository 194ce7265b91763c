"""Studies from the command line: small measurements kept and written, files that hold no question, older names."""

from pathlib import Path

import pytest

from specviz.cli.sources import SharedModels
from specviz.lm.load import load
from specviz.studies.batches.result import STUDY as BATCHES
from specviz.studies.lanes.result import STUDY as LANES
from tests.cli.conftest import Call

SHORT = ("--max-new-tokens", "4", "--repeats", "1", "--dtype", "float32")


@pytest.mark.slow
def test_a_measurement_of_batches_is_printed_kept_and_written(specviz: Call, tmp_path: Path) -> None:
    page, file = tmp_path / "page.md", tmp_path / "batch.json.gz"
    page.write_text("before\n<!-- bench batch -->\nold\n<!-- /bench batch -->\nafter\n")
    words = ("--batch", "2,1", "--gamma", "2", "--branching", "2,1", "--families", "story,sums")
    result = specviz("bench", "batch", *words, *SHORT, "--result", file, "--write", page)
    assert result.code == 0, result.err
    found = BATCHES.codec.read(file)
    assert {(one.shape, one.size) for one in found.points} == {
        (shape, size) for shape in ((), (1, 1), (2, 1)) for size in (1, 2)
    }
    assert [one.prompt.partition("-")[0] for one in found.texts[:2]] == ["story", "sums"]
    assert all(one.same for one in found.texts)
    assert f"before\n<!-- bench batch -->\n{result.out.strip()}\n<!-- /bench batch -->\nafter\n" == page.read_text()
    assert found.target.weights_sha256[:12] in page.read_text()


def test_a_model_that_computes_one_text_at_a_time_is_refused(specviz: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SharedModels, "__call__", lambda _, name, **settings: load(name, adapter="transformers"))
    result = specviz("bench", "batch", *SHORT)
    assert result.code == 2
    assert "`specviz bench batch` is now `specviz study batches`, with the same flags." in result.err
    assert "the adapter 'transformers' of target computes one text at a time" in result.err


@pytest.mark.slow
def test_one_prompts_lanes_are_kept_with_what_was_simulated_beside_them(specviz: Call, tmp_path: Path) -> None:
    path = tmp_path / "lanes.json"
    words = ("--prompt-id", "story-looked-sleepy", "--max-new-tokens", "6", "--repeats", "1", "--slow", "0")
    result = specviz("bench", "asynchronous", *words, "--dtype", "float32", "--lanes", str(path))
    assert result.code == 0, result.err
    assert "`specviz bench asynchronous` is now `specviz study lanes`" in result.err
    file = LANES.codec.read(path)
    assert [run.method for run in file.cases[0].runs] == ["plain", "sd", "pearl", "amusd", "ssd", "dsi"]
    assert [run.source for run in file.cases[0].runs] == [*["measured"] * 5, "simulated"]
    assert [fan.fan_out for fan in file.cases[0].fan_outs] == [0, 1, 2, 4, 8]
    assert {run.tokens for run in file.cases[0].runs} == {6}
    assert file.output
    assert sum(line.endswith("| 1/1 |") for line in result.out.splitlines()) == 5, "each method's text is the same"


@pytest.mark.parametrize(
    ("content", "said"), [(None, "No such file"), (b"\n \n", "holds no question"), (b"\xff\xfe\xff", "utf-8")]
)
def test_a_file_without_questions_is_refused_by_name(
    specviz: Call, tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / "asked.txt"
    if content is not None:
        path.write_bytes(content)
    result = specviz("study", "questions", "--questions", str(path))
    assert result.code != 0
    assert "asked.txt" in result.err
    assert said in result.err


def test_an_empty_document_is_refused(specviz: Call, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    result = specviz("study", "questions", "--document", str(tmp_path / "empty.txt"))
    assert result.code != 0
    assert "the document has no tokens; write some text." in result.err


def test_own_texts_are_answered_in_all_three_ways(specviz: Call, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Mia has a red kite.")
    (tmp_path / "asked.txt").write_text("Who?\nWhat?\n")
    page = tmp_path / "page.md"
    page.write_text("<!-- bench questions -->\n<!-- /bench questions -->\n")
    files = ("--document", str(tmp_path / "text.txt"), "--questions", str(tmp_path / "asked.txt"))
    result = specviz("study", "questions", *files, "--max-new-tokens", "3", "--repeats", "1", "--write", str(page))
    assert result.code == 0
    assert "2 questions to a document of" in page.read_text()
    rows = [line for line in page.read_text().splitlines() if line.startswith(("| read", "| document", "| all"))]
    assert [row.split("|")[-2].strip() for row in rows] == ["2/2"] * 3

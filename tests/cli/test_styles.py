"""`specviz study styles`: a small measurement kept and written, tables of a kept one, and what is refused."""

import json
from pathlib import Path

import pytest

from specviz.protocol.prompt_file import read_prompts
from specviz.resources import ROOT
from specviz.studies.styles.numbers import TITLES
from specviz.studies.styles.result import STUDY
from tests.cli.conftest import Call
from tests.studies.test_styles import sample

PAGE = "before\n<!-- bench styles -->\nold\n<!-- /bench styles -->\nafter\n"


@pytest.mark.slow
def test_a_measurement_is_printed_kept_and_written(specviz: Call, tmp_path: Path) -> None:
    page, file = tmp_path / "page.md", tmp_path / "styles.json.gz"
    page.write_text(PAGE)
    words = ("--questions", "1", "--kinds", "sums", "--asked", "words", "--drafters", "ngram", "--dtype", "float32")
    result = specviz("study", "styles", *words, "--result", file, "--write", page)
    assert result.code == 0, result.err
    found = STUDY.codec.read(file)
    assert {one.drafter for one in found.runs} == {"plain", "ngram"}
    assert {one.cell.style for one in found.answers} == set(TITLES)
    assert all(one.same for one in found.runs)
    assert found.command.startswith("specviz study styles --drafters ngram --kinds sums --asked words --questions 1 ")
    assert f"before\n<!-- bench styles -->\n{result.out.strip()}\n<!-- /bench styles -->\nafter\n" == page.read_text()


def test_the_tables_of_a_kept_result_are_written_without_a_model(
    specviz: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from specviz.cli.sources import SharedModels

    monkeypatch.setattr(SharedModels, "__call__", lambda *_, **__: pytest.fail("a model was loaded"))
    page, file = tmp_path / "page.md", tmp_path / "styles.json"
    page.write_text(PAGE)
    STUDY.codec.write(sample(), file)
    result = specviz("study", "styles", "--tables", file, "--write", page)
    assert result.code == 0, result.err
    assert "**The target follows CoT; " in page.read_text()


def test_the_prompts_are_written_as_prompts_of_ones_own_with_a_family_for_each_style(
    specviz: Call, tmp_path: Path
) -> None:
    file = tmp_path / "styles.jsonl"
    words = ("--kinds", "sums", "--asked", "words", "--questions", "2", "--prompts", file)
    assert specviz("study", "styles", *words).code == 0
    cards = read_prompts(file)
    assert [one.family.partition(",")[0] for one in cards] == [*TITLES.values()] * 2
    assert cards[1].text == f"{cards[0].text.strip()} Show your work.\n"
    assert specviz("study", "styles", "--prompts", tmp_path / "no" / "folder").code == 2


@pytest.mark.slow
def test_an_instruct_target_is_asked_through_its_chat_template(specviz: Call, tmp_path: Path) -> None:
    folder = tmp_path / "instruct"
    folder.mkdir()
    for path in (ROOT / "models" / "target").iterdir():
        if path.name != "tokenizer_config.json":
            (folder / path.name).symlink_to(path)
    config = json.loads((ROOT / "models" / "target" / "tokenizer_config.json").read_text())
    config["chat_template"] = "{% for one in messages %}<{{ one.role }}>{{ one.content }}\n{% endfor %}"
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    words = ("--chat", "--target", folder, "--kinds", "sums", "--questions", "1", "--drafters", "ngram")
    result = specviz("study", "styles", *words, "--dtype", "float32", "--result", tmp_path / "chat.json")
    assert result.code == 0, result.err
    found = STUDY.codec.read(tmp_path / "chat.json")
    assert {one.cell.asked for one in found.answers} == {"message"}
    assert found.answers[1].prompt.endswith("Show your work. End with a line that says Answer: and the number.")
    assert "### Sums, asked as a message" in result.out


def test_a_target_without_a_chat_template_is_refused(specviz: Call) -> None:
    result = specviz("study", "styles", "--chat", "--questions", "1", "--drafters", "ngram")
    assert result.code == 2
    assert "'none' cannot run here: " in result.err
    assert "chat template" in result.err

"""A researcher's own prompts: what a line may say, and one sentence for every line that is none."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from specviz.errors import BenchError, OptionError, PromptError
from specviz.live.catalog import saved
from specviz.protocol.prompt_file import MOST_PROMPTS, prompts_of_text, read_prompts
from specviz.protocol.sweeps.definition import DrafterEntry, SweepDefinition, expand, fingerprint, prompts_of
from specviz.protocol.sweeps.store import checked, definition_of, read_definition, to_toml

ONE, TWO = '{"id": "a", "family": "sums", "text": "1+1="}', '{"id": 7, "text": "Two words", "extra": [1]}'


def test_a_line_is_a_prompt_with_id_and_family():
    first, second = prompts_of_text(f"{ONE}\n\n{TWO}\n")
    assert (first.id, first.family, first.text, first.title) == ("a", "sums", "1+1=", "1+1=")
    assert (second.id, second.family, second.text) == ("7", "own", "Two words")


def test_a_row_of_speed_bench_is_a_prompt_of_its_category_and_its_first_turn():
    row = {"question_id": "q1", "category": "coding", "turns": ["Write it.", "Now shorter."], "source": "x"}
    (card,) = prompts_of_text(json.dumps(row))
    assert (card.id, card.family, card.text) == ("q1", "coding", "Write it.")


@pytest.mark.parametrize("turns", [[], [7], "x", None])
def test_turns_that_are_no_texts_are_one_sentence(turns):
    with pytest.raises(PromptError, match="line 1"):
        prompts_of_text(json.dumps({"turns": turns}))


def test_a_prompt_without_an_id_is_called_by_its_line():
    assert prompts_of_text('\n{"text": "x"}')[0].id == "own-2"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "there is no prompt in it"),
        ("{", "line 1 is not valid JSON"),
        ("[1]", "line 1 is no object"),
        ('{"id": "a"}', "line 1 has no text; its key is 'text'"),
        ('{"text": 3}', "line 1: text is 3, but must be text"),
        ('{"text": ' + "[" * 900 + "]" * 900 + "}", r"line 1: text is \[{57}…, but must be text"),
        ('{"text": ' + "[" * 100_000, "line 1 is not valid JSON"),
        ('{"id": 1' + "0" * 5_000 + ', "text": "x"}', "line 1 is not valid JSON"),
        (f"{ONE}\n{ONE}", "line 2: the id 'a' came before"),
        ('{"text": "x", "family": "' + "f" * 81 + '"}', "family has 81 characters"),
        ('{"text": "x"}\n' * (MOST_PROMPTS + 1), "has 1001 prompts, but at most 1000"),
    ],
)
def test_every_other_line_is_one_sentence(text, sentence):
    with pytest.raises(PromptError, match=sentence):
        prompts_of_text(text)


def test_a_files_sentence_begins_with_its_name(tmp_path):
    path = tmp_path / "mine.jsonl"
    with pytest.raises(PromptError, match=r"^mine\.jsonl: cannot be read"):
        read_prompts(path)
    path.write_bytes(b"\xff")
    with pytest.raises(PromptError, match=r"^mine\.jsonl: byte 0 is not valid UTF-8"):
        read_prompts(path)
    path.write_text("[]")
    with pytest.raises(PromptError, match=r"^mine\.jsonl: line 1 is no object"):
        read_prompts(path)


@pytest.fixture
def sweep_file(tmp_path):
    (tmp_path / "mine.jsonl").write_text(f"{ONE}\n{TWO}\n")
    path = tmp_path / "sweep.toml"
    path.write_text('prompt_file = "mine.jsonl"\ndrafters = ["ngram"]\n')
    return path


def test_a_sweep_file_names_prompts_that_lie_beside_it_and_measures_all_of_them(sweep_file):
    definition = read_definition(sweep_file)
    spec = expand(definition, saved())
    source = SimpleNamespace(catalog=saved)
    assert [card.text for card in prompts_of(source, spec)] == ["1+1=", "Two words"]
    assert definition_of(to_toml(definition)) == definition


def test_families_and_ids_choose_among_ones_own(sweep_file):
    own = read_definition(sweep_file)
    assert expand(own, saved()).prompt_ids == ("a", "7")
    assert expand(replace(own, families=("sums",)), saved()).prompt_ids == ("a",)
    assert expand(replace(own, prompts=("7",)), saved()).prompt_ids == ("7",)
    with pytest.raises(OptionError, match="there is no prompt 'b'"):
        expand(replace(own, prompts=("b",)), saved())


def test_other_texts_are_another_sweep(sweep_file):
    before = fingerprint(read_definition(sweep_file))
    (sweep_file.parent / "mine.jsonl").write_text(ONE.replace("1+1", "1+2"))
    assert fingerprint(read_definition(sweep_file)) != before


@pytest.mark.parametrize("name", ["../mine.jsonl", "/etc/passwd", "deeper/mine.jsonl"])
def test_a_sweep_file_names_no_file_elsewhere(sweep_file, name):
    sweep_file.write_text(json.dumps(name).join(["prompt_file = ", '\ndrafters = ["ngram"]\n']))
    with pytest.raises(BenchError, match="prompt_file must be the name of a file beside the sweep file"):
        read_definition(sweep_file)


def test_a_file_that_is_not_there_and_one_that_was_not_read_are_said(sweep_file):
    with pytest.raises(OptionError, match=r"the prompts of 'mine\.jsonl' were not read"):
        expand(definition_of(sweep_file.read_text()), saved())
    (sweep_file.parent / "mine.jsonl").unlink()
    with pytest.raises(BenchError, match=r"prompt_file: mine\.jsonl: cannot be read"):
        read_definition(sweep_file)


def test_many_prompts_are_no_axis_that_is_too_long(sweep_file):
    cards = prompts_of_text("".join(f'{{"text": "x{i}"}}\n' for i in range(100)))
    assert checked(SweepDefinition(drafters=(DrafterEntry("ngram"),), own_prompts=cards)).own_prompts == cards

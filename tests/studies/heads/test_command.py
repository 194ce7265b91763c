"""`specviz study heads` and the older `specviz frequencies`: counting, tables, what is kept and what is refused."""

import json

import pytest

from specviz.cli.commands import study as command
from specviz.corpus import standard_library as corpus
from specviz.corpus.plain_english import generator
from specviz.corpus.standard_library import Corpus, Document
from specviz.studies import study as shape
from specviz.studies.heads.result import STUDY
from specviz.theory import token_frequencies as frequencies
from tests.cli.conftest import specviz
from tests.proof.letters import toy_loader

__all__ = ["specviz"]
PAGE = "before\n<!-- heads study -->\nold\n<!-- /heads study -->\nafter\n"
SMALL = ("--texts", 2, "--tokens", 8, "--sizes", "2,3", "--no-times")


@pytest.fixture
def toys(monkeypatch, tmp_path):
    """Toy models and files instead of the shipped ones."""
    from specviz.live import catalog
    from specviz.protocol.runs import PromptCard

    documents = (Document("one.py", "code", "aabccd" * 5),)
    card = PromptCard("p", "code", "t", "d", "abc")
    page = tmp_path / "docs" / "methods" / "vocabtrim.md"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(command, "SharedModels", toy_loader_without_settings)
    monkeypatch.setattr(corpus, "collect", lambda seed: Corpus(documents, (), seed))
    monkeypatch.setattr(generator, "documents", lambda *args, **settings: ())
    monkeypatch.setattr(catalog, "bundled_prompts", lambda: (card,))
    monkeypatch.setattr(frequencies, "FOLDER", tmp_path / "assets" / "frequencies")
    monkeypatch.setattr(frequencies.table_of, "__defaults__", (tmp_path / "assets" / "frequencies",))
    monkeypatch.setattr(shape, "ROOT", tmp_path / "assets")
    monkeypatch.setattr(shape, "DOCS", tmp_path / "docs")


def toy_loader_without_settings():
    load = toy_loader()
    return lambda name, **settings: load(name, "cpu", "float64")


def test_it_counts_once_and_shows_the_table_afterwards(specviz, toys):
    counted = specviz("study", "heads", "--count", "--texts", 2, "--tokens", 8, "--sizes", "2,3,9", "--no-times")
    assert counted.code == 0
    assert "counted: held_out" in counted.err
    assert "wrote assets/frequencies/target.json" in counted.err
    assert "target: 8 tokens, text of table-6-1" in counted.out
    assert "| head size | covered by raw text" in counted.out
    assert "| 2 | " in counted.out
    assert "| 9 | " not in counted.out, "a head as large as the vocabulary saves nothing"
    assert "| 6 (whole) | " in counted.out
    assert not STUDY.path.exists()


def test_it_is_kept_and_its_tables_go_between_the_marks_of_its_page(specviz, toys):
    assert specviz("study", "heads", "--count", *SMALL, "--write").code == 0
    kept = STUDY.shipped()
    assert (kept.vocab_size, kept.sizes, kept.prompts, kept.tokens, len(kept.models)) == (6, (2, 3), 1, 8, 2)
    assert set(kept.alpha) == set(kept.whole) == set(kept.repetition) == {0.0, 1.0}
    assert all(0.0 <= alpha <= 1.0 for text in kept.alpha[1.0].values() for alpha in text.values())
    text = STUDY.document.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- heads study -->\n| head size |")
    assert text.endswith("<!-- /heads study -->\nafter\n")
    assert "α over 8 tokens that the target wrote after each of 1 prompts" in text
    assert "old" not in text


def test_without_prompts_no_acceptance_is_measured_or_said(specviz, toys):
    done = specviz("study", "heads", "--count", *SMALL, "--prompts", 0)
    assert done.code == 0
    assert "α" not in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "a"], "sizes is 'a'"),
        (["--sizes", "0"], "sizes is '0'"),
        (["--count", "--tokens", "0"], "--tokens is 0, but must be at least 1."),
        (["--prompts", "-1"], "--prompts is -1, but must be at least 0."),
        ([], "there is no frequency table for the tokenizer of target; write one with `specviz study heads --count`."),
    ],
)
def test_what_cannot_be_is_refused(specviz, toys, arguments, message):
    result = specviz("study", "heads", *arguments)
    assert result.code == 2
    assert message in result.err


def test_the_older_command_says_what_it_is_called_now_and_takes_its_older_flags(specviz, toys):
    done = specviz("frequencies", "--write", *SMALL, "--keep", "--page")
    assert done.code == 0
    assert "`specviz frequencies` is now `specviz study heads`" in done.err
    assert "counted: held_out" in done.err
    assert STUDY.path.exists()
    data = json.loads(specviz("frequencies", "--sizes", "3,5", "--tokens", 8, "--json").out)
    assert (data["sizes"], set(data["alpha"])) == ([3, 5], {"0", "1"})
    assert 0.0 < data["coverage"]["target"]["3"] <= 1.0
    assert 0.0 <= data["alpha"]["1"]["raw"]["5"] <= 1.0
    assert 0.0 < data["alpha"]["1"]["whole"] < 1.0
    assert data["step_ratio"]["3"]["median"] > 0.0


def test_the_older_command_writes_another_page_and_keeps_nothing_without_prompts(specviz, toys, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    assert specviz("frequencies", "--write", *SMALL, "--prompts", 0, "--page", page).code == 0
    assert page.read_text(encoding="utf-8").startswith("before\n<!-- heads study -->\n| head size |")
    assert not STUDY.path.exists()
    assert specviz("frequencies", *SMALL, "--keep").code == 0
    assert STUDY.path.exists()
    assert specviz("frequencies", *SMALL, "--prompts", 0, "--keep").code == 2

"""`specviz frequencies`: counting, the coverage table, and what it refuses."""

from __future__ import annotations

import json

import pytest

from specviz.cli.commands import frequencies as command
from specviz.corpus import standard_library as corpus
from specviz.corpus.plain_english import generator
from specviz.corpus.standard_library import Corpus, Document
from specviz.theory import token_frequencies as frequencies
from tests.proof.letters import toy_loader


@pytest.fixture
def toys(monkeypatch, tmp_path):
    """Toy models and files instead of the shipped ones."""
    from specviz.live import catalog
    from specviz.protocol.runs import PromptCard

    documents = (Document("one.py", "code", "aabccd" * 5),)
    card = PromptCard("p", "code", "t", "d", "abc")
    monkeypatch.setattr(command, "SharedModels", toy_loader_without_settings)
    monkeypatch.setattr(corpus, "collect", lambda seed: Corpus(documents, (), seed))
    monkeypatch.setattr(generator, "documents", lambda *args, **settings: ())
    monkeypatch.setattr(catalog, "bundled_prompts", lambda: (card,))
    monkeypatch.setattr(frequencies, "FOLDER", tmp_path / "assets" / "frequencies")
    monkeypatch.setattr(frequencies.table_of, "__defaults__", (tmp_path / "assets" / "frequencies",))


def toy_loader_without_settings():
    load = toy_loader()
    return lambda name, **settings: load(name, "cpu", "float64")


def test_it_counts_once_and_shows_the_table_afterwards(specviz, toys):
    written = specviz("frequencies", "--write", "--texts", 2, "--tokens", 8, "--sizes", "2,3,9", "--no-times")
    assert written.code == 0
    assert "counted: held_out" in written.err
    assert "target: 8 tokens, text of table-6-1" in written.out
    assert "| head size | covered by raw text" in written.out
    assert "| 2 | " in written.out
    assert "| 9 | " not in written.out, "a head as large as the vocabulary saves nothing"
    assert "| 6 (whole) | " in written.out
    data = json.loads(specviz("frequencies", "--sizes", "3,5", "--tokens", 8, "--json").out)
    assert 0.0 < data["coverage"]["target"]["3"] <= 1.0
    for greedy_or_not in ("1", "0"):
        alpha = data["alpha"][greedy_or_not]
        assert all(0.0 <= alpha[name][size] <= 1.0 for name in ("raw", "drafter", "target") for size in ("3", "5"))
    assert 0.0 < data["alpha"]["1"]["whole"] < 1.0
    assert data["step_ratio"]["3"]["median"] > 0.0


def test_the_measured_alpha_is_kept_for_the_page(specviz, toys, tmp_path):
    small = ("--texts", 2, "--tokens", 8, "--sizes", "2,3", "--no-times")
    done = specviz("frequencies", "--write", *small, "--keep", "--json")
    kept = json.loads((tmp_path / "assets" / "trimmed_heads.json").read_text(encoding="utf-8"))
    assert kept["alpha"] == json.loads(done.out)["alpha"]
    assert kept["measured"].startswith("α over 8 tokens that the target wrote after each of 1 prompts")
    assert len(kept["models"]) == 2
    assert specviz("frequencies", *small, "--prompts", 0, "--keep").code == 2


def test_the_tables_go_between_the_marks_of_a_page(specviz, toys, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- frequencies -->\nold\n<!-- /frequencies -->\nafter\n", encoding="utf-8")
    small = ("--texts", 2, "--tokens", 8, "--sizes", "2", "--no-times")
    assert specviz("frequencies", "--write", *small, "--prompts", 0, "--page", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- frequencies -->\n| head size |")
    assert text.endswith("<!-- /frequencies -->\nafter\n")
    assert "old" not in text
    assert "α" not in text, "without prompts no acceptance is measured"
    without = tmp_path / "without.md"
    without.write_text("no marks", encoding="utf-8")
    assert "no place for the tables" in specviz("frequencies", *small, "--page", without).err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "a"], "sizes is 'a'"),
        (["--sizes", "0"], "sizes is '0'"),
        (["--write", "--tokens", "0"], "tokens 0 and prompts 2, but the first two must be at least 1"),
        ([], "there is no frequency table for the tokenizer of target"),
    ],
)
def test_what_cannot_be_is_refused(specviz, toys, arguments, message):
    result = specviz("frequencies", *arguments)
    assert result.code == 2
    assert message in result.err

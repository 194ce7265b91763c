"""The page explains its terms from the one glossary, and says in plain English what a first visitor meets."""

import json
from pathlib import Path

import pytest

from specviz.app.about import words
from specviz.app.components.standalone import scripts
from specviz.app.form.methods import IN_WORDS, labelled
from specviz.app.look.glossary import GLOSSARY_FILE, entries, glossary_json
from specviz.live.catalog import saved
from specviz.resources import asset_path

TABLE = (Path(__file__).parents[3] / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_the_shipped_file_is_the_glossary_of_the_docs() -> None:
    assert asset_path(GLOSSARY_FILE).read_text(encoding="utf-8") == glossary_json(TABLE), "run `make generate`"


def test_no_row_of_the_table_is_lost() -> None:
    rows = [line for line in TABLE.splitlines() if line.startswith("| **")]
    assert len(entries(TABLE)) == len(rows) > 50


@pytest.mark.parametrize(
    ("term", "written"),
    [
        ("target", ("target",)),
        ("draft tree, node", ("draft tree", "node")),
        ("cold, warm start", ("cold start", "warm start")),
        ("alpha (α)", ("alpha (α)", "alpha", "α")),
        ("speculation length γ", ("speculation length γ", "speculation length", "γ")),
        ("uniform draw u", ("uniform draw u", "uniform draw")),
        ("t(n)", ("t(n)",)),
        ("p, q", ("p", "q")),
    ],
)
def test_a_row_says_how_its_term_is_written(term: str, written: tuple[str, ...]) -> None:
    (entry,) = entries(f"| **{term}** | its meaning in `code` | |")
    assert entry.written == written
    assert entry.meaning == "its meaning in code"


def test_no_form_stands_for_two_rows() -> None:
    forms = [form for entry in entries(TABLE) for form in entry.written]
    assert sorted(forms) == sorted(set(forms))


def test_a_text_without_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="no rows"):
        entries("# Words\n")


def test_the_scripts_carry_it_and_the_about_tab_lists_it() -> None:
    assert '"term":"acceptance rate"' in scripts()
    assert words().count("<tr>") == len(entries(TABLE)) + 1


def test_a_drafter_named_by_letters_says_in_its_label_what_it_does() -> None:
    labels = {name: label for label, name in labelled(saved().drafters)}
    assert labels["amusd"] == "amusd (drafting while verifying)"
    assert labels["fspad"] == "fspad (EAGLE on sampled features)"
    assert labels["model"] == "model"
    assert set(IN_WORDS) <= set(labels)


@pytest.mark.parametrize("word", ["alpha", "KL", "MBSU", "elasticity", "AMUSD", "FSPAD"])
def test_the_glossary_that_the_page_marks_knows_the_word(word: str) -> None:
    entries = json.loads(asset_path(GLOSSARY_FILE).read_text(encoding="utf-8"))
    assert [one["term"] for one in entries if word in one["written"]] != []

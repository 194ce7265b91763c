"""What a first visitor meets is said in plain English: names that are mere letters, and the names of numbers."""

from __future__ import annotations

import json

import pytest

from specviz.app.form.methods import IN_WORDS, labelled
from specviz.app.look.glossary import GLOSSARY_FILE
from specviz.live.catalog import saved
from specviz.resources import asset_path


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

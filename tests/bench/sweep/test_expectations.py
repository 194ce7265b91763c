"""What a sweep measured, as pages say it: a sentence for each family, and a table of every drafter at its best."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.app.form.fields import expectation
from specviz.bench.sweep.expectations import measured_lines, prompt_file, write_families
from specviz.bench.sweep.table import at_best
from specviz.errors import BenchError
from specviz.protocol.runs import Catalog, FamilyCard
from tests.app.test_figures import point


def test_the_two_fastest_drafters_are_named_each_at_its_best_length() -> None:
    points = [
        point(1.0, None, "none"),
        point(1.5, 2, "ngram"),
        point(2.5, 4, "ngram"),
        point(0.5, None, "lookahead"),
        point(1.25, None, "suffix"),
        replace(point(9.0, 4, "ngram"), temperature=0.8),
    ]
    assert measured_lines(points) == {
        "code": "Measured on 1 prompt at temperature 0: ngram (γ = 4) 2.50 × plain, suffix 1.25 × plain."
    }


def test_of_several_prompts_the_median_counts_and_slower_is_said_as_it_is() -> None:
    points = [point(ratio, 2, "ngram", prompt=str(ratio)) for ratio in (0.5, 0.75, 3.0)]
    assert measured_lines(points) == {"code": "Measured on 3 prompts at temperature 0: ngram (γ = 2) 0.75 × plain."}


def test_a_text_that_repeats_itself_counts_only_where_a_family_has_no_other_and_is_said_then() -> None:
    looped = replace(point(3.0, 2, "ngram", prompt="again"), repetition=0.5)
    assert measured_lines([looped, point(1.5, 2, "ngram")]) == {
        "code": "Measured on 1 prompt at temperature 0: ngram (γ = 2) 1.50 × plain."
    }
    said = "Measured on 1 prompt at temperature 0, all of whose texts repeat themselves: ngram (γ = 2) 3.00 × plain."
    assert measured_lines([looped]) == {"code": said}


def test_a_family_without_a_draft_has_no_sentence() -> None:
    assert measured_lines([point(1.0, None, "none")]) == {}
    assert measured_lines([]) == {}


def test_every_drafter_stands_at_its_best_with_the_fastest_first_and_each_temperature_beside_the_other() -> None:
    """Its tokens per pass are those of its best length; a text that repeats itself is in none of it."""
    cold = [
        point(1.0, None, "none"),
        point(1.5, 2, "ngram"),
        replace(point(2.5, 4, "ngram"), output_tokens=30, rounds=12),
        point(3.0, None, "suffix"),
        replace(point(9.0, 8, "ngram", prompt="again"), repetition=0.5),
    ]
    warm = [replace(point(1.25, 2, "ngram"), temperature=0.8, output_tokens=30, rounds=20)]
    head, _, *lines = at_best([*cold, *warm]).splitlines()
    assert head.startswith("| drafter | at 0 | × plain | 95 % | tokens per pass | at 0.8 | × plain |")
    assert [line.split(" | ")[:3] for line in lines[:2]] == [
        ["| `suffix`", "–", "3.00"],
        ["| `ngram`", "γ = 4", "2.50"],
    ]
    assert lines[0].endswith("| – | – | – | – |")
    assert "| 2.50 | γ = 2 | 1.25 | 1.25 to 1.25 | 1.50 |" in lines[1]
    assert lines[2:] == ["", "Texts that do not repeat themselves: 1 at 0, 1 at 0.8."]


def test_sentences_stand_beside_what_was_expected_and_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "real.json"
    families = [
        {"name": "code", "title": "Code", "expect": "It repeats."},
        {"name": "chat", "title": "Chat", "expect": "It does not.", "measured": "Kept."},
    ]
    path.write_text(json.dumps({"families": families, "prompts": []}), encoding="utf-8")
    write_families(path, {"code": "Measured."}, "ab" * 32)
    content = json.loads(path.read_text(encoding="utf-8"))
    kept = content["families"]
    assert content["weights_sha256"] == "ab" * 32
    assert [family["measured"] for family in kept] == ["Measured.", "Kept."]
    catalog = Catalog((), (), (), (), families=tuple(FamilyCard(**family) for family in kept))
    assert expectation(catalog, "code") == "It repeats. Measured."
    assert expectation(catalog, "none") == ""


def test_a_target_without_prompts_of_its_own_is_refused() -> None:
    assert prompt_file("smollm2").name == "smollm2.json"
    with pytest.raises(BenchError, match="no set of prompts for 'elsewhere'"):
        prompt_file("elsewhere")

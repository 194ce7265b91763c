"""Frequency tables: which tokens a smaller head keeps, what they cover, and files that hold no table."""

import json

import pytest

from specviz.errors import OptionError
from specviz.live.catalog import bundled_models
from specviz.lm.text import TextCodec
from specviz.theory import token_frequencies as frequencies
from specviz.theory.token_frequencies import FrequencyTable, TokenCounts, coverage, coverage_curve, most_frequent

TEXTS = {
    "raw": TokenCounts("files", (0, 9, 1, 0)),
    "drafter": TokenCounts("its text", (0, 1, 2, 3), "ab"),
    "target": TokenCounts("its text", (0, 0, 5, 5), "cd"),
    "held_out": TokenCounts("its text", (1, 1, 4, 4), "cd"),
}
TABLE = FrequencyTable("1e77e25", "letters", (0,), TEXTS)


def test_the_most_frequent_are_kept_in_the_order_of_their_ids():
    assert most_frequent([1, 7, 3, 5], 2) == [1, 3]


def test_of_equally_frequent_tokens_the_lowest_ids_are_kept():
    assert most_frequent([2, 4, 2, 2], 3) == [0, 1, 2]


def test_tokens_that_a_short_text_never_has_go_by_raw_text():
    assert most_frequent([0, 4, 0, 0], 3, then=[1, 0, 7, 9]) == [1, 2, 3]
    assert frequencies.kept_by(TABLE, "target", 4) == [0, 1, 2, 3]
    assert frequencies.kept_by(TABLE, "drafter", 2) == [0, 3]


def test_special_tokens_are_kept_however_rare_and_count_towards_the_size():
    assert most_frequent([9, 8, 7, 0], 2, {3}) == [0, 3]
    assert most_frequent([9, 8, 7, 0], 1, {1, 3}) == [1, 3]


def test_a_head_as_large_as_the_vocabulary_keeps_everything():
    assert most_frequent([1, 0], 5) == [0, 1]


def test_coverage_is_the_share_of_the_texts_tokens():
    assert coverage([1, 3], [1, 2, 3, 4]) == 0.6


def test_nothing_covers_an_empty_text():
    with pytest.raises(OptionError, match="nothing to cover"):
        coverage([0], [0, 0])


def test_the_curve_is_measured_on_held_out_text_of_the_target():
    assert coverage_curve(TABLE, "target", [2, 3, 4]) == [(2, 0.5), (3, 0.9), (4, 1.0)]
    assert coverage_curve(TABLE, "raw", [2, 3]) == [(2, 0.2), (3, 0.6)]


def test_a_table_is_found_by_its_tokenizer_and_comes_back_as_it_was(tmp_path):
    (tmp_path / "letters.json").write_text(frequencies.to_json(TABLE), encoding="utf-8")
    assert frequencies.table_of("1e77e25", tmp_path) == TABLE
    assert frequencies.table_of("another", tmp_path) is None


@pytest.mark.parametrize(
    "change",
    [
        {"format": "x"},
        {"texts": {}},
        {"texts": None},
        {"special_ids": 3},
        {"texts": {"raw": {"what": "", "counts": []}}},
    ],
)
def test_a_file_that_holds_no_table_is_refused(tmp_path, change):
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(json.loads(frequencies.to_json(TABLE)) | change), encoding="utf-8")
    with pytest.raises(OptionError, match=r"'wrong.json' is no frequency table"):
        frequencies.table_of("1e77e25", tmp_path)


def test_the_shipped_table_is_of_the_bundled_tokenizer_and_says_where_its_texts_are_from():
    names = [model.name for model in bundled_models() if model.available]
    assert "drafter" in names
    text = TextCodec.from_folder(frequencies.ROOT / "models" / "drafter", "drafter")
    table = frequencies.table_of(text.sha256)
    assert table is not None, "the bundled tokenizer changed: run `specviz frequencies --write`"
    assert (table.vocab_size, table.special_ids) == (text.size, text.special_ids)
    assert all(one.what and one.total > 1000 for one in table.texts.values())
    assert [bool(table.texts[name].weights_sha256) for name in ("raw", "drafter", "target", "held_out")] == [
        False,
        True,
        True,
        True,
    ]
    assert coverage_curve(table, "target", [table.vocab_size])[0][1] == 1.0

"""Datastores: the order of suffixes, what is found, the file, and what may never be in it."""

import json
import os
import random

import numpy as np
import pytest

from specviz.cli.main import main
from specviz.corpus.plain_english.generator import documents
from specviz.datastore.retrieval import Datastores, folder_texts, library, place_of, plain_english
from specviz.datastore.store import build, built, from_ids, order, read, write
from specviz.errors import DatastoreError
from specviz.live.source import LiveSource
from specviz.resources import asset_path
from tests.proof.letters import Letters, toy_loader, toy_run


def silent(what, done, total):
    pass


def store_of(*documents, vocab_size=10):
    return from_ids("test", [(f"text {i}", ids) for i, ids in enumerate(documents)], "sha", vocab_size)


def test_suffixes_are_ordered_as_sorting_them_would():
    rng = random.Random(3)
    for size in (1, 2, 3, 7, 60):
        text = [rng.randrange(3) for _ in range(size)]
        assert order(np.array(text, np.uint16), silent).tolist() == sorted(range(size), key=lambda i: text[i:])


def test_suffixes_alike_in_their_first_32_tokens_keep_the_order_of_the_text():
    assert order(np.zeros(40, np.uint16), silent)[-3:].tolist() == [6, 7, 8]
    assert order(np.zeros(40, np.uint16), silent)[:2].tolist() == [39, 38]


def test_progress_is_reported_doubling_by_doubling():
    told = []
    order(np.zeros(100, np.uint16), lambda *one: told.append(one))
    assert told == [("sorting", n, 32) for n in (2, 4, 8, 16, 32)]


def test_every_place_that_begins_with_the_tokens_is_found():
    store = store_of([1, 2, 3, 1, 2, 4], [1, 2])
    match = store.places([1, 2])
    assert match.count == 3
    assert sorted(store.suffixes[match.first : match.stop].tolist()) == [0, 3, 7]
    assert store.places([2, 1]).count == 0


@pytest.mark.parametrize(
    ("tokens", "found"), [([9, 1, 2, 3], (3, 1)), ([2, 2], (1, 2)), ([1, 9], None), ([3, 1, 2, 3, 1, 2], (3, 1))]
)
def test_the_longest_suffix_that_occurs_decides(tokens, found):
    match = store_of([1, 2, 3, 1, 2, 4]).longest(tokens, 1, 3)
    assert (match and (match.length, match.count)) == found


def test_continuations_stand_in_order_and_stop_at_the_end_of_their_document():
    store = store_of([1, 5, 6], [1, 5], [1, 4, 7, 7])
    ids, places = store.continuations(store.places([1]), depth=3, most=9)
    assert ids.tolist() == [[4, 7, 7], [5, 6, 10], [5, 10, 1]]
    assert [store.document(place) for place in places.tolist()] == ["text 2", "text 0", "text 1"]


def test_of_too_many_places_every_kth_is_read():
    store = store_of(*[[1, 2]] * 30, *[[1, 3]] * 10)
    ids, _ = store.continuations(store.places([1]), depth=1, most=8)
    assert ids[:, 0].tolist() == [2] * 6 + [3] * 2


def test_a_file_gives_back_what_was_written(tmp_path):
    store = store_of([1, 2, 3], [4, 5])
    write(store, tmp_path / "a.datastore")
    back = read(tmp_path / "a.datastore")
    assert back.ids.tolist() == [1, 2, 3, 10, 4, 5, 10]
    assert back.suffixes.tolist() == store.suffixes.tolist()
    assert (list(back.names), list(back.begins)) == (["text 0", "text 1"], [0, 4])
    assert (back.tokenizer_sha256, back.vocab_size, back.card.sha256) == ("sha", 10, store.card.sha256)
    assert back.card.size_bytes == (tmp_path / "a.datastore").stat().st_size


def test_large_vocabularies_get_wider_ids(tmp_path):
    write(store_of([70_000, 1], vocab_size=70_001), tmp_path / "wide")
    assert read(tmp_path / "wide").ids.tolist() == [70_000, 1, 70_001]


def test_a_missing_or_damaged_file_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(DatastoreError, match="there is no datastore 'no'; build it with `specviz datastore build"):
        read(tmp_path / "no")
    write(store_of([1, 2, 3]), tmp_path / "a")
    whole = (tmp_path / "a").read_bytes()
    for content in (b"", b"hello\n", b"{}\n", whole[:-70], whole + b"\0" * 64):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(DatastoreError, match="'a' is no datastore of this release, or damaged"):
            read(tmp_path / "a")


@pytest.mark.parametrize("back", [64, 128], ids=["a place of the suffix array", "a token"])
def test_a_flipped_bit_of_the_text_or_its_order_is_refused(tmp_path, back):
    write(store_of([1, 2, 3]), tmp_path / "a")
    content = bytearray((tmp_path / "a").read_bytes())
    content[-back] ^= 1
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DatastoreError, match="'a' is no datastore of this release, or damaged"):
        read(tmp_path / "a")


def test_the_built_datastores_are_listed_newest_first_and_nothing_damaged(tmp_path):
    for number, name in enumerate(("old", "new")):
        write(from_ids(name, [("one", [1, 2, 3])], "1e77e25", 6), tmp_path / f"{name}.datastore")
        os.utime(tmp_path / f"{name}.datastore", (86400 * number, 86400 * number))
    (tmp_path / "damaged.datastore").write_bytes(b"{}\n")
    (tmp_path / "notes.txt").write_text("no datastore", encoding="utf-8")
    found = built(tmp_path)
    assert [(one.name, one.tokens, one.built) for one in found] == [("new", 4, "1970-01-02"), ("old", 4, "1970-01-01")]
    assert found[0].file == str(tmp_path / "new.datastore")
    assert found[0].size_bytes == (tmp_path / "new.datastore").stat().st_size
    assert built(tmp_path / "missing") == ()


def test_no_text_makes_no_datastore():
    with pytest.raises(DatastoreError, match="there is no text to build a datastore from"):
        build("empty", [("a", "")], Letters(6), silent)


def test_a_folder_gives_its_text_files_and_nothing_else(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.txt").write_text("two")
    (tmp_path / "a.md").write_text("one")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("no")
    (tmp_path / "d.bin").write_bytes(b"\xff\xfe")
    (tmp_path / "e.bin").write_bytes(b"a\0b")
    assert folder_texts(tmp_path) == [("a.md", "one"), ("b/c.txt", "two")]


@pytest.mark.slow
def test_the_sample_of_the_library_is_small_and_holds_no_held_out_file():
    texts = library("target", 400_000)
    paths = {path for path, _ in texts}
    split = json.loads(asset_path("models", "target", "split.json").read_text(encoding="utf-8"))
    assert len(paths) > 5
    assert paths.isdisjoint(row["path"] for row in split["held_out"])
    python = [text for name, text in texts if not name.startswith("plain English")]
    assert sum(map(len, python)) <= 400_000


def test_a_datastore_holds_plain_english_of_the_training_side_alone():
    found = plain_english(300_000)
    assert 250_000 < sum(len(text) for _, text in found) <= 320_000
    assert len({text for _, text in found}) == len(found)
    assert any("The end." in text for _, text in found)
    held_out = {one.text for one in documents(0, 400_000, held_out=True)}
    assert held_out.isdisjoint(text for _, text in found)


@pytest.fixture
def few_texts(tmp_path, monkeypatch):
    """An empty cache, and a library of two texts that is read as the real one is."""
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path))
    monkeypatch.setattr("specviz.datastore.retrieval.library", lambda name, most: [("a", "abcab"), ("b", "cde" * 20)])


class Small(Letters):
    """Reads any text as letters a to e."""

    def encode(self, text):
        return [1 + ord(letter) % 5 for letter in text[:50]]


@pytest.mark.usefixtures("few_texts")
def test_the_first_run_builds_what_later_ones_open():
    told = []
    codec = Small(6)
    first = Datastores().get(codec, "target", "", told.append)
    assert place_of(codec).is_file()
    assert any("encoding" in status for status in told)
    told.clear()
    assert Datastores().get(codec, "target", "", told.append).card.sha256 == first.card.sha256
    assert told == []


@pytest.mark.usefixtures("few_texts")
def test_a_damaged_datastore_of_the_cache_is_built_anew(caplog):
    codec = Small(6)
    first = Datastores().get(codec, "target", "", lambda _: None)
    whole = place_of(codec).read_bytes()
    for damaged in (whole[:-70], b"", b"[7]\n" + whole):
        caplog.clear()
        place_of(codec).write_bytes(damaged)
        assert Datastores().get(codec, "target", "", lambda _: None).card.sha256 == first.card.sha256
        assert read(place_of(codec)).card.sha256 == first.card.sha256
        assert "or damaged; build it anew" in caplog.text


def test_a_damaged_datastore_that_was_asked_for_by_name_is_left_as_it_is(tmp_path):
    (tmp_path / "mine").write_bytes(b"damaged")
    with pytest.raises(DatastoreError, match="or damaged"):
        Datastores().get(Small(6), "target", str(tmp_path / "mine"), lambda _: None)
    assert (tmp_path / "mine").read_bytes() == b"damaged"


def test_a_datastore_of_another_tokenizer_is_refused(tmp_path):
    write(store_of([1, 2]), tmp_path / "other")
    with pytest.raises(DatastoreError, match="built with another tokenizer than that of target; build one with"):
        Datastores().get(Letters(6), "target", str(tmp_path / "other"), silent)


def test_the_header_of_a_run_names_what_it_retrieved_from(tmp_path):
    write(from_ids("toy", [("one", [1, 2, 3, 1, 2, 4])], Letters.sha256, 6), tmp_path / "toy.datastore")
    settings = {"drafter": "rest", "max_new_tokens": 8, "datastore": str(tmp_path / "toy.datastore")}
    trace = toy_run(LiveSource(load=toy_loader(), measure=False), "ab", **settings)
    assert trace.started.datastore is not None
    assert (trace.started.datastore.name, trace.started.datastore.tokens) == ("toy", 7)
    assert str(tmp_path) not in json.dumps(trace.started.drafter.options)


def test_the_command_builds_from_a_folder_and_shows_size_and_lookup_time(tmp_path, capsys):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.py").write_text("for i in range(10):\n    print(i)\n" * 20)
    out = tmp_path / "b.datastore"
    assert main(["datastore", "build", "--corpus", str(tmp_path / "texts"), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "texts: 1 files" in printed
    assert " MB" in printed
    assert "µs" in printed
    assert main(["datastore", "show", "--out", str(out)]) == 0
    assert main(["datastore", "build", "--corpus", str(tmp_path / "no"), "--out", str(out)]) == 2
    assert main(["datastore", "show", "--corpus", str(tmp_path), "--out", str(out)]) == 2

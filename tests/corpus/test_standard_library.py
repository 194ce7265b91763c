"""The split is by file, stable, and keeps data tables out."""

import pytest

from specviz.corpus.standard_library import Corpus, Document, is_held_out, is_permissive, literal_share, manifest, split
from specviz.errors import TrainingError


def documents(count: int) -> list[Document]:
    return [Document(f"file_{i}.py", "code", f"x = {i}\n") for i in range(count)]


def test_no_file_is_on_both_sides_of_the_split() -> None:
    corpus = split(documents(400), seed=0)
    train, held_out = ({d.path for d in side} for side in (corpus.train, corpus.held_out))
    assert not train & held_out
    assert len(train) + len(held_out) == 400


def test_about_three_percent_of_code_files_are_held_out() -> None:
    assert 0.01 < len(split(documents(2000), seed=0).held_out) / 2000 < 0.06


def test_a_file_keeps_its_side_when_other_files_come_and_go() -> None:
    many, few = split(documents(2000), seed=0), split(documents(400), seed=0)
    assert {d.path for d in few.held_out} <= {d.path for d in many.held_out}


def test_another_seed_gives_another_split() -> None:
    assert [is_held_out(d, 0) for d in documents(500)] != [is_held_out(d, 1) for d in documents(500)]


def test_a_split_with_an_empty_side_is_refused() -> None:
    with pytest.raises(TrainingError, match="held-out"):
        split(documents(1), seed=0)


def test_tables_of_numbers_and_escapes_stand_out_from_code() -> None:
    table = ", ".join(f"0x{i:04x}" for i in range(200))
    assert literal_share(table) > 0.5
    assert literal_share("def add(self, other):\n    return self.total + other\n") < 0.02


def test_the_manifest_names_every_file_with_its_hash(mini_corpus: Corpus) -> None:
    rows = manifest(mini_corpus)
    assert [row["path"] for row in rows["held_out"]] == ["held_0.py", "held_1.py"]
    assert all(len(row["sha256"]) == 64 and row["bytes"] > 0 for row in rows["train"])


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [("MIT", True), ("Apache-2.0", True), ("BSD-3-Clause", True), ("GPL-3.0", False), ("undeclared", False)],
)
def test_packages_are_taken_only_under_a_permissive_licence(licence: str, allowed: bool) -> None:
    assert is_permissive(licence) is allowed

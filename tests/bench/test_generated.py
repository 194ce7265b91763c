"""`prove chat`: what counts as the same text, how near a tie was, and that rows are kept and gone on with."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from specviz.bench import generated
from specviz.bench.generated import Generated, Row, keep, kept, row_of, rows, spread, summaries
from specviz.cli.generated_texts import table
from specviz.errors import BenchError
from specviz.protocol.runs import PromptCard, RunRequest

THEIRS = Generated((5, 6, 7, 2), (3.0, 0.0002, 1.0, 9.0))


def card(name: str, family: str) -> PromptCard:
    return PromptCard(name, family, name, "", f"say {name}")


def test_the_same_text_has_no_margin_of_a_difference() -> None:
    row = row_of("sky", "ngram", 8, THEIRS, [5, 6, 7, 2], 2)
    assert (row.equal, row.whole, row.margin, row.least) == (4, True, None, 0.0002)


def test_the_first_token_that_differs_is_counted_with_its_margin() -> None:
    row = row_of("sky", "ngram", 8, THEIRS, [5, 9, 7, 2], 2)
    assert (row.equal, row.whole, row.margin) == (1, False, 0.0002)


@pytest.mark.parametrize(("written", "equal", "margin"), [([5, 6, 7], 3, 9.0), ([5, 6, 7, 2, 8], 4, None)])
def test_a_text_that_ends_earlier_or_later_is_another(written: list[int], equal: int, margin: float | None) -> None:
    row = row_of("sky", "ngram", 8, THEIRS, written, 2)
    assert (row.equal, row.whole, row.margin) == (equal, False, margin)


def test_messages_are_taken_family_by_family() -> None:
    cards = [card("a1", "a"), card("a2", "a"), card("a3", "a"), card("b1", "b"), card("b2", "b")]
    assert [one.id for one in spread(cards, 4)] == ["a1", "b1", "a2", "b2"]
    assert [one.id for one in spread(cards, 9)] == ["a1", "b1", "a2", "b2", "a3"]


def test_a_table_names_what_differs_and_where() -> None:
    compared = [row_of("sky", "ngram", 8, THEIRS, [5, 6, 7, 2], 2), row_of("sea", "ngram", 8, THEIRS, [5, 9], 2)]
    (one,) = summaries(compared)
    assert (one.whole, one.prompts, one.tokens_per_pass, one.least) == (1, 2, 1.5, 0.0002)
    line = "| `ngram` | sea from token 2 (0.0002 apart) | 1 of 2 | 1.50 | 0.0002 |"
    assert table(compared).splitlines()[-1] == line


def test_rows_that_are_kept_are_not_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran = list[tuple[str, str]]()

    def collect(source: object, request: RunRequest) -> SimpleNamespace:
        ran.append((request.prompt, request.drafter.name))
        assert (request.target, request.chat, request.dtype, request.max_new_tokens) == ("real", True, "float32", 8)
        return SimpleNamespace(finished=SimpleNamespace(output_ids=[5, 6, 7, 2]), rounds=[1, 2])

    monkeypatch.setattr(generated, "collect", collect)
    theirs = SimpleNamespace(generate=lambda message, tokens: THEIRS)
    request, cards = RunRequest("", "real", max_new_tokens=8), [card("a", "x"), card("b", "x")]
    compared = list(rows(None, theirs, cards, request, ("none", "ngram")))  # type: ignore[arg-type]
    assert [(row.prompt, row.drafter, row.passes) for row in compared] == [
        ("a", "none", 2),
        ("a", "ngram", 2),
        ("b", "none", 2),
        ("b", "ngram", 2),
    ]
    keep(tmp_path / "rows.json", compared[:3])
    ran.clear()
    known = kept(tmp_path / "rows.json")
    assert list(rows(None, theirs, cards, request, ("none", "ngram"), known)) == compared[3:]  # type: ignore[arg-type]
    assert ran == [("say b", "ngram")]


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    assert kept(tmp_path / "none.json") == list[Row]()
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(BenchError, match="holds no rows of this comparison"):
        kept(tmp_path / "other.json")

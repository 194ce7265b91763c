"""Files to take away: once each, served as they lie, never more than so many."""

from pathlib import Path

from specviz.app.offered import Offered, served_folder
from specviz.app.runs.stage import pack, unpack


def test_the_same_content_is_the_same_file_and_lies_where_gradio_serves_from() -> None:
    offered = Offered()
    first, again, other = (offered.file("a.csv", text) for text in ("1,2", "1,2", "3"))
    assert (first, Path(first).read_text(encoding="utf-8")) == (again, "1,2")
    assert other != first
    assert served_folder() in Path(first).parents
    assert Path(first).name == "a.csv"


def test_the_oldest_file_goes_when_there_are_too_many_and_one_that_is_offered_again_stays() -> None:
    offered = Offered(most=2)
    a, b = offered.file("x.csv", "a"), offered.file("x.csv", "b")
    offered.file("x.csv", "a")
    c = offered.file("x.csv", "c")
    assert [Path(one).exists() for one in (a, b, c)] == [True, False, True]
    assert not Path(b).parent.exists()


def test_large_files_go_before_there_are_too_many_of_them_but_never_the_last() -> None:
    offered = Offered(most_bytes=10)
    small, other = offered.file("x.zip", b"1234"), offered.file("x.zip", b"56789")
    assert Path(small).exists()
    third = offered.file("x.zip", b"12")
    assert [Path(one).exists() for one in (small, other, third)] == [False, True, True]
    large = offered.file("x.zip", b"12345678901")
    assert [Path(one).exists() for one in (other, third, large)] == [False, False, True]


def test_what_is_packed_is_smaller_and_comes_back_as_it_was() -> None:
    text = '{"token": "é🚀"}' * 100
    assert unpack(pack(text)) == text
    assert len(pack(text)) < len(text) / 10
    assert pack(text) == pack(text)

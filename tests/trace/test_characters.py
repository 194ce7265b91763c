"""Characters across tokens."""

import pytest

from specviz.trace.characters import decoded, display_pieces, legible, output_bytes, token_bytes
from tests.trace.changing import sample


def test_an_emoji_split_over_two_tokens_belongs_to_the_second() -> None:
    trace = sample()
    ids = trace.finished.output_ids
    at = ids.index(17)
    shown = display_pieces([token_bytes(trace, token) for token in ids])
    assert (ids[at : at + 2], shown[at : at + 2]) == ([17, 18], ["", "🚀"])


@pytest.mark.parametrize(
    ("parts", "pieces"),
    [
        ([], []),
        ([b"a", b"b"], ["a", "b"]),
        ([b"\xf0", b"\x9f", b"\x9a", b"\x80"], ["", "", "", "🚀"]),
        ([b"\xc3", b"x"], ["", "\ufffdx"]),
        ([b"\x80", b"a"], ["\ufffd", "a"]),
        ([b"a", b"\xe2\x82"], ["a", "\ufffd"]),
        ([b"", b"\xe2\x82", b"\xac!"], ["", "", "€!"]),
    ],
)
def test_characters_belong_to_the_token_that_completes_them(parts: list[bytes], pieces: list[str]) -> None:
    assert display_pieces(parts) == pieces
    assert "".join(pieces) == decoded(b"".join(parts)), "nothing is lost and nothing is added"


def test_an_unfinished_character_may_wait_for_more() -> None:
    assert display_pieces([b"a", b"\xe2\x82"], final=False) == ["a", ""]


def test_special_tokens_are_not_text() -> None:
    trace = sample()
    trace.finished.output_ids.append(0)
    assert output_bytes(trace).decode() == trace.finished.text
    assert token_bytes(trace, 0) == b"<|end|>"


@pytest.mark.parametrize(
    ("token", "text"),
    [(b" na", " na"), ("🚀".encode(), "🚀"), (b" \xf0\x9f", " ⟨F0·9F⟩"), (b"\x91A\xe2\x80", "⟨91⟩A⟨E2·80⟩"), (b"", "")],
)
def test_a_token_that_stands_alone_shows_the_bytes_of_a_piece_of_a_character(token: bytes, text: str) -> None:
    assert legible(token) == text

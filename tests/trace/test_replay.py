"""Text at any round, and characters across tokens."""

from __future__ import annotations

import pytest

from specviz.trace.replay import decoded, display_pieces, output_bytes, state_after, token_bytes
from tests.trace.changing import sample


def test_the_prompt_is_the_state_before_any_round() -> None:
    state = state_after(sample(), 0)
    assert state.text == "def add(a, b):\n"
    assert {piece.origin for piece in state.pieces} == {None}


def test_rounds_add_what_they_committed() -> None:
    trace = sample()
    assert state_after(trace, 1).text == "def add(a, b):\n    return a"
    assert [piece.text for piece in state_after(trace, 1).pieces[8:]] == ["    ", "return", " a"]
    assert [piece.origin for piece in state_after(trace, 1).pieces[8:]] == ["draft", "draft", "correction"]
    assert state_after(trace, 2).text.endswith("return a + b #<b>")
    assert [(piece.round, piece.node) for piece in state_after(trace, 2).pieces[11:]] == [
        (1, 3),
        (1, 8),
        (1, 14),
        (1, None),
    ]


def test_after_the_last_round_the_text_is_the_output() -> None:
    trace = sample()
    assert state_after(trace, 8).text == trace.started.prompt_text + trace.finished.text


def test_ids_grow_by_what_is_committed() -> None:
    trace = sample()
    lengths = [len(state_after(trace, k).ids) for k in range(9)]
    assert lengths == [8, 11, 15, 17, 18, 19, 24, 26, 28]
    assert lengths[:8] == [one.base_length for one in trace.rounds]


def test_an_emoji_split_over_two_tokens_belongs_to_the_second() -> None:
    pieces = state_after(sample(), 6).pieces[19:21]
    assert [(piece.token, piece.text) for piece in pieces] == [(17, ""), (18, "🚀")]


@pytest.mark.parametrize("rounds", [-1, 9])
def test_rounds_that_do_not_exist_are_refused(rounds: int) -> None:
    with pytest.raises(IndexError, match="this trace has 8; choose 0 to 8"):
        state_after(sample(), rounds)


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

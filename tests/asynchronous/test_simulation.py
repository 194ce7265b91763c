"""The asynchronous methods on toy texts: the target's own text whatever happens, and the times that follow by hand."""

from __future__ import annotations

import random
from itertools import product

import pytest

from specviz.asynchronous.board import LocalBoard
from specviz.asynchronous.machines import (
    Draft,
    Reach,
    RolledBack,
    Verify,
    Wait,
    after,
    drafter,
    pearl,
    tail_of,
    verifier,
)
from specviz.asynchronous.simulation import Clock, amusd, dsi, in_rounds, plainly, ssd

PROMPT = [1, 2]


def say(text):
    """A target of five tokens: a fixed function of the whole text."""
    return random.Random(f"target {list(text)}").randrange(5)


def guessing(alpha: float):
    """A drafter that is right in that share of the texts."""

    def guess(text):
        draw = random.Random(f"drafter {alpha} {list(text)}")
        return say(text) if draw.random() < alpha else (say(text) + 1 + draw.randrange(4)) % 5

    return guess


def never(text):
    return (say(text) + 1) % 5


FLAT = Clock(1.0, lambda rows: 4.0)
METHODS = {
    "amusd": lambda guess, length: amusd(guess, say, PROMPT, length, 8, 7, FLAT),
    "pearl": lambda guess, length: in_rounds(guess, say, PROMPT, length, 4, FLAT),
    "dsi": lambda guess, length: dsi(guess, say, PROMPT, length, 4, 2, FLAT),
    "ssd": lambda guess, length: foreseen(guess, length, 2).lanes,
}


def foreseen(guess, length, fan_out, clock=FLAT, rows_s=lambda rows: 1.0):
    """The drafter's first choice is its guess, the others follow in the order of their numbers."""
    return ssd(
        lambda text: [guess(text), *(token for token in range(5) if token != guess(text))],
        say, PROMPT, length, 3, fan_out, clock, rows_s,
    )  # fmt: skip


@pytest.mark.parametrize(("method", "alpha"), list(product(METHODS, (0.0, 0.5, 0.9, 1.0))))
def test_the_text_is_that_of_plain_decoding(method, alpha):
    guess = guessing(alpha) if alpha else never
    for length in (3, 4, 7, 40):
        plain = plainly(say, PROMPT, length, FLAT)
        assert METHODS[method](guess, length).text[:length] == plain.text


def test_plain_decoding_takes_a_pass_a_token():
    assert plainly(say, PROMPT, 12, FLAT).seconds == 40.0


def test_a_perfect_drafter_saves_what_can_be_hidden():
    """PEARL drafts the next 4 while 4 are read."""
    lanes = METHODS["pearl"](say, 14)
    assert lanes.seconds == 4.0 + 3 * 4.0, "one round to begin, then 4 tokens a round"
    assert lanes.busy("target") == 1.0
    assert lanes.busy("drafter") == 11 / 16, "all but the text's last token, and then nothing is left to draft"


def test_a_drafter_that_is_never_right_costs_pearl_nothing():
    assert METHODS["pearl"](never, 12).seconds == 40.0


def test_asynchronous_drafting_goes_on_while_the_target_reads():
    lanes = METHODS["amusd"](say, 40)
    reading = [one for one in lanes.spans if one.what == "verify"]
    drafting = [one for one in lanes.spans if one.what == "draft"]
    overlaps = [d for d in drafting for v in reading if v.start_s < d.start_s < v.end_s]
    assert len(overlaps) > len(drafting) / 2
    assert lanes.seconds < 7 * (4 + 4) + 2 + 4, "drafting 4 and verifying them in turn, 5 tokens a round, 38 in all"


def test_more_servers_never_slow_dsi_down():
    guess = guessing(0.8)
    slow = Clock(0.1, lambda rows: 4.0)
    times = [dsi(guess, say, PROMPT, 40, 4, servers, slow).seconds for servers in (1, 2, 4, 8)]
    assert times == sorted(times, reverse=True)
    assert times[0] > times[-1]


def test_the_drafter_may_be_ahead_by_so_much_and_never_at_the_texts_last_token():
    """Three ahead of two tokens is 5; of a text of 4 the last is not drafted; a model that reads 3 drafts a fourth."""
    limits = []
    for reach in (Reach.of(10), Reach.of(4), Reach.of(4, context=9), Reach.of(10, context=3)):
        board = LocalBoard(PROMPT)
        assert isinstance(next(verifier(board, reach, 3, 9, lambda token: False, lambda: True)), Wait)
        limits.append(board.limit())
    assert limits == [5, 3, 3, 4]


def test_a_tail_is_what_a_draft_that_begins_with_the_text_has_behind_it():
    board = LocalBoard(PROMPT)
    board.write_draft(2, [3, 4, 5])
    assert tail_of(board, [1, 2], reached=5, widest=9) == [3, 4, 5]
    assert tail_of(board, [1, 2], reached=4, widest=9) == [3, 4], "what was not announced is not read"
    assert tail_of(board, [1, 2], reached=5, widest=2) == [3, 4]
    assert tail_of(board, [1, 2, 3], reached=3, widest=9) == []
    assert tail_of(board, [1, 2, 4], reached=5, widest=9) == [], "another last token"
    assert tail_of(board, [0, 2, 3], reached=5, widest=9) == [], "another first token"
    assert tail_of(board, [1, 2, 3], reached=5, widest=-1) == []


def told(board, own, want):
    """Every wish of a verifier that is answered by `own`, its tails as they are asked for, until it is over."""
    tails = []
    while want is not None:
        answer = None
        if isinstance(want, Verify):
            tails.append((list(want.text), list(want.tail)))
            answer = [say([*want.text, *want.tail[:read]]) for read in range(len(want.tail) + 1)]
        want = after(own, answer)
    return tails


def test_no_more_is_verified_than_the_text_has_room_for_and_a_wholly_right_tail_asks_for_no_rollback():
    """A text of 6 tokens behind 2 of a prompt: 3 drafted ones and the target's own fill it."""
    plain = plainly(say, PROMPT, 6, FLAT).text
    board = LocalBoard(PROMPT)
    board.write_draft(2, plain[2:])
    own = verifier(board, Reach.of(6), 8, 9, lambda token: False, lambda: True)
    assert told(board, own, next(own)) == [(PROMPT, list(plain[2:5]))]
    assert (board.verified(0, 9), board.rollbacks_asked()) == (list(plain), 0)
    wrong = LocalBoard(PROMPT)
    wrong.write_draft(2, [plain[2], (plain[3] + 1) % 5])
    own = verifier(wrong, Reach.of(6), 8, 9, lambda token: False, lambda: True)
    want = next(own)
    assert want == Verify(PROMPT, [plain[2], (plain[3] + 1) % 5])
    assert isinstance(after(own, [say(plain[:2]), say(plain[:3]), 0]), Wait), "for the drafter to take it back"
    assert (wrong.verified(0, 9), wrong.rollbacks_asked()) == (list(plain[:4]), 1)


def test_a_drafter_throws_away_what_is_not_the_text_any_more():
    board = LocalBoard(PROMPT)
    board.allow(9)
    own = drafter(board)
    assert next(own) == Draft(PROMPT)
    assert after(own, [3]) == Draft([1, 2, 3])
    assert after(own, [4]) == Draft([1, 2, 3, 4])
    board.ask_rollback()
    board.append_verified([3, 0])
    assert after(own, [4]) == RolledBack(2), "4, 4 of 3, 4, 4; 3 is the text's"
    assert (board.draft(0, 9), board.rollbacks_done()) == ([1, 2, 3, 0], 1)


class Shaky(LocalBoard):
    """Shows old lengths and, now and then, a draft with a wrong token in it."""

    def __init__(self, prompt, draw):
        super().__init__(prompt)
        self.draw = draw

    def draft_length(self):
        return max(0, super().draft_length() - self.draw.choice((0, 0, 1, 3)))

    def draft(self, start, stop):
        found = super().draft(start, stop)
        if found and self.draw.random() < 0.2:
            found[self.draw.randrange(len(found))] = 4
        return found


def interleaved(method: str, seed: int) -> tuple[list[int], int]:
    """One text with the two machines resumed in random order; the drafter may be killed on the way. (text, steps)."""
    draw = random.Random(seed)
    board = Shaky(PROMPT, draw) if seed % 2 else LocalBoard(PROMPT)
    guess, alive, length = guessing(draw.choice((0.0, 0.5, 0.9))), [True], draw.randrange(3, 12)
    killed_at = draw.choice((None, draw.randrange(20)))
    reach, ahead, wide = Reach.of(length, draw.choice((None, 4))), draw.randrange(1, 5), draw.randrange(1, 5)
    machines = {
        "drafter": drafter(board),
        "target": verifier(board, reach, ahead, wide, lambda token: False, lambda: alive[0])
        if method == "amusd"
        else pearl(board, reach, ahead + 1, lambda token: False, lambda: alive[0]),
    }
    wants, idle, steps = {name: next(machine) for name, machine in machines.items()}, 0, 0
    while not board.is_over():
        steps += 1
        if killed_at is not None and steps > killed_at:
            alive[0] = False
        name = draw.choice([one for one in machines if one == "target" or alive[0]])
        want, answer, before = wants[name], None, board.changes
        if isinstance(want, Draft):
            answer = [guess(want.text)]
        elif isinstance(want, Verify):
            answer = [say([*want.text, *want.tail[:read]]) for read in range(len(want.tail) + 1)]
        try:
            wants[name] = machines[name].send(answer)
        except StopIteration:
            break
        idle = 0 if board.changes != before or answer else idle + 1
        assert idle < 200, "nothing moves any more: a deadlock"
    return board.verified(0, length), length


@pytest.mark.parametrize("method", ["amusd", "pearl"])
def test_ten_thousand_interleavings_lose_nothing_and_never_stand_still(method):
    """Old lengths, torn drafts and a drafter that is killed cost time, never a token."""
    for seed in range(10_000):
        text, length = interleaved(method, seed)
        assert text == plainly(say, PROMPT, length, FLAT).text, seed


def test_a_verdict_that_was_drafted_for_costs_no_draft_and_another_costs_one_more():
    """With all four other tokens foreseen every verdict is a hit; with none, none is: the round's time by hand."""
    length = 2 + 4 * 8  # rounds of a drafter that is always wrong bring one token
    all_of_them, none = (foreseen(never, 2 + 12, fan_out) for fan_out in (4, 0))
    assert (all_of_them.hits, all_of_them.verdicts) == (11, 11)
    assert (none.hits, none.verdicts) == (0, 11)
    # three tokens drafted once, then rounds of the target's 4 s; on two of them less is left to draft
    assert all_of_them.lanes.seconds == 3 + 12 * 4
    assert none.lanes.seconds == 12 * 4 + 9 * 3 + 2 + 1
    right = foreseen(guessing(1.0), length, 1)
    assert (right.hits, right.verdicts, right.branches) == (7, 7, 4)
    assert right.lanes.seconds == 3 + 8 * 4


def test_branches_that_take_longer_than_the_target_are_waited_for():
    slow = foreseen(guessing(1.0), 2 + 8, 2, rows_s=float)
    assert slow.branches == 8  # two tokens behind each of four counts
    assert slow.lanes.seconds == 3 + 3 * 8 + 4
    thrown = [span.tokens for span in slow.lanes.spans if span.what == "roll back"]
    assert thrown == [7 * 3]


def test_the_drafted_token_itself_is_no_verdict_that_is_drafted_for():
    """It would have been accepted: behind it the count is another."""
    behind = foreseen(guessing(1.0), 2 + 8, 5)
    assert behind.branches == 4 * 3 + 5

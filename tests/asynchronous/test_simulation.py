"""The asynchronous methods on toy texts: the target's own text whatever happens, and the times that follow by hand."""

import random
from functools import cache
from itertools import product

import pytest

from specviz.asynchronous.board import LocalBoard
from specviz.asynchronous.foresight import Plan, drafting, foreseer
from specviz.asynchronous.machines import (
    Branches,
    Chosen,
    Draft,
    Likeliest,
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
from specviz.asynchronous.simulation import Clock, amusd, dsi, in_rounds, likeliest, plainly, ssd

PROMPT = [1, 2]


def say(text):
    """A target of five tokens: a fixed function of the whole text."""
    return _said(tuple(text))


@cache  # to seed a generator takes longer than all the rest of a round
def _said(text):
    return random.Random(f"target {list(text)}").randrange(5)


@cache
def guessing(alpha: float):
    """A drafter that is right in that share of the texts."""

    @cache
    def guess(text):
        draw = random.Random(f"drafter {alpha} {list(text)}")
        return say(text) if draw.random() < alpha else (say(text) + 1 + draw.randrange(4)) % 5

    return lambda text: guess(tuple(text))


def never(text):
    return (say(text) + 1) % 5


FLAT = Clock(1.0, lambda rows: 4.0)
METHODS = {
    "amusd": lambda guess, length: amusd(guess, say, PROMPT, length, 8, 7, FLAT),
    "pearl": lambda guess, length: in_rounds(guess, say, PROMPT, length, 4, FLAT),
    "dsi": lambda guess, length: dsi(guess, say, PROMPT, length, 4, 2, FLAT),
    "ssd": lambda guess, length: foreseen(guess, length, 2),
}


def foreseen(guess, length, fan_out, branches_s=lambda rows: 1.0):
    """SSD with drafts of 3. The drafter's first choice is its guess; the others follow by their numbers."""
    return ssd(ranking(guess), say, PROMPT, length, 3, fan_out, Clock(1.0, lambda rows: 5.0, branches_s))


def ranking(guess):
    return lambda text: [guess(text), *(token for token in range(5) if token != guess(text))]


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
    plan = Plan(ahead, draw.randrange(4), reach.draft) if method == "ssd" else None
    targets = {
        "amusd": lambda: verifier(board, reach, ahead, wide, lambda token: False, lambda: alive[0]),
        "pearl": lambda: pearl(board, reach, ahead + 1, lambda token: False, lambda: alive[0]),
        "ssd": lambda: verifier(board, reach, ahead, ahead, lambda token: False, lambda: alive[0], ahead),
    }
    machines = {"drafter": drafting(board, plan), "target": targets[method]()}
    wants, idle, steps = {name: next(machine) for name, machine in machines.items()}, 0, 0
    while not board.is_over():
        steps += 1
        if killed_at is not None and steps > killed_at:
            alive[0] = False
        name = draw.choice([one for one in machines if one == "target" or alive[0]])
        want, answer, before = wants[name], None, board.changes
        if isinstance(want, Draft):
            answer = [guess(want.text)] if draw.random() < 0.9 else None
        elif isinstance(want, Branches):
            answer = [guess([*want.text, *path]) for path in want.paths] if draw.random() < 0.9 else None
        elif isinstance(want, Likeliest):
            answer = likeliest(ranking(guess), want)
        elif isinstance(want, Verify):
            answer = [say([*want.text, *want.tail[:read]]) for read in range(len(want.tail) + 1)]
        try:
            wants[name] = machines[name].send(answer)
        except StopIteration:
            break
        idle = 0 if board.changes != before or answer else idle + 1
        assert idle < 200, "nothing moves any more: a deadlock"
    return board.verified(0, length), length


@pytest.mark.parametrize("method", ["amusd", "pearl", "ssd"])
def test_ten_thousand_interleavings_lose_nothing_and_never_stand_still(method):
    """Old lengths, torn drafts and a drafter that is killed cost time, never a token."""
    for seed in range(10_000):
        text, length = interleaved(method, seed)
        assert text == plainly(say, PROMPT, length, FLAT).text, seed


def test_a_verdict_that_was_drafted_for_costs_no_draft_and_another_costs_one_more():
    """Passes of 1 s for the drafter and 5 s for the target, which leaves time for the drafter's own next token and for
    three behind each verdict. A drafter that is always wrong, with all four other tokens foreseen, or none."""
    all_of_them, none = (foreseen(never, 2 + 6, fan_out) for fan_out in (4, 0))
    assert all_of_them.ready == [3, 3, 2, 1], "of the last two drafts, which the text leaves less room for"
    assert none.ready == [0, 0, 0, 0]
    assert all_of_them.seconds == 3 + 6 * 5
    assert none.seconds == 3 + 6 * 5 + 3 + 3 + 2 + 1, "each draft in turn, and none for the text's last token"


def test_a_drafter_that_is_always_right_has_every_next_draft_ready_with_a_single_verdict_behind_each_count():
    right = foreseen(say, 2 + 4 * 4, 1)
    assert right.ready == [3, 3, 3]
    assert right.seconds == 3 + 4 * 5
    passes = [one.tokens for one in right.spans if one.what == "draft"]
    assert passes[:7] == [1, 1, 1, 1, 4, 4, 4], "a draft, its own next token, and three behind each of four counts"
    thrown = [one.tokens for one in right.spans if one.what == "roll back"]
    assert thrown == [9, 9, 9], "three branches of three tokens each"


def test_a_branch_that_is_not_finished_when_the_verdict_comes_is_drafted_on_from_where_it_is():
    """The target reads from 3 s to 8 s. Passes over branches, of 2.5 s each, begin at 4 s: the second is over at 9 s,
    and the last token is drafted then."""
    slow = foreseen(say, 2 + 4 * 2, 1, branches_s=lambda rows: 2.5)
    assert slow.ready == [2]
    assert slow.seconds == 9 + 1 + 5


def test_what_is_foreseen_changes_when_a_draft_is_there_and_not_what_is_drafted():
    for alpha in (0.3, 0.8):
        runs = [foreseen(guessing(alpha), 40, fan_out, branches_s) for fan_out, branches_s in FORESIGHTS]
        rounds = [[(one.tokens, one.kept) for one in run.spans if one.what == "verify"] for run in runs]
        assert rounds[0] == rounds[1] == rounds[2]


FORESIGHTS = ((0, lambda rows: 1.0), (2, lambda rows: 0.25), (4, float))


def told_to_draft(want, own, answers):
    """What a drafter's machine wants, one after the other, as it is given these answers."""
    wants = [want]
    for answer in answers:
        wants.append(after(own, answer))
    return wants


def test_branches_are_the_likeliest_tokens_behind_each_count_but_the_drafted_one_and_the_drafters_own_behind_all():
    """A draft of 3 4 and then 0 of the drafter's own; 7 and 8 are likeliest at its places beside what it drew."""
    board = LocalBoard(PROMPT)
    board.allow(4)
    own = foreseer(board, Plan(2, 1, longest=9))
    wants = told_to_draft(next(own), own, ([3], [4], [0], [7, 8, 9], [5, 5, 5]))
    assert wants[:4] == [Draft(PROMPT), Draft([1, 2, 3]), Draft([1, 2, 3, 4]), Likeliest(PROMPT, [3, 4, 0], 1)]
    assert wants[4] == Branches(PROMPT, [[7], [3, 8], [3, 4, 0]])
    assert wants[5] == Branches(PROMPT, [[7, 5], [3, 8, 5], [3, 4, 0, 5]])
    board.ask_rollback()
    board.append_verified([3, 8])
    assert after(own, [6, 6, 6]) == Chosen([1, 2, 3, 8], [5, 6])
    assert after(own, None) == RolledBack(6), "4, 0, and two tokens behind each of two verdicts"
    assert (board.handed_over(), board.draft_length(), board.rollbacks_done()) == (2, 4, 1)
    board.allow(6)
    assert after(own, None) == Draft([1, 2, 3, 8, 5, 6]), "handed over, and the next verdicts are foreseen"
    assert board.draft(0, 9) == [1, 2, 3, 8, 5, 6]


def test_nothing_is_drafted_ahead_that_has_no_room():
    """A draft of two may become five tokens long: behind its end nothing can follow a verdict's own token, one token
    before that, two at its beginning. One that is as long as it may be is only read up to its last token."""
    board = LocalBoard(PROMPT)
    board.allow(4)
    own = foreseer(board, Plan(2, 1, longest=5))
    wants = told_to_draft(next(own), own, ([3], [4], [0], [7, 8, 9], [5, 5]))
    assert wants[4:] == [Branches(PROMPT, [[7], [3, 8]]), Branches(PROMPT, [[7, 5]])]
    assert after(own, [6]) == Wait()
    short = LocalBoard(PROMPT)
    short.allow(4)
    own = foreseer(short, Plan(2, 1, longest=4))
    wants = told_to_draft(next(own), own, ([3], [4], [4], [7, 8]))
    assert wants[2:] == [Draft([1, 2, 3]), Likeliest(PROMPT, [3, 4], 1), Branches(PROMPT, [[7]])]


def test_a_verifier_that_waits_for_a_whole_draft_takes_less_only_where_the_text_ends():
    board = LocalBoard(PROMPT)
    own = verifier(board, Reach.of(6), 3, 3, lambda token: False, lambda: True, 3)
    assert isinstance(next(own), Wait)
    board.write_draft(2, [3, 4])
    assert isinstance(after(own, None), Wait)
    board.write_draft(4, [5])
    assert after(own, None) == Verify(PROMPT, [3, 4, 5])
    assert isinstance(after(own, [3, 0, 0, 0]), Wait)
    board.answer_rollbacks(1)
    board.write_draft(3, [0, 6])
    assert after(own, None) == Verify([1, 2, 3, 0], [6]), "five tokens: the sixth is never drafted"

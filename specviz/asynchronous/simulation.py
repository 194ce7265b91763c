"""The asynchronous methods on a clock of their own: what each lane does when, from times and tokens that are given.

A discrete-event simulation of the very machines that the processes run. Nothing is computed here: a drafter and a
target are functions from a text to tokens, and their passes take the seconds of `Clock`. Everything it gives is
*simulated*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specviz.asynchronous.board import LocalBoard
from specviz.asynchronous.machines import (
    Draft,
    Machine,
    Reach,
    RolledBack,
    Verify,
    Wait,
    drafter,
    pearl,
    shared,
    verifier,
)
from specviz.protocol.lanes import DRAFT, TARGET, Lanes, Span

Guess = Callable[[Sequence[int]], int]
"""text → the drafter's next token"""
Say = Callable[[Sequence[int]], int]
"""text → the target's next token: the same whenever it is asked, as with noise that belongs to the position"""


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds of passes."""

    draft_s: float
    """of the drafter over one token"""
    target_s: Callable[[int], float]
    """of the target over n rows"""


def plainly(say: Say, prompt: Sequence[int], length: int, clock: Clock) -> Lanes:
    """Plain decoding: one pass a token."""
    text, spans, now = list(prompt), list[Span](), 0.0
    while len(text) < length:
        text.append(say(text))
        spans.append(Span(TARGET, "verify", now, now + clock.target_s(1), 0, 1))
        now = spans[-1].end_s
    return Lanes("plain", text, now, spans)


def amusd(guess: Guess, say: Say, prompt: Sequence[int], length: int, ahead: int, widest: int, clock: Clock) -> Lanes:
    """AMUSD: both machines on one board, each as fast as its passes."""
    board = LocalBoard(prompt)
    target = verifier(board, Reach.of(length), ahead, widest, lambda token: False, lambda: True)
    return _beside("amusd", board, target, guess, say, clock)


def in_rounds(guess: Guess, say: Say, prompt: Sequence[int], length: int, gamma: int, clock: Clock) -> Lanes:
    """PEARL: the same with drafts of γ."""
    board = LocalBoard(prompt)
    target = pearl(board, Reach.of(length), gamma, lambda token: False, lambda: True)
    return _beside("pearl", board, target, guess, say, clock)


def _beside(method: str, board: LocalBoard, target: Machine, guess: Guess, say: Say, clock: Clock) -> Lanes:
    spans, lanes, now = list[Span](), {DRAFT: _Lane(drafter(board)), TARGET: _Lane(target)}, 0.0
    while not board.is_over():
        changes = -1
        while changes != board.changes:  # what one writes now, the other may act on now
            changes = board.changes
            for name, lane in lanes.items():
                lane.go_on(name, now, clock, guess, say, spans)
        ready = [lane.busy_until for lane in lanes.values() if lane.busy_until > now]
        assert ready or board.is_over(), "both machines wait for each other."
        now = min(ready, default=now)
    return Lanes(method, board.verified(0, board.verified_length()), now, spans)


@dataclass(slots=True)
class _Lane:
    """A machine, and what it is doing."""

    machine: Machine
    busy_until: float = 0.0
    answer: Sequence[int] | None = None
    has_begun: bool = False
    is_done: bool = False

    def go_on(self, name: str, now: float, clock: Clock, guess: Guess, say: Say, spans: list[Span]) -> None:
        """Hand over what is finished at `now`, and begin what the machine wants next."""
        while not self.is_done and self.busy_until <= now:
            try:
                want = self.machine.send(self.answer) if self.has_begun else next(self.machine)
            except StopIteration:
                self.is_done = True
                return
            self.has_begun, self.answer = True, None
            if isinstance(want, Wait):
                return
            if isinstance(want, Draft):
                self.answer = _guesses(guess, want.text, want.count)
                span = Span(name, "draft", now, now + want.count * clock.draft_s, want.count)
            elif isinstance(want, Verify):
                self.answer = _answers(say, want.text, want.tail)
                accepted, took = shared(want.tail, self.answer), clock.target_s(len(want.tail) + 1)
                span = Span(name, "verify", now, now + took, len(want.tail), accepted + 1, accepted)
            else:
                assert isinstance(want, RolledBack)
                span = Span(name, "roll back", now, now, want.tokens)
            spans.append(span)
            self.busy_until = span.end_s


def dsi(
    guess: Guess, say: Say, prompt: Sequence[int], length: int, lookahead: int, servers: int, clock: Clock
) -> Lanes:
    """DSI (2405.14105): the drafter never waits; every `lookahead` tokens a free target server reads what was drafted
    since. A wrong token ends everything built on it, and the target's own token is drafted on from there."""
    text, spans, now = list(prompt), list[Span](), 0.0
    while len(text) < length:
        free, drafting, wrong = [now] * servers, now, False
        while not wrong and len(text) < length:
            tail = _guesses(guess, text, lookahead)
            spans.append(Span(DRAFT, "draft", drafting, drafting + lookahead * clock.draft_s, lookahead))
            drafting = spans[-1].end_s
            server = min(range(servers), key=free.__getitem__)
            begins = max(drafting, free[server])
            free[server] = begins + clock.target_s(lookahead + 1)
            said = _answers(say, text, tail)
            right = shared(tail, said)
            wrong = right < lookahead
            new = said[: right + 1] if wrong else tail
            spans.append(Span(f"{TARGET} {server + 1}", "verify", begins, free[server], lookahead, len(new), right))
            text += new
        now = free[server] if wrong else max(free)
    return Lanes("dsi", text[:length], now, spans)


Ranks = Callable[[Sequence[int]], Sequence[int]]
"""text → the drafter's next tokens, the likeliest first"""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A text by SSD."""

    lanes: Lanes
    hits: int
    """verdicts that were drafted for while the target still read"""
    verdicts: int
    """that another draft followed"""
    branches: int
    """the most verdicts that were drafted for at once"""


def ssd(
    ranks: Ranks,
    say: Say,
    prompt: Sequence[int],
    length: int,
    gamma: int,
    fan_out: int,
    clock: Clock,
    rows_s: Callable[[int], float],
) -> Foreseen:
    """SSD (2603.03251): while the target reads a draft, the drafter goes on behind its likeliest verdicts, each of them
    so many tokens accepted and one more: the `fan_out` likeliest behind every count, in passes over all of them
    together, which take `rows_s`. A verdict that is among them has its draft ready; for another it is drafted then."""
    guess: Guess = lambda text: ranks(text)[0]  # noqa: E731
    text, spans, now = list(prompt), list[Span](), 0.0
    tail, hits, verdicts, branches = list[int](), 0, 0, 0
    is_ready = False
    while len(text) < length:
        count = min(gamma, length - len(text) - 1)
        tail = _guesses(guess, text, count)
        if count and not is_ready:
            spans.append(Span(DRAFT, "draft", now, now + count * clock.draft_s, count))
            now = spans[-1].end_s
        said = _answers(say, text, tail)
        right = shared(tail, said)
        likely = [_likeliest(ranks, [*text, *tail[:kept]], fan_out, tail[kept : kept + 1]) for kept in range(count + 1)]
        rows = sum(map(len, likely))
        spans.append(Span(TARGET, "verify", now, now + clock.target_s(count + 1), count, right + 1, right))
        text += said[: right + 1]
        ends = spans[-1].end_s
        if len(text) >= length:
            now = ends
            break
        spans.append(Span(DRAFT, "draft", now, now + gamma * rows_s(rows), rows * gamma))
        now = max(ends, spans[-1].end_s)
        is_ready = said[right] in likely[right]
        spans.append(Span(DRAFT, "roll back", now, now, (rows - is_ready) * gamma))
        hits, verdicts, branches = hits + is_ready, verdicts + 1, max(branches, rows)
    return Foreseen(Lanes("ssd", text[:length], now, spans), hits, verdicts, branches)


def _likeliest(ranks: Ranks, text: Sequence[int], count: int, without: Sequence[int]) -> list[int]:
    """Of what may stand where the draft ends or is wrong: not the drafted token, which would have been accepted."""
    return [token for token in ranks(text) if token not in without][:count]


def _guesses(guess: Guess, text: Sequence[int], count: int) -> list[int]:
    own = list(text)
    for _ in range(count):
        own.append(guess(own))
    return own[len(text) :]


def _answers(say: Say, text: Sequence[int], tail: Sequence[int]) -> list[int]:
    """What the target says at the end of the text and after each token of the tail."""
    return [say([*text, *tail[:read]]) for read in range(len(tail) + 1)]

"""The asynchronous methods on a clock of their own: what each lane does when, from times and tokens that are given.

A discrete-event simulation of the very machines that the processes run. Nothing is computed here: a drafter and a
target are functions from a text to tokens, and their passes take the seconds of `Clock`. Everything it gives is
*simulated*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specviz.asynchronous.board import NONE_YET, LocalBoard
from specviz.asynchronous.foresight import Plan, foreseer
from specviz.asynchronous.machines import (
    Branches,
    Chosen,
    Draft,
    Likeliest,
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


Ranks = Callable[[Sequence[int]], Sequence[int]]
"""text → the drafter's next tokens, the likeliest first"""


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds of passes."""

    draft_s: float
    """of the drafter over one token"""
    target_s: Callable[[int], float]
    """of the target over n rows"""
    branches_s: Callable[[int], float] = lambda rows: 1.0
    """of the drafter over n branches"""


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
    return _beside("amusd", board, drafter(board), target, Models(guess, say), clock)


def in_rounds(guess: Guess, say: Say, prompt: Sequence[int], length: int, gamma: int, clock: Clock) -> Lanes:
    """PEARL: the same with drafts of γ."""
    board = LocalBoard(prompt)
    target = pearl(board, Reach.of(length), gamma, lambda token: False, lambda: True)
    return _beside("pearl", board, drafter(board), target, Models(guess, say), clock)


def ssd(ranks: Ranks, say: Say, prompt: Sequence[int], length: int, gamma: int, fan_out: int, clock: Clock) -> Lanes:
    """SSD: drafts of γ, the next ones begun behind the likeliest verdicts, a pass over all of them together."""
    board, reach = LocalBoard(prompt), Reach.of(length)
    target = verifier(board, reach, gamma, gamma, lambda token: False, lambda: True, gamma)
    models = Models(lambda text: ranks(text)[0], say, ranks)
    return _beside("ssd", board, foreseer(board, Plan(gamma, fan_out, reach.draft)), target, models, clock)


@dataclass(frozen=True, slots=True)
class Models:
    """What they say."""

    guess: Guess
    say: Say
    ranks: Ranks = lambda text: ()


def _beside(method: str, board: LocalBoard, drafting: Machine, target: Machine, models: Models, clock: Clock) -> Lanes:
    spans, lanes, now = list[Span](), {DRAFT: _Lane(drafting), TARGET: _Lane(target)}, 0.0
    ready = list[int]()
    while not board.is_over():
        changes = -1
        while changes != board.changes:  # what one writes now, the other may act on now
            changes = board.changes
            for name, lane in lanes.items():
                before = len(spans)
                lane.go_on(name, now, clock, models, spans)
                begun = spans[before:] if name == TARGET and board.handed_over() != NONE_YET else []
                ready += [board.handed_over() for span in begun if span.tokens]
        busy = [lane.busy_until for lane in lanes.values() if lane.busy_until > now]
        assert busy or board.is_over(), "both machines wait for each other."
        now = now if board.is_over() else min(busy)
    return Lanes(method, board.verified(0, board.verified_length()), now, spans, ready)


@dataclass(slots=True)
class _Lane:
    """A machine, and what it is doing."""

    machine: Machine
    busy_until: float = 0.0
    answer: Sequence[int] | None = None
    has_begun: bool = False
    is_done: bool = False

    def go_on(self, name: str, now: float, clock: Clock, models: Models, spans: list[Span]) -> None:
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
            if isinstance(want, Chosen):
                continue
            if isinstance(want, Likeliest):
                self.answer = likeliest(models.ranks, want)
                continue
            if isinstance(want, Draft):
                self.answer = _guesses(models.guess, want.text, want.count)
                span = Span(name, "draft", now, now + want.count * clock.draft_s, want.count)
            elif isinstance(want, Branches):
                self.answer = [models.guess([*want.text, *path]) for path in want.paths]
                span = Span(name, "draft", now, now + clock.branches_s(len(want.paths)), len(want.paths))
            elif isinstance(want, Verify):
                self.answer = _answers(models.say, want.text, want.tail)
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


def _guesses(guess: Guess, text: Sequence[int], count: int) -> list[int]:
    own = list(text)
    for _ in range(count):
        own.append(guess(own))
    return own[len(text) :]


def likeliest(ranks: Ranks, want: Likeliest) -> list[int]:
    """At each place the likeliest tokens beside the one that is drawn there."""
    places = [ranks([*want.text, *want.drawn[:index]]) for index in range(len(want.drawn))]
    return [
        token
        for ranked, drawn in zip(places, want.drawn, strict=True)
        for token in [token for token in ranked if token != drawn][: want.count]
    ]


def _answers(say: Say, text: Sequence[int], tail: Sequence[int]) -> list[int]:
    """What the target says at the end of the text and after each token of the tail."""
    return [say([*text, *tail[:read]]) for read in range(len(tail) + 1)]

"""The machines of AMUSD (2410.17375) and PEARL (2408.11850): a drafter that waits for no verdict, and two verifiers.

    drafter   own text ─► next token ─► board ─► …        rolls back to the verified text where the two differ
    verifier  board's tail, if its beginning is the verified text ─► one target pass ─► verified text ─► …

AMUSD's `verifier` takes what is there. `pearl` takes the draft a whole γ at a time, and differs in how far the drafter
is allowed to draft:

    pre-verify   the drafter drafts γ tokens; the target says what the first of them must be
    post-verify  the target reads what was drafted before, while the drafter drafts γ more

There a draft whose first token is right is read in the next pass; one that is wrong costs that pass alone.

A third, SSD, has a drafter that drafts for several verdicts (`foresight`); its target waits for a whole draft.

Each machine is a generator that yields what it wants done and is sent the answer, so that a simulation and two
processes run the very same protocol. The verified text is the target's own whatever the drafter writes: a token is only
ever taken where it equals what the target says there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from specviz.asynchronous.board import Board


@dataclass(frozen=True, slots=True)
class Draft:
    """Wants the next `count` tokens after `text`, by the drafter's model. Answered with None, it
    looks at the board again."""

    text: Sequence[int]
    count: int = 1


@dataclass(frozen=True, slots=True)
class Verify:
    """Wants what the target says at the end of `text` and after each token of `tail`: len(tail) + 1 tokens."""

    text: Sequence[int]
    tail: Sequence[int]


@dataclass(frozen=True, slots=True)
class RolledBack:
    """So many tokens of the draft were thrown away."""

    tokens: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until the board changes."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How long a text may become."""

    text: int
    """tokens of it, prompt included"""
    draft: int
    """of a draft: no longer than what the drafter's model can read and what can still be accepted"""

    @classmethod
    def of(cls, length: int, context: int | None = None) -> Reach:
        """A text of `length` tokens, the last of which is never drafted, and a drafter that reads `context`."""
        return cls(length, length - 1 if context is None else min(length - 1, context + 1))


@dataclass(frozen=True, slots=True)
class Likeliest:
    """Wants, at the end of `text` and after each token of `drawn` but the last, the `count` tokens that the drafter
    holds likeliest there beside the one that it drew: as many for each place, one place after the other."""

    text: Sequence[int]
    drawn: Sequence[int]
    count: int


@dataclass(frozen=True, slots=True)
class Branches:
    """Wants the next token behind each continuation of `text`, in one pass. All but the last token of a path was in the
    text or in a path of the pass before."""

    text: Sequence[int]
    paths: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The draft goes on behind `text` with these tokens, each of them answered to `Branches` before."""

    text: Sequence[int]
    tokens: Sequence[int]


Want = Draft | Verify | RolledBack | Wait | Likeliest | Branches | Chosen
Machine = Generator[Want, Sequence[int] | None, None]


def drafter(board: Board) -> Machine:
    """Drafts beyond the verified text as far as the board allows."""
    draft = board.verified(0, board.verified_length())
    while not board.is_over():
        asked = board.rollbacks_asked()  # before the text: an answer must not claim a text that was not compared
        known = board.verified(0, board.verified_length())
        same = shared(draft, known)
        if same < len(known):
            dropped = len(draft) - same
            draft = known
            board.write_draft(same, draft[same:])
            board.answer_rollbacks(asked)
            yield RolledBack(dropped)
            continue
        board.answer_rollbacks(asked)
        if len(draft) >= board.limit():
            yield Wait()
            continue
        drawn = yield Draft(draft)
        if drawn is None:
            continue
        draft = [*draft, *drawn]
        board.write_draft(len(draft) - len(drawn), drawn)


def verifier(
    board: Board,
    reach: Reach,
    ahead: int,
    widest: int,
    ends: Callable[[int], bool],
    is_drafting: Callable[[], bool],
    least: int = 1,
) -> Machine:
    """Verifies tails of up to `widest` tokens until the text is over, and lets the drafter be `ahead` tokens ahead. It
    waits until `least` are drafted, or as many as the text has room for.

    Where the draft is not this text's continuation, and where nobody drafts any more, it decodes plainly."""
    text, length = board.verified(0, board.verified_length()), reach.text
    while len(text) < length and not board.is_over():
        board.allow(min(len(text) + ahead, reach.draft))
        drafting = is_drafting() and len(text) < reach.draft
        if drafting and board.rollbacks_done() < board.rollbacks_asked():
            yield Wait()
            continue
        reached = board.draft_length()
        if drafting and reached < min(len(text) + least, reach.draft):
            yield Wait()
            continue
        tail = tail_of(board, text, reached, min(widest, length - len(text) - 1))
        said = yield Verify(text, tail)
        assert said is not None, "a verification was not answered."
        accepted, new = judged(tail, said, ends)
        text = [*text, *new]
        if accepted < len(tail):
            board.ask_rollback()
        board.append_verified(new)
        if ends(new[-1]):
            break
    board.end()


def tail_of(board: Board, text: Sequence[int], reached: int, widest: int) -> list[int]:
    """What is drafted beyond `text`, if the draft begins with it; else nothing."""
    if reached <= len(text) or board.draft(0, len(text)) != list(text):
        return []
    return board.draft(len(text), min(reached, len(text) + max(0, widest)))


def shared(text: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens both begin with."""
    return next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))


def until_end(tokens: Sequence[int], ends: Callable[[int], bool]) -> list[int]:
    """Cut behind the first token that ends the text."""
    last = next((index for index, token in enumerate(tokens) if ends(token)), len(tokens) - 1)
    return list(tokens[: last + 1])


def judged(tail: Sequence[int], said: Sequence[int], ends: Callable[[int], bool]) -> tuple[int, list[int]]:
    """How many tokens of the tail the target agrees with, and what becomes text: these and what it says behind them, if
    it was asked there, up to the first token that ends the text."""
    accepted = shared(tail, said)
    return accepted, until_end([*tail[:accepted], *said[accepted : accepted + 1]], ends)


def after(machine: Machine, answer: Sequence[int] | None) -> Want | None:
    """What the machine wants once it has this answer, None for its first want; None where it is over."""
    try:
        return machine.send(answer)
    except StopIteration:
        return None


def pearl(
    board: Board, reach: Reach, gamma: int, ends: Callable[[int], bool], is_drafting: Callable[[], bool]
) -> Machine:
    """The target's side, until the text is over. Where nobody drafts any more it decodes plainly.

    A draft that turned out to be wrong is given up at once: in the paper both sides meet after every round."""
    text, tail = board.verified(0, board.verified_length()), list[int]()
    ordered = _order(board, len(text) + gamma, reach)
    while len(text) < reach.text and not board.is_over():
        said = yield Verify(text, tail)
        assert said is not None, "a verification was not answered."
        accepted, new = judged(tail, said, ends)
        text = [*text, *new]
        while accepted == len(tail) and is_drafting() and _reached(board) < min(len(text), ordered):
            yield Wait()  # for the drafted token that this pass was to confirm
        is_right = accepted == len(tail) and len(text) <= ordered and board.draft(0, len(text)) == text
        if not is_right:
            board.ask_rollback()
        board.append_verified(new)
        if ends(new[-1]):
            break
        while is_right and is_drafting() and _reached(board) < ordered:
            yield Wait()  # for the rest of the γ
        tail = tail_of(board, text, board.draft_length(), reach.text - len(text) - 1) if is_right else []
        ordered = _order(board, len(text) + len(tail) + gamma, reach)
    board.end()


def _order(board: Board, length: int, reach: Reach) -> int:
    limit = min(length, reach.draft)
    board.allow(limit)
    return limit


def _reached(board: Board) -> int:
    """Length of the draft; 0 while it is not known to go on from the text."""
    return board.draft_length() if board.rollbacks_done() >= board.rollbacks_asked() else 0

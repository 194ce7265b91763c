"""PEARL (2408.11850): drafter and target work at the same time, and the draft is taken a whole γ at a time.

    pre-verify   the drafter drafts γ tokens; the target says what the first of them must be
    post-verify  the target reads what was drafted before, while the drafter drafts γ more

A draft whose first token is right is read in the next pass; one that is wrong costs that pass alone. The drafter is the
one of AMUSD (`machines.drafter`): what differs is how far it is allowed to draft, and when its draft is taken.
"""

from __future__ import annotations

from collections.abc import Callable

from specviz.asynchronous.board import Board
from specviz.asynchronous.machines import Machine, Reach, Verify, Wait, judged, tail_of


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

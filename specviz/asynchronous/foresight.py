"""The drafter of SSD (2603.03251): while the target reads a draft, it drafts on behind the verdicts that are likeliest.

    draft of γ ─► its own next token ─► likeliest verdicts ─► a token behind each ─► … ─► the verdict comes
         ▲                                                                                    │ hit: that branch
         └──────────── miss: drafted then ◄─── hit whose branch is short: the rest then ◄─────┘

A verdict is a count of accepted tokens and the token that follows them, which is not the drafted one: that would have
been accepted. A branch is drafted as any draft is, before the verdict: this chooses a branch and nothing in it, so a
draft is the same whether it was foreseen or not, and only when it is there differs.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from specviz.asynchronous.board import Board
from specviz.asynchronous.machines import (
    Branches,
    Chosen,
    Draft,
    Likeliest,
    Machine,
    RolledBack,
    Wait,
    Want,
    drafter,
    shared,
)

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is drafted ahead."""

    gamma: int
    """tokens behind a verdict"""
    fan_out: int
    """verdicts for each count of accepted tokens; 0: nothing is drafted ahead"""
    longest: int
    """of a draft, the text before it included"""


@dataclass(slots=True)
class Foreseen:
    """What is drafted behind the likeliest verdicts over one draft."""

    text: Sequence[int]
    """that the verdicts go on from"""
    drawn: Path
    """the draft and the drafter's next token, where there is room for one"""
    behind: dict[Path, list[int]]
    """verdict → what is drafted behind it; the tokens accepted, and the one that follows them"""
    room: dict[Path, int]
    """how much may be drafted behind it"""

    def short(self) -> list[Path]:
        """Verdicts behind which the least is drafted, of those with room for more."""
        open_ = [path for path, drafted in self.behind.items() if len(drafted) < self.room[path]]
        least = min((len(self.behind[path]) for path in open_), default=0)
        return [path for path in open_ if len(self.behind[path]) == least]

    def met(self, verdict: Path) -> tuple[list[int], int]:
        """What is drafted behind this verdict, and how many tokens were drafted for nothing."""
        drafted = self.behind.get(verdict, [])
        return drafted, sum(map(len, self.behind.values())) - len(drafted) + (verdict != self.drawn)


def foreseer(board: Board, plan: Plan) -> Machine:
    """Drafts as far as the board allows; once it is there, behind the likeliest tokens after every count of accepted
    ones."""
    draft = board.verified(0, board.verified_length())
    met = len(draft)
    foreseen: Foreseen | None = None
    ready: Sequence[int] = ()
    while not board.is_over():
        asked = board.rollbacks_asked()  # before the text: an answer must not claim a text that was not compared
        known = board.verified(0, board.verified_length())
        if len(known) > met:
            met, same = len(known), shared(draft, known)
            dropped = len(draft) - same + len(ready) if same < met else 0
            ahead, wasted = foreseen.met(tuple(known[len(foreseen.text) :])) if foreseen else ([], 0)
            foreseen, ready = None, ahead if same < met else ready
            if ahead:
                yield Chosen(known, ahead)
            board.hand_over(len(ready) + (len(draft) - met if same == met else 0))
            if same < met:
                draft = known
                board.write_draft(same, draft[same:])
            board.answer_rollbacks(asked)
            yield RolledBack(dropped + wasted)
            continue
        board.answer_rollbacks(asked)
        room = board.limit() - len(draft)
        if room > 0 and ready:
            board.write_draft(len(draft), ready[:room])
            draft, ready = [*draft, *ready[:room]], ready[room:]
        elif room > 0:
            drawn = yield Draft(draft)
            if drawn is not None:
                board.write_draft(len(draft), drawn)
                draft = [*draft, *drawn]
        elif plan.fan_out and not ready and len(known) < len(draft):
            foreseen = yield from _further(foreseen, known, draft, plan)
        else:
            yield Wait()


def drafting(board: Board, plan: Plan | None) -> Machine:
    """The drafter's side: with a plan for verdicts to come, or without."""
    return foreseer(board, plan) if plan else drafter(board)


def _further(
    foreseen: Foreseen | None, known: Sequence[int], draft: Sequence[int], plan: Plan
) -> Generator[Want, Sequence[int] | None, Foreseen | None]:
    """A pass more, if there is one to make; with the first the verdicts are chosen."""
    if foreseen is None:
        read = draft if len(draft) < plan.longest else draft[:-1]
        beyond = yield Draft(read)  # all before a branch has to be read, what was handed over with it
        if beyond is None:
            return None
        drawn = [*read[len(known) :], *beyond]
        likely = yield Likeliest(known, drawn, plan.fan_out)
        assert likely is not None, "what the drafter holds likeliest was not answered."
        return _chosen(known, drawn, likely, plan)
    paths = foreseen.short()
    if not paths:
        yield Wait()
        return foreseen
    tokens = yield Branches(known, [[*path, *foreseen.behind[path]] for path in paths])
    for path, token in zip(paths, tokens or (), strict=False):
        foreseen.behind[path].append(token)
    return foreseen


def _chosen(known: Sequence[int], drawn: Sequence[int], likely: Sequence[int], plan: Plan) -> Foreseen:
    """Behind the whole draft the drafter's own next token is the likeliest, which is the last one `drawn`; before that
    the drafted one is none. Where a draft is as long as it may be, nothing follows its last token."""
    each, chosen = len(likely) // len(drawn), Foreseen(known, tuple(drawn), {}, {})
    for kept, token in enumerate(drawn):
        room = min(plan.gamma, plan.longest - len(known) - kept - 1)
        tokens = likely[kept * each : (kept + 1) * each]
        if kept == len(drawn) - 1:
            tokens = [token, *tokens][: plan.fan_out]
        paths = [(*drawn[:kept], token) for token in tokens] if room > 0 else []
        chosen.behind |= {path: [] for path in paths}
        chosen.room |= dict.fromkeys(paths, room)
    return chosen

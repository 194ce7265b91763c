"""B texts decoded together, each by the engine's own session, whose passes meet in one of each model.

    session ┐                     ┌─► one pass for all drafters' steps   ─┐
    session ┼─► asks for a pass ──┼─► (how much of each draft: `budget`)  ├─► each goes on with its own answer
    session ┘                     └─► one pass for all verifications     ─┘

A session does not know that it is in a batch: it has its own caches, its own randomness, its own accepted length and
its own end. The drafters' steps come first; the target reads when every text waits for it, once a round. A text that is
over leaves, and the others go on without it. Where the batch has a budget, it is asked between the drafters' steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import torch
from torch import Tensor

from specviz.batch.budget import Budget, Wish
from specviz.batch.pausable import Pausable
from specviz.core.clock import now
from specviz.engine.session import Session
from specviz.lm.base import Batch, Cache, LanguageModel, ModelInfo, Share
from specviz.trace.events import EndReason


class Turn(IntEnum):
    """Who is served first while some text waits for it."""

    DRAFTER = 0
    BUDGET = 1
    TARGET = 2
    BEGUN = 3
    """the prompt is read; no round begins before all are"""


@dataclass(frozen=True, slots=True)
class Question:
    turn: Turn
    share: Share | None = None
    wish: Wish | None = None


Clock = Callable[[], float]
"""seconds, read after the device has finished what it was given"""
Answer = Tensor | int | None
"""logits of a pass, or what the budget grants"""
Ask = Callable[[Question], Answer]
SessionOf = Callable[[LanguageModel, LanguageModel], Session]
"""(target, drafter's model), as one text of the batch sees them → its session"""


@dataclass(slots=True)
class Written:
    """One text of the batch."""

    tokens: list[int] = field(default_factory=list)
    """of output"""
    reason: EndReason | None = None
    rounds: int = 0
    drafts: int = 0
    """rounds that drafted"""
    drafted: int = 0
    accepted: int = 0
    seconds: float = 0.0
    """from the first round of all to the end of this text"""


@dataclass(slots=True)
class Decoded:
    """A batch to its end; the prompts' passes are in no number."""

    texts: list[Written]
    seconds: float = 0.0
    passes: dict[Turn, int] = field(default_factory=dict)
    pass_s: float = 0.0
    """of `seconds`, inside the models' passes"""
    shares: int = 0
    """texts in the target's passes, summed over them"""
    full: dict[Turn, Counter[int]] = field(default_factory=dict)
    """of each model's passes until the first text ended: rows of all texts in it → passes of so many"""
    full_tokens: int = 0
    """of output by then"""


class Seat:
    """A model as one text of a batch sees it: a `LanguageModel` whose passes are asked for and awaited."""

    def __init__(self, model: LanguageModel, batch: Batch, turn: Turn, ask: Ask) -> None:
        self._model, self._batch, self._turn, self._ask = model, batch, turn, ask
        self.caches: list[Cache] = []

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    @property
    def device(self) -> torch.device:
        return self._model.device

    def new_cache(self) -> Cache:
        self.caches.append(self._batch.new_cache())
        return self.caches[-1]

    def forward(
        self,
        tokens: Sequence[int],
        cache: Cache,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
    ) -> Tensor:
        """See `LanguageModel.forward`."""
        logits = self._ask(Question(self._turn, Share(tokens, cache, parents, last_only)))
        assert isinstance(logits, Tensor), "a pass gives logits."
        return logits

    def grants(self, wish: Wish) -> int:
        """See `budget.Grants`. Only in a batch that has a budget."""
        granted = self._ask(Question(Turn.BUDGET, wish=wish))
        assert isinstance(granted, int), "a budget grants a number of candidates."
        return granted

    def leave(self) -> None:
        for cache in self.caches:
            self._batch.leave(cache)


@dataclass(frozen=True, slots=True)
class Model:
    """A model and the batch that computes its passes."""

    model: LanguageModel
    batch: Batch


class _Text:
    """One text: its session, paused wherever it waits for a pass."""

    def __init__(self, target: Model, drafter: Model, make: SessionOf) -> None:
        self.written = Written()
        self.seats = list[Seat]()
        self._models, self._make = (target, drafter), make
        self.run: Pausable[Question, Answer] = Pausable(self._body)

    def _body(self, ask: Ask) -> None:
        self.seats = [
            Seat(model.model, model.batch, turn, ask)
            for model, turn in zip(self._models, (Turn.TARGET, Turn.DRAFTER), strict=True)
        ]
        session = self._make(*self.seats)
        session.begin()
        ask(Question(Turn.BEGUN))
        written = self.written
        while session.finished is None:
            record = session.round()
            candidates = set(record.proposal.candidates)
            written.tokens += [committed.token for committed in record.commitment.tokens]
            written.rounds += 1
            written.drafts += bool(candidates)
            written.drafted += len(candidates)
            written.accepted += len(candidates.intersection(record.verdict.path))
        written.reason = session.finished

    def leave(self) -> None:
        for seat in self.seats:
            seat.leave()


@torch.inference_mode()  # of all sessions, which enter it one by one and would leave it in each other's way
def decode_together(
    target: Model,
    drafter: Model,
    sessions: Sequence[SessionOf],
    clock: Clock | None = None,
    budget: Budget | None = None,
) -> Decoded:
    """Decode one text per session, all at once. Raises what a session raises; the others are then given up. Seconds are
    those of `clock`; without one of the engine's, by the wall. `budget` answers sessions that draft by one."""
    device = target.model.device
    texts = list[_Text]()
    try:
        for make in sessions:
            texts.append(_Text(target, drafter, make))
        models = {Turn.TARGET: target, Turn.DRAFTER: drafter}
        return _rounds(models, texts, clock or (lambda: now(device)), budget)
    finally:
        for text in texts:
            text.run.leave()


def _rounds(models: dict[Turn, Model], texts: Sequence[_Text], clock: Clock, budget: Budget | None) -> Decoded:
    decoded = Decoded([text.written for text in texts], passes=dict.fromkeys(models, 0))
    decoded.full = {turn: Counter() for turn in models}
    began: float | None = None
    waiting = [text for text in texts if not text.run.over]
    while waiting:
        turn = min(member.run.asked.turn for member in waiting)
        served = [member for member in waiting if member.run.asked.turn == turn]
        answers: Sequence[Answer] = [None] * len(served)
        if turn is Turn.BEGUN:
            began = clock()
        elif turn is Turn.BUDGET:
            assert budget is not None, "a session drafts by a budget, and the batch has none."
            answers = budget.grant([member.run.asked.wish for member in served if member.run.asked.wish])
        else:
            entered = clock()
            shares = [member.run.asked.share for member in served if member.run.asked.share]
            answers = models[turn].batch.forward(shares)
            if began is not None:
                decoded.pass_s += clock() - entered
                decoded.passes[turn] += 1
                if not decoded.full_tokens:
                    decoded.full[turn][sum(len(share.tokens) for share in shares)] += 1
                decoded.shares += len(served) if turn is Turn.TARGET else 0
        for member, answer in zip(served, answers, strict=True):
            member.run.answer(answer)
            if member.run.over:
                member.written.seconds = clock() - (began or 0.0)
                member.leave()
        before, waiting = len(waiting), [member for member in waiting if not member.run.over]
        if budget is not None and len(waiting) < before:
            budget.go_on(len(waiting))
        if len(waiting) < len(texts) and not decoded.full_tokens:
            decoded.full_tokens = sum(len(text.tokens) for text in decoded.texts)
    decoded.seconds = max((text.seconds for text in decoded.texts), default=0.0)
    return decoded

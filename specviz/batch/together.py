"""B texts decoded together, each by the engine's own session, whose passes meet in one of each model.

    session ┐                     ┌─► one pass for all drafters' steps   ─┐
    session ┼─► asks for a pass ──┤                                       ├─► each goes on with its own answer
    session ┘                     └─► one pass for all verifications     ─┘

A session does not know that it is in a batch: it has its own caches, its own randomness, its own accepted length and
its own end. The drafters' steps come first; the target reads when every text waits for it, once a round. A text that is
over leaves, and the others go on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import torch
from torch import Tensor

from specviz.batch.pausable import Pausable
from specviz.core.clock import now
from specviz.engine.session import Session
from specviz.lm.base import Batch, Cache, LanguageModel, ModelInfo, Share
from specviz.trace.events import EndReason


class Turn(IntEnum):
    """Who is served first while some text waits for it."""

    DRAFTER = 0
    TARGET = 1
    BEGUN = 2
    """the prompt is read; no round begins before all are"""


@dataclass(frozen=True, slots=True)
class Question:
    turn: Turn
    share: Share | None = None


Clock = Callable[[], float]
"""seconds, read after the device has finished what it was given"""
Ask = Callable[[Question], Tensor | None]
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
        assert logits is not None, "a pass gives logits."
        return logits

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
        self.run: Pausable[Question, Tensor | None] = Pausable(self._body)

    def _body(self, ask: Ask) -> None:
        self.seats = [
            Seat(model.model, model.batch, turn, ask)
            for model, turn in zip(self._models, (Turn.TARGET, Turn.DRAFTER), strict=True)
        ]
        session = self._make(*self.seats)
        start = len(session.tokens)
        session.begin()
        ask(Question(Turn.BEGUN))
        written = self.written
        while session.finished is None:
            record = session.round()
            candidates = set(record.proposal.candidates)
            written.rounds += 1
            written.drafts += bool(candidates)
            written.drafted += len(candidates)
            written.accepted += len(candidates.intersection(record.verdict.path))
        written.reason = session.finished
        written.tokens = session.tokens[start:]

    def leave(self) -> None:
        for seat in self.seats:
            seat.leave()


def decode_together(
    target: Model, drafter: Model, sessions: Sequence[SessionOf], clock: Clock | None = None
) -> Decoded:
    """Decode one text per session, all at once. Raises what a session raises; the others are then given up. Seconds are
    those of `clock`; without one of the engine's, by the wall."""
    device = target.model.device
    texts = list[_Text]()
    try:
        for make in sessions:
            texts.append(_Text(target, drafter, make))
        models = {Turn.TARGET: target, Turn.DRAFTER: drafter}
        return _rounds(models, texts, clock or (lambda: now(device)))
    finally:
        for text in texts:
            text.run.leave()


def _rounds(models: dict[Turn, Model], texts: Sequence[_Text], clock: Clock) -> Decoded:
    decoded = Decoded([text.written for text in texts], passes={Turn.DRAFTER: 0, Turn.TARGET: 0})
    began: float | None = None
    waiting = [text for text in texts if not text.run.over]
    while waiting:
        turn = min(member.run.asked.turn for member in waiting)
        served = [member for member in waiting if member.run.asked.turn == turn]
        answers: Sequence[Tensor | None] = [None] * len(served)
        if turn is Turn.BEGUN:
            began = clock()
        else:
            entered = clock()
            answers = models[turn].batch.forward(
                [member.run.asked.share for member in served if member.run.asked.share]
            )
            if began is not None:
                decoded.pass_s += clock() - entered
                decoded.passes[turn] += 1
                decoded.shares += len(served) if turn is Turn.TARGET else 0
        for member, answer in zip(served, answers, strict=True):
            member.run.answer(answer)
            if member.run.over:
                member.written.seconds = clock() - (began or 0.0)
                member.leave()
        waiting = [member for member in waiting if not member.run.over]
    decoded.seconds = max((text.seconds for text in decoded.texts), default=0.0)
    return decoded

"""The loop: a session's rounds as a stream of events, ready for a trace.

    Started ─► Round ─► Round ─► … ─► Finished

A branch of an earlier run with a forced token starts with a round of a root alone that commits this token with origin
`forced`: the target pass of that round shows what it would have said instead.

A pass drives the recorder's code and objects out of the processor's cache, so events of several rounds are formed
together where nobody watches them come. Knows nothing about names of models or methods, files or screens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from specviz.drafters.capabilities import Releases
from specviz.engine.recorder import Recorder
from specviz.engine.session import RoundRecord, Session
from specviz.errors import SpecVizError
from specviz.trace.events import Finished, FinishReason, Step
from specviz.trace.header import Started

Cancelled = Callable[[], bool]
TOGETHER = 64
"""rounds whose events are formed together: what that costs once, about 0.6 ms, is little for each of them by then"""
WAITING_LOGITS = 2**21
"""numbers of the target's that wait for that at most, so that rounds over a large vocabulary take little memory"""


def decode(
    started: Started,
    session: Session,
    recorder: Recorder,
    cancelled: Cancelled = lambda: False,
    lane: AbstractContextManager[object] | None = None,
    stepwise: bool = True,
) -> Iterator[Step]:
    """Yields Started, each Round as soon as it is computed, then Finished; the same events in the same order where it
    need not be `stepwise`, rounds then several at a time and Started once the prompt is read, so that whoever times
    rounds from outside has the prompt's pass apart.

    `cancelled` is asked before every round. `lane` is held while the device works and given back between rounds, so
    that runs may take turns; it must be re-enterable one after the other, as a lock is. What the engine refuses on the
    way ends the run as `failed` with its sentence; everything else is a fault and is raised. However a run ends, also
    where nobody asks for its next step, what a drafter holds is released.
    """
    lane = lane if lane is not None else nullcontext()
    prompt_length = len(session.tokens)
    header, prefill_s = recorder.started(started), 0.0
    if stepwise:
        yield header
    reason: FinishReason | None = "cancelled" if cancelled() else None
    message = None
    waiting: list[RoundRecord] = []
    try:
        if reason is None:
            prefill_s, message = _begun(session, lane)
            reason = None if message is None else "failed"
        if not stepwise:
            yield header
        while reason is None:
            reason = session.finished or ("cancelled" if cancelled() else None)
            if reason is None:
                with lane:
                    waiting.append(session.round())
                    steps = recorder.rounds(waiting) if stepwise or _are_enough(waiting) else []
                yield from steps
    except SpecVizError as error:
        reason, message = "failed", str(error)
    finally:
        if isinstance(session.method.drafter, Releases):
            session.method.drafter.release()
    if waiting:
        with lane:
            steps = recorder.rounds(waiting)
        yield from steps
    output = session.tokens[prompt_length:]
    yield recorder.finished(
        Finished(reason, message, output, session.ending.text(output), prefill_s, session.decode_s, recorder.seconds)
    )


def _begun(session: Session, lane: AbstractContextManager[object]) -> tuple[float, str | None]:
    """Seconds of reading the prompt, or what the engine refused."""
    try:
        with lane:
            return session.begin(), None
    except SpecVizError as error:
        return 0.0, str(error)


def _are_enough(waiting: Sequence[RoundRecord]) -> bool:
    """Whether their events are formed now. On a device the next pass may write over what a round shows, and so may the
    next draft over a late exhibit."""
    last = waiting[-1]
    if last.proposal.late_exhibits or not last.scored.logits.is_cpu:
        return True
    return len(waiting) >= TOGETHER or sum(record.scored.logits.numel() for record in waiting) >= WAITING_LOGITS

"""The loop: a session's rounds as a stream of events, ready for a trace.

    Started ─► Round ─► Round ─► … ─► Finished

A branch of an earlier run with a forced token starts with a round of a root alone that commits this token with origin
`forced`: the target pass of that round shows what it would have said instead. Knows nothing about names of models or
methods, files or screens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

from specviz.drafters.capabilities import Releases
from specviz.engine.recorder import Recorder
from specviz.engine.session import Session
from specviz.errors import SpecVizError
from specviz.trace.events import Finished, FinishReason, Step
from specviz.trace.header import Started

Cancelled = Callable[[], bool]


def decode(
    started: Started,
    session: Session,
    recorder: Recorder,
    cancelled: Cancelled = lambda: False,
    lane: AbstractContextManager[object] | None = None,
) -> Iterator[Step]:
    """Yields Started, each Round as soon as it is computed, then Finished.

    `cancelled` is asked before every round. `lane` is held while the device works and given back between rounds, so
    that runs may take turns; it must be re-enterable one after the other, as a lock is. What the engine refuses on the
    way ends the run as `failed` with its sentence; everything else is a fault and is raised. However a run ends, also
    where nobody asks for its next step, what a drafter holds is released.
    """
    lane = lane if lane is not None else nullcontext()
    prompt_length = len(session.tokens)
    yield recorder.started(started)
    prefill_s = 0.0
    reason: FinishReason | None = "cancelled" if cancelled() else None
    message = None
    try:
        if reason is None:
            with lane:
                prefill_s = session.begin()
        while reason is None:
            reason = session.finished or ("cancelled" if cancelled() else None)
            if reason is None:
                with lane:
                    step = recorder.round(session.round())
                yield step
    except SpecVizError as error:
        reason, message = "failed", str(error)
    finally:
        if isinstance(session.method.drafter, Releases):
            session.method.drafter.release()
    output = session.tokens[prompt_length:]
    yield recorder.finished(
        Finished(reason, message, output, session.ending.text(output), prefill_s, session.decode_s, recorder.seconds)
    )

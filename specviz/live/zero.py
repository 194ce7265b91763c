"""A GPU that is lent for the moment: the live source on Hugging Face's ZeroGPU.

    the page's process                                a process forked from it, which has the GPU
    ZeroSource ─ explain, prompts, proofs: here
        └─ Errand, pickled ─► `lent`, decorated ─────► the placed source ─► steps, laps, points, states ─┐
        ◄──────────────────────────────────────────────────────────────────────── pickled, one by one ◄──┘

`load_for_device` loads the models while the program starts, in its main thread: there alone the package `spaces` stands
in for CUDA, keeps the weights, and puts them on the device of each process that it forks. The page's process never
touches a device, so what it computes itself it computes on the CPU. An errand goes on as long as its file is
there: the page removes it to stop the work. Off a ZeroGPU machine the package leaves `lent` the plain function it is.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any
from uuid import uuid4

import spaces

from specviz.bench.core.run import WARM_UP_TOKENS, collect
from specviz.doctor.consultation import Diagnosis, Question
from specviz.errors import JobError, ModelError, SpecVizError
from specviz.live.catalog import bundled_models
from specviz.live.source import LiveSource
from specviz.protocol.audits import Audit
from specviz.protocol.clocks import Clocked, ClockRequest
from specviz.protocol.lending import START_S, Cancelled, Work, seconds_for
from specviz.protocol.profiles import Profiled, ProfileRequest
from specviz.protocol.runs import ModelDescription, Resume, RunRequest, TraceSource, trainable
from specviz.protocol.trainings import Training, TrainingQuestion, check
from specviz.scratch import scratch
from specviz.trace.events import Step, Trace

log = logging.getLogger(__name__)

LONGEST_S, LONGEST_TRAINING_S = 120.0, 480.0
"""that the work of one loan may take: a visitor without an account has two minutes a day"""
PROFILE_S = 60.0
AUDIT_S = 60.0
"""beside a run of the same length, for the checkpoints that an audit loads anew"""
TRAINED_RUNS = 9
"""times at most that a training puts its module to work"""


@dataclass(frozen=True, slots=True)
class Errand:
    """What is carried to the device."""

    work: Callable[..., Iterator[Any]]
    """a `Work`"""
    seconds: float
    """that the work may take, beside what a loan takes to begin"""
    going: Path
    """a file: once it is gone, the work must end"""
    warm_up: tuple[RunRequest, ...] = ()
    """runs that a device is warmed with which has just been lent"""


@dataclass(frozen=True, slots=True)
class Refused:
    """What came instead of a result."""

    sentence: str


def asked_seconds(errand: Errand) -> int:
    """How long the device is asked for."""
    return ceil(START_S + errand.seconds)


# --- in the process that has the device ------------------------------------------------------------------------------

_placed: LiveSource | None = None
_warm: set[str] = set()
"""runs that were begun in this process"""


def load_for_device(source: LiveSource, names: Sequence[str]) -> None:
    """Load models for the device, and keep the source for the processes that will have one. Call it before the page is
    launched, in the main thread. A model that cannot be loaded is left out, and the log says why."""
    global _placed
    for name in names:
        try:
            source.models.get(name, RunRequest(prompt=""))
        except ModelError as error:
            log.warning("%s is left out: %s", name, error)
    _placed = source


class _Stop:
    """Whether an errand must end: it was stopped, or its time is over."""

    def __init__(self, errand: Errand) -> None:
        self._going = errand.going
        self._until = time.monotonic() + errand.seconds
        self.is_late = False

    def __call__(self) -> bool:
        self.is_late = self.is_late or time.monotonic() >= self._until
        return self.is_late or not self._going.exists()


@spaces.GPU(duration=asked_seconds)  # type: ignore[untyped-decorator,unused-ignore]
def lent(errand: Errand) -> Generator[Any]:
    """What the errand's work yields, or a refusal; another error reaches the page by its name alone."""
    assert _placed is not None, "models are placed before the page is launched."
    stop = _Stop(errand)
    try:
        for request in errand.warm_up:
            _begin_once(_placed, request, stop)
        yield from errand.work(_placed, stop)
    except SpecVizError as error:
        yield Refused(str(error))
        return
    if stop.is_late:
        yield Refused(
            f"the {asked_seconds(errand)} s of GPU time that this had asked for are over, so it was stopped; what was "
            "done is kept. Ask for less at a time."
        )


def _begin_once(source: LiveSource, request: RunRequest, stop: Cancelled) -> None:
    """The beginning of a run, so that what comes after it is measured on a warm machine."""
    short = replace(request, max_new_tokens=min(WARM_UP_TOKENS, request.max_new_tokens), record=False)
    kind = repr(replace(short, prompt="", prompt_name=None, seed=0))
    if kind not in _warm:
        _warm.add(kind)
        with suppress(SpecVizError):  # who cannot run is said by the work itself
            collect(source, short, stop)


def _run(request: RunRequest, resume: Resume | None, source: TraceSource, cancelled: Cancelled) -> Iterator[Step]:
    return source.run(request, cancelled, resume)


def _profile(request: ProfileRequest, source: LiveSource, cancelled: Cancelled) -> Iterator[Profiled]:
    return source.profile(request, cancelled)


def _clock(request: ClockRequest, source: LiveSource, cancelled: Cancelled) -> Iterator[Clocked]:
    return source.clock(request, cancelled)


def _audit(trace: Trace, places: Mapping[str, str] | None, source: LiveSource, cancelled: Cancelled) -> Iterator[Audit]:
    return source.audit(trace, cancelled, places)


def _consult(question: Question, source: LiveSource, cancelled: Cancelled) -> Iterator[Diagnosis]:
    return source.consult(question, cancelled)


def _train(question: TrainingQuestion, source: LiveSource, cancelled: Cancelled) -> Iterator[Training]:
    return source.train(question, cancelled)


# --- in the page's process -------------------------------------------------------------------------------------------


class ZeroSource(LiveSource):
    """A `TraceSource` whose models compute on a device that is lent for each errand, and the rest on the CPU."""

    def __init__(self, threads: int = 1, hub_models: Sequence[ModelDescription] = ()) -> None:
        super().__init__(threads=threads, hub_models=hub_models, device="cpu")
        self._parameters = {model.name: model.parameters for model in self.catalog().models}

    def status(self) -> str:
        return "models ready, on a GPU that is lent for each run"

    def warm(self) -> None:
        """Nothing: what would be warmed is lent."""

    def lend(
        self, work: Work[Any], requests: Sequence[RunRequest], cancelled: Cancelled = lambda: False
    ) -> Iterator[Any]:
        """See `Lends.lend`."""
        warm_up = tuple(requests) if len(requests) > 1 else ()
        return self._send(work, self._seconds(requests), cancelled, warm_up)

    def run(
        self, request: RunRequest, cancelled: Cancelled = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        return self._send(partial(_run, request, resume), self._seconds([request]), cancelled)

    def surprise(self, request: RunRequest) -> float | None:
        """See `Surprised.surprise`; of the bundled targets alone, which the CPU asks at once."""
        return super().surprise(request) if request.target in {model.name for model in bundled_models()} else None

    def profile(self, request: ProfileRequest, cancelled: Cancelled = lambda: False) -> Iterator[Profiled]:
        return self._send(partial(_profile, request), PROFILE_S, cancelled)

    def clock(self, request: ClockRequest, cancelled: Cancelled = lambda: False) -> Iterator[Clocked]:
        return self._send(partial(_clock, request), PROFILE_S, cancelled)

    def audit(
        self, trace: Trace, cancelled: Cancelled = lambda: False, places: Mapping[str, str] | None = None
    ) -> Iterator[Audit]:
        again = RunRequest("", target=trace.started.target.name, max_new_tokens=trace.started.max_new_tokens)
        seconds = min(AUDIT_S + self._seconds([again]), LONGEST_S)
        return self._send(partial(_audit, trace, places), seconds, cancelled)

    def consult(self, question: Question, cancelled: Cancelled = lambda: False) -> Iterator[Diagnosis]:
        return self._send(partial(_consult, question), min(AUDIT_S, LONGEST_S), cancelled)

    def train(self, question: TrainingQuestion, cancelled: Cancelled = lambda: False) -> Iterator[Training]:
        check(question, trainable(self.catalog()))
        step = RunRequest(question.prompt, target=question.target, max_new_tokens=question.max_new_tokens)
        seconds = 60 * question.minutes + seconds_for([step] * TRAINED_RUNS, self._parameters)
        return self._send(partial(_train, question), min(seconds, LONGEST_TRAINING_S), cancelled)

    def _seconds(self, requests: Sequence[RunRequest]) -> float:
        return min(seconds_for(requests, self._parameters), LONGEST_S)

    def _send(
        self,
        work: Callable[..., Iterator[Any]],
        seconds: float,
        cancelled: Cancelled,
        warm_up: tuple[RunRequest, ...] = (),
    ) -> Iterator[Any]:
        """Raises JobError with a sentence for whatever keeps the work from its end."""
        if cancelled():
            return
        going = scratch() / f"errand-{uuid4().hex}"
        going.touch()
        errand = Errand(work, seconds, going, warm_up)
        results = lent(errand)
        try:
            for result in results:
                if isinstance(result, Refused):
                    raise JobError(result.sentence)
                yield result
                if cancelled():
                    going.unlink(missing_ok=True)
        except SpecVizError:
            raise
        except Exception as error:
            raise JobError(reason_of(error, asked_seconds(errand))) from error
        finally:
            going.unlink(missing_ok=True)
            results.close()


# --- what goes wrong with a loan -------------------------------------------------------------------------------------

REASONS: Mapping[str, tuple[str, str]] = {
    "ZeroGPU quota exceeded": (
        "no GPU was lent, because the time on it is used up",
        "Sign in to Hugging Face, which gives more of it, ask for fewer tokens, come back later",
    ),
    "ZeroGPU pending credits exceeded": (
        "no GPU was lent, because your account's other runs hold all that it may have",
        "Wait until one of them is over",
    ),
    "ZeroGPU illegal duration": (
        "no GPU was lent, because it was asked for longer than it is lent to anybody",
        "Ask for fewer tokens or fewer runs",
    ),
    "ZeroGPU queue timeout": ("no GPU became free in a minute", "Try again"),
    "ZeroGPU client error": ("no GPU was lent", "Reload the page and try again"),
}
"""title of the error that `spaces` raises → what it means, and what to do"""
HERE = "or press Run here, which needs none: it runs the bundled models in your own browser."
WORKER, ABORTED = "ZeroGPU worker error", "GPU task aborted"


def reason_of(error: Exception, seconds: int) -> str:
    """A sentence for an error of `spaces`, which are those of Gradio's with a title, or of a connection."""
    title, message = str(getattr(error, "title", "")), str(getattr(error, "message", error)).strip().rstrip(".")
    if title in REASONS:
        what, cure = REASONS[title]
        return f"{what} ({message}, {seconds} s were asked for). {cure}, {HERE}"
    if title == WORKER and message == ABORTED:
        return (
            f"the GPU was taken away before the work was done: it took longer than the {seconds} s asked for, or its "
            f"process was ended. What came until then is kept. Ask for less at a time, {HERE}"
        )
    if title == WORKER:
        return f"the work failed on the GPU ({message}); the server's log says more."
    if message.startswith("Connection closed by visitor"):
        return "nobody is listening any more, so no GPU was asked for."
    log.error("a loan failed", exc_info=error)
    return f"the GPU could not be had ({type(error).__name__}); the server's log says more. Try again, {HERE}"

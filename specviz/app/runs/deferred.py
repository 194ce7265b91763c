"""A source that is not there yet: the page opens at once, the engine is imported and warmed behind it.

Until then the catalog is the saved one, and a run waits for the engine. What is behind the door is made by the function
it is given.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

from specviz.doctor.consultation import NOBODY, Consults, Diagnosis, Question
from specviz.errors import ModelError, SpecVizError
from specviz.protocol.audits import Audit, Audits
from specviz.protocol.clocks import Clocked, ClockRequest, Clocks
from specviz.protocol.lending import Work, at_once
from specviz.protocol.profiles import Profiled, ProfileRequest
from specviz.protocol.proofs import Prover
from specviz.protocol.runs import (
    Catalog,
    Fetches,
    Fetching,
    Learned,
    Profiles,
    Renders,
    Resume,
    RunRequest,
    Surprised,
    TraceSource,
)
from specviz.protocol.trainings import NO_ENGINE, Training, TrainingQuestion, Trains
from specviz.trace.events import Step, Trace

log = logging.getLogger(__name__)

LOADING = "loading the engine…"
GRACE_S = 6.0
"""loading waits so long at most for the first page to open"""
WAIT_S = 0.1
"""how often a waiting run looks whether it was stopped"""


class DeferredSource:
    """A `TraceSource` around `make`, which is called once, in the background, after `start`."""

    def __init__(self, make: Callable[[], TraceSource], catalog: Catalog) -> None:
        self._make = make
        self._catalog = catalog
        self._source: TraceSource | None = None
        self._problem: str | None = None
        self._grace_s = 0.0
        self._go = Event()
        self._built = Event()
        self._settled = Event()
        self._thread = Thread(target=self._load, name="specviz-engine", daemon=True)

    def start(self, grace_s: float = GRACE_S) -> None:
        """Begin loading, once, after the page's server is up: when the first page has opened, or after `grace_s`.

        Importing torch keeps the processor busy for seconds; a page that is opening then would open late.
        """
        self._grace_s = grace_s
        self._thread.start()

    def opened(self) -> None:
        """A visitor's page stands; loading may begin."""
        self._go.set()

    @property
    def settled(self) -> bool:
        """True once loading has succeeded or failed."""
        return self._settled.is_set()

    @property
    def failed(self) -> bool:
        return self._problem is not None

    def catalog(self) -> Catalog:
        return self._source.catalog() if self._source is not None else self._catalog

    def status(self) -> str:
        if self._problem is not None:
            return f"models failed to load: {self._problem}"
        return self._source.status() if self._source is not None else LOADING

    def warm(self) -> None:
        """Wait until loading is over."""
        self._settled.wait()

    def explain(self, request: RunRequest) -> str | None:
        return self._source.explain(request) if self._source is not None else None

    def rendered(self, request: RunRequest) -> str:
        """See `Renders.rendered`."""
        source = self._source
        if not isinstance(source, Renders):
            raise ModelError("what the target reads is known once the engine is loaded; look again in a moment.")
        return source.rendered(request)

    def surprise(self, request: RunRequest) -> float | None:
        """See `Surprised.surprise`; None as long as nobody is there to ask."""
        return self._source.surprise(request) if isinstance(self._source, Surprised) else None

    def run(
        self, request: RunRequest, cancelled: Callable[[], bool] = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        while not self._built.wait(WAIT_S):
            if cancelled():
                raise ModelError("the run was stopped before the engine was loaded; press Run live to try again.")
        yield from self._loaded().run(request, cancelled, resume)

    def lend(
        self, work: Work[Any], requests: Sequence[RunRequest], cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[Any]:
        """See `Lends.lend`; where nothing need be lent, the work is done at once."""
        for source in self._once_loaded(cancelled):
            yield from at_once(source, work, requests, cancelled)

    def learn(self, traces: Sequence[Trace], policy: str) -> Learned:
        self._built.wait()
        return self._loaded().learn(traces, policy)

    def profile(self, request: ProfileRequest, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Profiled]:
        """See `Profiles.profile`."""
        for source in self._once_loaded(cancelled):
            if not isinstance(source, Profiles):
                raise ModelError("there is no machine behind this page; run `specviz profile` where there is one.")
            yield from source.profile(request, cancelled)

    def clock(self, request: ClockRequest, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Clocked]:
        """See `Clocks.clock`."""
        for source in self._once_loaded(cancelled):
            if not isinstance(source, Clocks):
                raise ModelError("there is no machine behind this page; run `specviz predict` where there is one.")
            yield from source.clock(request, cancelled)

    def train(self, question: TrainingQuestion, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Training]:
        """See `Trains.train`."""
        for _ in self._once_loaded(cancelled):
            yield from self._trainer().train(question, cancelled)

    def forget(self, folder: str) -> None:
        """See `Trains.forget`."""
        self._trainer().forget(folder)

    def packed(self, folder: str) -> Path:
        """See `Trains.packed`."""
        return self._trainer().packed(folder)

    def unpacked(self, path: Path, target: str) -> tuple[str, str]:
        """See `Trains.unpacked`."""
        return self._trainer().unpacked(path, target)

    def _trainer(self) -> Trains:
        self._built.wait()
        source = self._loaded()
        if not isinstance(source, Trains):
            raise ModelError(NO_ENGINE)
        return source

    def fetch(self, name: str, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Fetching]:
        """See `Fetches.fetch`."""
        for source in self._once_loaded(cancelled):
            if not isinstance(source, Fetches):
                raise ModelError("there is no machine behind this page; run `specviz get` where there is one.")
            yield from source.fetch(name, cancelled)

    def audit(
        self, trace: Trace, cancelled: Callable[[], bool] = lambda: False, places: Mapping[str, str] | None = None
    ) -> Iterator[Audit]:
        """See `Audits.audit`."""
        for source in self._once_loaded(cancelled):
            if not isinstance(source, Audits):
                raise ModelError("there are no checkpoints behind this page; run `specviz audit` where there are.")
            yield from source.audit(trace, cancelled, places)

    def consult(self, question: Question, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Diagnosis]:
        """See `Consults.consult`."""
        for source in self._once_loaded(cancelled):
            if not isinstance(source, Consults):
                raise ModelError(NOBODY)
            yield from source.consult(question, cancelled)

    def prover(self) -> Prover:
        self._built.wait()
        return self._loaded().prover()

    def _once_loaded(self, cancelled: Callable[[], bool]) -> Iterator[TraceSource]:
        """The engine alone; nothing where the wait for it was cancelled. Raises ModelError where it is not there."""
        while not self._built.wait(WAIT_S):
            if cancelled():
                return
        yield self._loaded()

    def _loaded(self) -> TraceSource:
        if self._source is None:
            raise ModelError(f"the engine could not be loaded: {self._problem}")
        return self._source

    def _load(self) -> None:
        self._go.wait(self._grace_s)
        try:
            self._source = self._make()
            self._built.set()
            self._source.warm()
        except SpecVizError as error:
            self._problem = str(error)
        except Exception as error:  # the page must say that loading failed, whatever it was; the log keeps the rest
            log.exception("loading the engine failed")
            self._problem = f"{type(error).__name__}; see the server's log."
        finally:
            self._built.set()
            self._settled.set()

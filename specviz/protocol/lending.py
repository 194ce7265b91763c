"""Work that needs a machine which is lent for a while: what is carried there, and how long it is asked for.

    work ─► at_once ─► done where the source is, or
                   └─► `Lends.lend`: one loan for all of it, its results one by one

ZeroGPU lends a GPU to one process for as many seconds as were asked for beforehand. What is compared belongs into one
loan: two loans may be two machines, and the first run on a machine that has just been lent is slower than those after
it. Plain data and one protocol; knows no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from specviz.protocol.runs import RunRequest, TraceSource

T = TypeVar("T")
Cancelled = Callable[[], bool]
Work = Callable[[TraceSource, Cancelled], Iterator[T]]
"""what is done with a source until it is cancelled. It may be carried into another process: a function of a module, or
a `functools.partial` of one, that is given and yields plain data"""

START_S = 15.0
"""for a process to begin on the device and for the weights to reach it"""
RUN_S = 4.0
"""for a run's pass over its prompt, and for the step times that its header holds"""
TOKEN_S = 0.06
PARAMETER_S = 3e-11
"""for a token: so much, and so much per number of the target"""
# All four are allowances, chosen on the generous side and not measured: a loan ends when its work does.


@runtime_checkable
class Lends(Protocol):
    """A trace source whose machine is lent to it for each piece of work."""

    def lend(
        self, work: Work[Any], requests: Sequence[RunRequest], cancelled: Cancelled = lambda: False
    ) -> Iterator[Any]:
        """What `work` yields, all of it on one loan. `requests`: the runs that it will make, for the time to ask for;
        where they are several, each is begun once unmeasured on a machine that has just been lent. Raises JobError
        where no machine is lent or it is taken away."""
        ...


def at_once(
    source: TraceSource, work: Work[T], requests: Sequence[RunRequest], cancelled: Cancelled = lambda: False
) -> Iterator[T]:
    """What `work` yields, on one loan where the source's machine is lent (`Lends.lend`)."""
    return source.lend(work, requests, cancelled) if isinstance(source, Lends) else work(source, cancelled)


def seconds_for(requests: Sequence[RunRequest], parameters: Mapping[str, int]) -> float:
    """How long these runs are allowed to take together, beside what a loan takes to begin. `parameters`: numbers of
    each model, by its name; of one that is not named, none."""
    return sum(
        RUN_S + request.max_new_tokens * (TOKEN_S + PARAMETER_S * parameters.get(request.target, 0))
        for request in requests
    )

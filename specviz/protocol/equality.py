"""Greedy equality: a drafter's text against that of plain decoding, token for token, in float32 at temperature 0.

Place in the flow: asks any trace source for two runs of one prompt and compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from specviz.errors import OptionError
from specviz.protocol.choice import STANDARD
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.trace.events import Finished, Round

PLAIN = "none"


@dataclass(frozen=True, slots=True)
class Equality:
    """How far the comparison is."""

    wanted: int
    plain: tuple[int, ...]
    """tokens of plain decoding so far"""
    drafted: tuple[int, ...]
    """tokens of the drafter's run so far"""
    passes: int
    """target passes of the drafter's run so far"""
    finished: bool
    """both runs came to their end; False on the way and where they were stopped"""

    @property
    def equal(self) -> int:
        """Tokens at whose place both runs have the same."""
        return sum(a == b for a, b in zip(self.plain, self.drafted, strict=False))

    @property
    def first_difference(self) -> int | None:
        """The first place at which the finished runs differ; None: none."""
        pairs = enumerate(zip_longest(self.plain, self.drafted))
        return next((place for place, (a, b) in pairs if a != b), None)

    @property
    def holds(self) -> bool:
        return self.finished and self.first_difference is None


def compare(
    source: TraceSource, request: RunRequest, cancelled: Callable[[], bool] = lambda: False
) -> Iterator[Equality]:
    """Both runs, answered after every round; the last answer is the result.

    Whatever the request says of temperature, precision and verifier, the runs are greedy and in float32, where sums
    come out of every shape of a pass closely enough that no token changes. Raises SpecVizError where they cannot run.
    """
    cold = replace(
        request,
        temperature=0.0,
        top_k=0,
        top_p=1.0,
        dtype="float32",
        verifier=STANDARD["verifier"],
        record=False,
    )
    plain = cold.with_drafter(PLAIN)
    for one in (plain, cold):
        reason = source.explain(one)
        if reason is not None:
            raise OptionError(reason)
    so_far = Equality(request.max_new_tokens, (), (), 0, False)
    for tokens, _, _ in _tokens(source, plain, cancelled):
        so_far = replace(so_far, plain=tokens)
        yield so_far
    for tokens, passes, over in _tokens(source, cold, cancelled):
        so_far = replace(so_far, drafted=tokens, passes=passes, finished=over and not cancelled())
        yield so_far


def _tokens(
    source: TraceSource, request: RunRequest, cancelled: Callable[[], bool]
) -> Iterator[tuple[tuple[int, ...], int, bool]]:
    """The output so far, the target passes it took, and whether that is all."""
    tokens: tuple[int, ...] = ()
    passes = 0
    for step in source.run(request, cancelled):
        if isinstance(step.event, Round):
            tokens += tuple(item.token for item in step.event.committed.tokens)
            passes += 1
            yield tokens, passes, False
        elif isinstance(step.event, Finished):
            yield tuple(step.event.output_ids), passes, True

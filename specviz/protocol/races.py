"""A race: several runs on one prompt, plain decoding first, and how often which was how much faster. Reads and writes.

A race file is JSON, `.json` or `.json.gz`: the traces as they are, one label each, and the ratios of every repeat. Each
trace in it passes the same guard and rules as one that stands alone.

Greedy equality asks any trace source for two runs of one prompt and compares them: a drafter's text against that of
plain decoding, token for token, at temperature 0; in float32, or in another format with the margin where they part.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from specviz.errors import OptionError, TraceError, shown
from specviz.protocol import choice
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.trace import codec
from specviz.trace.events import Finished, Round, Trace
from specviz.trace.files import STANDARD, Limits, read_file, write_file
from specviz.trace.guard import json_of, text_of

FORMAT = "specviz-race"
VERSION = "1.0"
MOST_RUNNERS = 4


@dataclass(frozen=True, slots=True)
class Runner:
    """One who took part."""

    label: str
    trace: Trace
    """the run that is shown: of several, the one with the median engine time"""
    ratios: tuple[float, ...]
    """per repeat, tokens per second over those of plain decoding in the same repeat; empty where no time counts"""


@dataclass(frozen=True, slots=True)
class Race:
    runners: tuple[Runner, ...]
    """plain decoding first; never empty"""


def dumps(race: Race) -> str:
    """One line of ASCII JSON, the same for the same race."""
    runners = [
        {"label": runner.label, "ratios": runner.ratios, "trace": codec.to_data(runner.trace)}
        for runner in race.runners
    ]
    return json.dumps({"format": FORMAT, "version": VERSION, "runners": runners}, separators=(",", ":"))


def loads(content: str | bytes, limits: Limits = STANDARD) -> Race:
    """Raises TraceError with one sentence for whatever is no race of this version."""
    text = content if isinstance(content, str) else text_of(content, limits)
    data = json_of(text, limits)
    if data.get("format") != FORMAT:
        raise TraceError(f"this is no race: its format is not '{FORMAT}'; `specviz race --out FILE` writes one.")
    if data.get("version") != VERSION:
        raise TraceError(
            f"this race has the version {shown(data.get('version'))}, but {VERSION} is read; record it again."
        )
    entries = data.get("runners")
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_RUNNERS:
        raise TraceError(f"a race has 1 to {MOST_RUNNERS} runners, plain decoding first; record it again.")
    return Race(tuple(_runner(entry, limits) for entry in entries))


def _runner(entry: Any, limits: Limits) -> Runner:
    if not isinstance(entry, dict) or not isinstance(entry.get("label"), str):
        raise TraceError("a runner of this race has no label; record it again.")
    ratios = entry.get("ratios")
    if not isinstance(ratios, list) or not all(type(ratio) in (int, float) and ratio > 0 for ratio in ratios):
        raise TraceError(f"the ratios of {entry['label'][:40]!r} are no list of positive numbers; record it again.")
    trace = codec.loads(json.dumps(entry.get("trace")), limits)
    return Runner(entry["label"], trace, tuple(map(float, ratios)))


def read(path: Path, limits: Limits = STANDARD) -> Race:
    """A race file, gzip or not. Raises TraceError; the sentence begins with the file's name."""
    return read_file(path, lambda content: loads(content, limits), limits)


def write(race: Race, path: Path) -> None:
    """Write `.json` or `.json.gz`, by the suffix; the same race always gives the same bytes."""
    write_file(path, dumps(race), "a race")


def first_difference(trace: Trace, other: Trace) -> int | None:
    """The first place (from 0) at which two outputs differ, a missing token included; None: equal token for token."""
    a, b = trace.finished.output_ids, other.finished.output_ids
    if a == b:
        return None
    return next((index for index, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


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
    margins: tuple[float | None, ...] = ()
    """of plain decoding's tokens: how far the logit of each stood above the next one's; None: so far that a trace
    rounds the next one's probability to nothing; empty in float32"""

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
    source: TraceSource,
    request: RunRequest,
    cancelled: Callable[[], bool] = lambda: False,
    dtype: str = "float32",
) -> Iterator[Equality]:
    """Both runs, answered after every round; the last answer is the result.

    Whatever the request says of temperature, precision and verifier, the runs are greedy and in `dtype`. In float32
    sums come out of every shape of a pass closely enough that no token changes; in shorter formats a tie may fall
    otherwise, so that the margins of plain decoding's tokens are kept. Raises SpecVizError where they cannot run.
    """
    cold = replace(
        request,
        temperature=0.0,
        top_k=0,
        top_p=1.0,
        dtype=dtype,
        verifier=choice.STANDARD["verifier"],
        record=dtype != "float32",
    )
    plain = cold.with_drafter(PLAIN)
    for one in (plain, cold):
        reason = source.explain(one)
        if reason is not None:
            raise OptionError(reason)
    so_far = Equality(request.max_new_tokens, (), (), 0, False)
    for tokens, margins, _, _ in _tokens(source, plain, cancelled):
        so_far = replace(so_far, plain=tokens, margins=margins if cold.record else ())
        yield so_far
    for tokens, _, passes, over in _tokens(source, cold, cancelled):
        so_far = replace(so_far, drafted=tokens, passes=passes, finished=over and not cancelled())
        yield so_far


def _tokens(
    source: TraceSource, request: RunRequest, cancelled: Callable[[], bool]
) -> Iterator[tuple[tuple[int, ...], tuple[float | None, ...], int, bool]]:
    """The output so far, the margins at the roots of its rounds, the target passes it took, and whether that is
    all."""
    tokens: tuple[int, ...] = ()
    margins: tuple[float | None, ...] = ()
    passes = 0
    for step in source.run(request, cancelled):
        if isinstance(step.event, Round):
            tokens += tuple(item.token for item in step.event.committed.tokens)
            margins += (_margin(step.event),)
            passes += 1
            yield tokens, margins, passes, False
        elif isinstance(step.event, Finished):
            yield tuple(step.event.output_ids), margins, passes, True


def _margin(done: Round) -> float | None:
    """Between the logits of the two tokens that the target finds likeliest after the root."""
    root = done.nodes[0]
    first, second, *_ = (*(root.target_raw or root.target).probs, 0.0, 0.0)
    return math.log(first / second) if second else None

"""Every caption drafter on held-out scenes: acceptance by what decides a token, timed in turns with plain decoding.

Greedy decoding: no draw is in it, so acceptance is that of the weights alone. On each scene plain decoding and the
drafters take turns, each scene beginning with another one, so that none has the quieter moments to itself. Place in the
flow: a trace source runs, the rows go into a report.

Counted are the places of the text where a candidate was judged: the draft's token came out (accepted), or the target
put another in its place (a correction). Which kind a place is follows from the token that came out there. Tokens that
nobody guessed at, bonus tokens and those of rounds without a draft, count nowhere. Question and expectation: Gagrani et
al. 2404.08856, who tell no such count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specviz.bench.core.contest import rotated
from specviz.bench.core.report import origin_of
from specviz.errors import BenchError
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.protocol.sweeps.intervals import ratio_of_sums
from specviz.scenes.scene import Split as Scenes
from specviz.scenes.scene import scene_of
from specviz.studies.captions.result import DRAFTERS, SPLITS, CaptionReport, CaptionRow
from specviz.studies.study import Workplace
from specviz.trace.codec import assemble
from specviz.trace.events import Trace

TARGET = "captioner"
PLAIN = "none"
WARM_UP = -1
"""in place of a scene's number: the first scene once more and before all, counted nowhere"""
MOST_TOKENS = 48
FIRST_SEED = 10_000
"""of the scenes: the model card's accuracy is told of others"""
SPLIT_NAMES: tuple[Scenes, ...] = ("chance", "combination")


@dataclass(frozen=True, slots=True)
class Judged:
    """Places of one kind."""

    accepted: int = 0
    judged: int = 0

    @property
    def rate(self) -> float | None:
        """Share accepted; None where nothing was judged."""
        return self.accepted / self.judged if self.judged else None

    def __add__(self, other: Judged) -> Judged:
        return Judged(self.accepted + other.accepted, self.judged + other.judged)


@dataclass(frozen=True, slots=True)
class Split:
    """Both kinds of one or several runs."""

    grammar: Judged = Judged()
    grounded: Judged = Judged()

    def __add__(self, other: Split) -> Split:
        return Split(self.grammar + other.grammar, self.grounded + other.grounded)


def split(trace: Trace) -> Split:
    """Of a run whose target saw a picture; of any other all places are grammar."""
    decided = frozenset(trace.started.scene.grounded) if trace.started.scene is not None else frozenset()
    found = Split()
    for this in trace.rounds:
        for token in this.committed.tokens:
            if token.origin in ("draft", "correction"):
                judged = Judged(int(token.origin == "draft"), 1)
                found += Split(grounded=judged) if token.token in decided else Split(grammar=judged)
    return found


def measure(workplace: Workplace) -> CaptionReport:
    """Raises BenchError where not a single drafter was finished."""
    args, rows, headers = workplace.args, list[CaptionRow](), []
    with workplace.time_limit(None) as cancelled:
        for found, last in rows_of(workplace.source(measure=False), args.scenes, args.gamma, cancelled):
            rows.append(found)
            headers.append(last.started)
            workplace.say(f"{DRAFTERS[found.drafter]}, {SPLITS[found.split]}: {found.scenes} scenes")
        workplace.whole = not cancelled()
    if not rows:
        raise BenchError("not a single drafter was finished; give it more time.")
    origin = origin_of(headers)
    command = f"specviz study captions --scenes {args.scenes} --gamma {args.gamma} --write"
    return CaptionReport(args.gamma, tuple(rows), origin.weights, command, str(origin))


def rows_of(
    source: TraceSource, scenes: int, gamma: int, cancelled: Callable[[], bool] = lambda: False
) -> Iterator[tuple[CaptionRow, Trace]]:
    """A row per kind of scenes and drafter, with its last run, as soon as all scenes of that kind are there; ends early
    where cancelled."""
    asked: dict[str, dict[str, Any]] = {PLAIN: {"drafter": Choice(PLAIN)}}
    asked |= {drafter: {"drafter_model": drafter, "drafter": Choice("model", {"gamma": gamma})} for drafter in DRAFTERS}
    for name in SPLIT_NAMES:
        runs: dict[str, list[Trace]] = {one: [] for one in asked}
        for number in (WARM_UP, *range(scenes)):
            scene = str(scene_of(name, FIRST_SEED + max(0, number)))
            request = RunRequest("", target=TARGET, scene=scene, max_new_tokens=MOST_TOKENS)
            for one in rotated(list(asked), number):
                if cancelled():
                    return
                run = _run(source, replace(request, **asked[one]))
                if number != WARM_UP:
                    runs[one].append(run)
        for one in DRAFTERS:
            yield row(one, name, runs[one], runs[PLAIN]), runs[one][-1]


def row(drafter: str, scenes: str, runs: Sequence[Trace], plain: Sequence[Trace]) -> CaptionRow:
    """One drafter's runs, compared with plain decoding's of the same scenes."""
    splits = [split(trace) for trace in runs]
    total = sum(splits, Split())
    pairs = [(trace.finished, other.finished) for trace, other in zip(runs, plain, strict=True)]
    times = [(other.decode_s, one.decode_s) for one, other in pairs if one.output_ids == other.output_ids]
    assert scenes in SPLITS, "only named kinds of scenes are reported."
    return CaptionRow(
        drafter=drafter,
        split=scenes,
        scenes=len(runs),
        grammar=ratio_of_sums([(one.grammar.accepted, one.grammar.judged) for one in splits]),
        grounded=ratio_of_sums([(one.grounded.accepted, one.grounded.judged) for one in splits]),
        judged=(total.grammar.judged, total.grounded.judged),
        tokens_per_pass=ratio_of_sums(
            [(trace.summary.num_output_tokens, trace.summary.num_target_passes) for trace in runs]
        ),
        speedup=ratio_of_sums(times) if times else None,
        same_output=len(times),
    )


def _run(source: TraceSource, request: RunRequest) -> Trace:
    return assemble(source.run(replace(request, record=False)))

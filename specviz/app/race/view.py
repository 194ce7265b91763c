"""A race as plain data: when each runner drafted, verified and wrote which token, who wrote the same, who was faster.

The clock is the engine's: a runner's rounds stand end to end from the moment its prompt was read, so nothing that the
recording, the page or another visitor took is in it. Used by the page and by the terminal; texts are untrusted and are
escaped where they are drawn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

from specviz.app.race.sentences import equality, formula, lossy, methods, output, provenance, verdict
from specviz.protocol.races import Race, Runner, first_difference
from specviz.theory import metrics
from specviz.theory.repetition import repetition
from specviz.trace.events import Round, Trace
from specviz.trace.replay import display_pieces, token_bytes

PROMPT_CHARS = 400
PHASES = ("draft", "target", "judge", "commit")
"""the parts of a round, in the order of time"""


@dataclass(frozen=True, slots=True)
class Segment:
    """One stretch of work on the runner's engine clock."""

    start_s: float
    end_s: float
    phase: str
    round: int


@dataclass(frozen=True, slots=True)
class Arrival:
    """One token, when its round was committed: the characters it completes, and where it came from."""

    time_s: float
    text: str
    origin: str


@dataclass(frozen=True, slots=True)
class RunnerView:
    label: str
    methods: str
    """drafter and verifier with their options"""
    lossless: bool
    segments: tuple[Segment, ...]
    arrivals: tuple[Arrival, ...]
    finish_s: float
    prefill_s: float
    tokens: int
    passes: int
    tokens_per_pass: float | None
    ratio: float | None
    """tokens per second over plain decoding's, of the runs shown; None for plain decoding and where no time counts"""
    spread: tuple[float, float] | None
    """lowest and highest ratio over the repeats, where there were several"""
    repeats: int
    differs_at: int | None
    """first token (from 0) that is not plain decoding's"""
    verdict: str
    """how fast, in words"""
    formula: str
    """the division behind the ratio; empty without one"""
    repetition: float
    """share of the output's 4-grams that came before in it"""
    output: str
    """same output as plain decoding, or from where not and why that may be"""


@dataclass(frozen=True, slots=True)
class RaceView:
    source: str
    """live, recorded or simulated"""
    provenance: str
    """when, where, with what settings"""
    prompt: str
    """its end"""
    runners: tuple[RunnerView, ...]
    longest_s: float
    equality: str


def race_view(race: Race) -> RaceView:
    """Everything that a screen shows of a race."""
    plain = race.runners[0]
    runners = tuple(_runner(one, plain) for one in race.runners)
    started = plain.trace.started
    return RaceView(
        source=started.source,
        provenance=provenance(started, len(plain.ratios)),
        prompt=_end_of(started.prompt_text),
        runners=runners,
        longest_s=max(one.finish_s for one in runners),
        equality=equality(runners[0].tokens, [(one.label, one.output, one.differs_at is None) for one in runners[1:]]),
    )


def race_json(view: RaceView) -> str:
    """For the page's script. Times in seconds, to the microsecond."""
    data = asdict(view)
    data["longest_s"] = round(view.longest_s, 6)
    for runner in data["runners"]:
        runner["finish_s"] = round(runner["finish_s"], 6)
        runner["segments"] = [
            [round(one["start_s"], 6), round(one["end_s"], 6), one["phase"], one["round"]] for one in runner["segments"]
        ]
        runner["arrivals"] = [[round(one["time_s"], 6), one["text"], one["origin"]] for one in runner["arrivals"]]
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def segments(rounds: Sequence[Round]) -> tuple[Segment, ...]:
    """The phases of all rounds end to end from 0; those that took no time are left out."""
    found, now = [], 0.0
    for this in rounds:
        for phase, seconds in zip(PHASES, _spent(this), strict=True):
            if seconds > 0:
                found.append(Segment(now, now + seconds, phase, this.index))
                now += seconds
    return tuple(found)


def _spent(this: Round) -> tuple[float, ...]:
    """Seconds of the phases, in their order."""
    return this.drafted.seconds, this.scored.seconds, this.judged.seconds, this.committed.seconds


def arrivals(trace: Trace) -> tuple[Arrival, ...]:
    """Every output token at the moment at which its round ended."""
    ends, now = [], 0.0
    for this in trace.rounds:
        for seconds in _spent(this):  # added up as in `segments`, so that a round ends at one and the same time in both
            now += seconds
        ends.append(now)
    made = [(end, token) for end, this in zip(ends, trace.rounds, strict=True) for token in this.committed.tokens]
    before = [token_bytes(trace, token) for token in trace.started.prompt_ids]
    written = [token_bytes(trace, token.token) for _, token in made]
    pieces = display_pieces([*before, *written])[len(before) :]
    return tuple(Arrival(end, text, token.origin) for (end, token), text in zip(made, pieces, strict=True))


def lane(view: RunnerView, longest_s: float, columns: int) -> list[str]:
    """The runner's time in equal columns, each with the phase that took most of it; empty once it has finished."""
    edges = [longest_s * place / columns for place in range(columns + 1)]
    return [_most(view.segments, start, end) for start, end in pairwise(edges)]


def _most(found: Sequence[Segment], start: float, end: float) -> str:
    spent: dict[str, float] = {}
    for one in found:
        shared = min(end, one.end_s) - max(start, one.start_s)
        if shared > 0:
            spent[one.phase] = spent.get(one.phase, 0.0) + shared
    return max(spent, key=lambda phase: spent[phase]) if spent else ""


def _runner(runner: Runner, plain: Runner) -> RunnerView:
    trace, spans = runner.trace, segments(runner.trace.rounds)
    baseline = runner is plain
    ratio = None if baseline else metrics.speedup(trace, plain.trace)
    several = len(runner.ratios) > 1 and not baseline
    spread = (min(runner.ratios), max(runner.ratios)) if several else None
    differs_at = first_difference(trace, plain.trace)
    return RunnerView(
        label=runner.label,
        methods="; ".join(methods(trace.started)),
        lossless=not lossy(trace.started),
        segments=spans,
        arrivals=arrivals(trace),
        finish_s=spans[-1].end_s if spans else 0.0,
        prefill_s=trace.finished.prefill_s,
        tokens=len(trace.finished.output_ids),
        passes=len(trace.rounds),
        tokens_per_pass=metrics.tokens_per_target_pass(trace.rounds),
        ratio=ratio,
        spread=spread,
        repeats=max(1, len(runner.ratios)),
        differs_at=differs_at,
        verdict=verdict(baseline, ratio, spread, len(runner.ratios)),
        formula="" if ratio is None else formula(trace, plain.trace),
        repetition=repetition(trace.finished.output_ids),
        output="" if baseline else output(trace, plain.trace, differs_at),
    )


def _end_of(prompt: str) -> str:
    return prompt if len(prompt) <= PROMPT_CHARS else f"…{prompt[-PROMPT_CHARS:]}"

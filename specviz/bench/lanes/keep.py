"""One prompt's lanes as a file: what was measured, and DSI on the same clock, simulated.

DSI needs several targets at once, which one machine rarely has. Its simulation takes the pass times that were measured
in the same run, the target's own text, and what the drafter says at every place of that text.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from specviz.asynchronous.pair import Job
from specviz.asynchronous.reader import Draws, Speaker
from specviz.asynchronous.simulation import Clock, dsi
from specviz.core.randomness import SeededRandom
from specviz.lm.base import LanguageModel
from specviz.protocol.lanes import Lanes, LanesCase, LanesRun, Span
from specviz.theory.formulas import StepTimes

SERVERS = 3
"""targets that DSI may use at once"""
WRONG = -1
"""a token that is never the target's: whatever a drafter says after its first error is thrown away"""


def case(measured: dict[str, Lanes], drafting: LanguageModel, job: Job, slowdown_s: float) -> LanesCase:
    """All methods on one prompt; DSI last. `measured` holds `plain` and `sd`."""
    simulated = simulated_dsi(measured, drafting, job)
    start = len(job.prompt)
    runs = [_run(one, "measured", start) for one in measured.values()]
    return LanesCase(slowdown_s, (*runs, _run(simulated, "simulated", start)))


def simulated_dsi(measured: dict[str, Lanes], drafting: LanguageModel, job: Job) -> Lanes:
    """DSI with `SERVERS` targets, `job.gamma` tokens drafted for each verification."""
    truth = measured["plain"].text
    reader = Speaker(drafting, Draws(job.sampling, SeededRandom(job.seed)))
    guesses = {place: reader.next_tokens(truth[:place], 1)[0] for place in range(len(job.prompt), len(truth))}

    def guess(text: Sequence[int]) -> int:
        return guesses.get(len(text), WRONG) if list(text) == truth[: len(text)] else WRONG

    def say(text: Sequence[int]) -> int:
        return truth[len(text)] if len(text) < len(truth) else WRONG - 1

    return dsi(guess, say, job.prompt, len(truth), job.gamma, SERVERS, clock_of(measured))


def clock_of(measured: dict[str, Lanes]) -> Clock:
    """Median seconds of the drafter's pass over a token and of the target's over n rows."""
    spans = [span for method in ("plain", "sd") for span in measured[method].spans]
    drafts = [(span.end_s - span.start_s) / span.tokens for span in spans if span.what == "draft" and span.tokens]
    passes: dict[int, list[float]] = {}
    for span in spans:
        if span.what == "verify":
            passes.setdefault(span.tokens + 1, []).append(span.end_s - span.start_s)
    rows = sorted(passes)
    times = StepTimes(tuple(rows), tuple(median(passes[count]) for count in rows))
    return Clock(median(drafts), times.at)


def _run(lanes: Lanes, source: str, start: int) -> LanesRun:
    """Without what a drafter was still at when the text was over."""
    spans = tuple(
        Span(one.lane, one.what, one.start_s, min(one.end_s, lanes.seconds), one.tokens, one.kept, one.accepted)
        for one in sorted(lanes.spans, key=lambda one: (one.start_s, one.end_s))
        if one.start_s <= lanes.seconds
    )
    return LanesRun(lanes.method, source, len(lanes.text) - start, lanes.seconds, spans)

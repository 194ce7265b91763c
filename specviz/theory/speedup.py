"""The measured speedup over plain decoding, what a run gained of it, and how sure that is. Modelled ones: `formulas`.

A run without plain decoding timed beside it has no gain: passes can be counted, time cannot be guessed. The player's
headline says the same (`assets/js/rules/gain.js`).
"""

from __future__ import annotations

from statistics import median

from specviz.trace.events import Trace
from specviz.trace.summary import deployable, drafts

FEWEST = 3
"""turns that a spread is told from; as many stand behind the gain of older recordings, whose spread was not kept"""
LEAST_GAIN = 0.005
"""gains closer to 1 than this are neither faster nor slower"""


def times_as_fast(tokens_per_s: float, plain_tokens_per_s: float) -> float:
    """The speedup: tokens per second of one way of decoding over those of plain decoding beside it, which are above 0;
    below 1: slower. Every table, sweep, race and study divides here (`tests/architecture/test_one_speedup.py`)."""
    return tokens_per_s / plain_tokens_per_s


def speed_ratio(tokens_per_s: float, plain_tokens_per_s: float) -> float | None:
    """The same; None where plain decoding has no speed."""
    return times_as_fast(tokens_per_s, plain_tokens_per_s) if plain_tokens_per_s > 0 else None


def run_ratio(tokens: int, seconds: float, plain_tokens: int, plain_s: float) -> float | None:
    """The same of two runs; None where the run took no time, or plain decoding gave no token."""
    return speed_ratio(tokens * plain_s, plain_tokens * seconds)  # both speeds times both durations


def gain(trace: Trace) -> float | None:
    """Tokens per second of the run over those of plain decoding beside it, the median of the turns where several were
    timed; below 1: slower. None where nothing was timed beside it, where its own times say nothing (simulated, an
    oracle), and where nothing was drafted: that is plain decoding itself."""
    plain, finished = trace.finished.plain, trace.finished
    if plain is None or trace.started.source == "simulated" or not deployable(trace.started):
        return None
    if not any(drafts(this) for this in trace.rounds):
        return None
    if plain.ratios:
        return median(plain.ratios)
    return run_ratio(len(finished.output_ids), finished.decode_s, plain.output_tokens, plain.decode_s)


def interval(trace: Trace) -> tuple[float, float] | None:
    """The least and the largest ratio of the turns; None where no gain was timed, or its spread not kept."""
    plain = trace.finished.plain
    return (min(plain.ratios), max(plain.ratios)) if gain(trace) is not None and plain and plain.ratios else None


def is_noisy(trace: Trace) -> bool:
    """Whether a gain was timed and cannot be told from noise: too few turns, an interval that holds 1, or one wholly
    above the tokens per target pass, which no drafting can gain."""
    ratio, plain = gain(trace), trace.finished.plain
    if ratio is None or plain is None:
        return False
    low, high = interval(trace) or (ratio, ratio)
    return plain.runs < FEWEST or (low <= 1 <= high and low < high) or low > _most(trace)


def at_least(trace: Trace) -> float | None:
    """The least ratio of the turns where the largest passes the tokens per target pass, so that some turn was
    disturbed and more cannot be said; None where the median can, or nothing."""
    between = interval(trace)
    return between[0] if between and between[1] > _most(trace) and not is_noisy(trace) else None


def sure_gain(trace: Trace) -> float | None:
    """What may be said of a gain where there is room for one number: the least where more cannot be said; None where
    noise could have made it, or nothing was timed."""
    return None if is_noisy(trace) else at_least(trace) or gain(trace)


def _most(trace: Trace) -> float:
    return len(trace.finished.output_ids) / len(trace.rounds)

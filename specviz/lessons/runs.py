"""What a whole run is or shows, by name: which recorded run a lesson may be taught on."""

from __future__ import annotations

from collections.abc import Callable

from specviz.errors import LessonError
from specviz.theory.reclock import own_plain_s
from specviz.theory.speedup import gain
from specviz.trace.events import Trace
from specviz.trace.summary import branches, drafts

Kind = Callable[[Trace], bool]
KINDS: dict[str, Kind] = {
    "plain": lambda trace: not any(drafts(this) for this in trace.rounds),
    "drafted": lambda trace: any(drafts(this) for this in trace.rounds),
    "chain": lambda trace: not any(map(branches, trace.rounds)),
    "tree": lambda trace: any(map(branches, trace.rounds)),
    "sampled": lambda trace: trace.started.sampling.temperature > 0,
    "greedy": lambda trace: trace.started.sampling.temperature == 0,
    "draft_model": lambda trace: trace.started.drafter.model is not None,
    "no_draft_model": lambda trace: trace.started.drafter.model is None,
    "no_stop_policy": lambda trace: trace.started.stopping is None or trace.started.stopping.name == "fixed",
    "stop_policy": lambda trace: trace.started.stopping is not None and trace.started.stopping.name != "fixed",
    "deployable": lambda trace: trace.started.stopping is None or trace.started.stopping.deployable,
    "tree_policy": lambda trace: trace.started.growth is not None,
    "lossless": lambda trace: not _lossy(trace),
    "lossy": lambda trace: _lossy(trace),
    "timed": lambda trace: _timed(trace),
    "slower_than_plain": lambda trace: _timed(trace) and over_plain(trace) < 1,
    "faster_than_plain": lambda trace: _timed(trace) and over_plain(trace) > 1,
}
"""name → whether a run is of that kind"""


def is_kind(trace: Trace, name: str) -> bool:
    """Raises LessonError for a kind that there is not."""
    if name not in KINDS:
        raise LessonError(f"there is no kind of run '{name}'; choose among {', '.join(sorted(KINDS))}.")
    return KINDS[name](trace)


def over_plain(trace: Trace) -> float:
    """How many times as fast as plain decoding: measured beside it, as the player's headline says it; where
    nothing was, against t(1) of the run's machine for each token."""
    beside = gain(trace)
    return own_plain_s(trace) * len(trace.finished.output_ids) / trace.finished.decode_s if beside is None else beside


def _lossy(trace: Trace) -> bool:
    started = trace.started
    cards = (started.drafter, started.verifier, started.growth, started.stopping)
    return not all(card.lossless for card in cards if card is not None)


def _timed(trace: Trace) -> bool:
    return trace.started.source != "simulated" and any(one.rows == 1 for one in trace.started.step_times)

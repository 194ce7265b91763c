"""Moments of single verdicts: a trial that accepted or rejected, and the draw of a round's last token."""

from __future__ import annotations

from collections.abc import Callable

from specviz.lessons.moments import END, Moment, moment
from specviz.trace.events import Round, Trace, Trial
from specviz.trace.summary import behind_the_end, ends_text

PARTED = 1e-9
"""probabilities that differ by more are different ones"""


def earlier_siblings(this: Round, index: int) -> list[Trial]:
    """Rejected trials of candidates with the same parent before trial `index`."""
    parent = this.nodes[this.judged.trials[index].node].parent
    return [
        trial for trial in this.judged.trials[:index] if not trial.accepted and this.nodes[trial.node].parent == parent
    ]


def is_walk(this: Round) -> bool:
    """Whether the trials go from the root along accepted candidates, one at a time."""
    return this.judged.order == "top_down"


def _trials(trace: Trace, holds: Callable[[Round, int, Trial], bool]) -> list[Moment]:
    return [
        Moment(index, "verdicts", place, trial.node)
        for index, this in enumerate(trace.rounds)
        if is_walk(this)
        for place, trial in enumerate(this.judged.trials)
        if trial.node not in behind_the_end(this) and holds(this, place, trial)
    ]


def _trial(trace: Trace, one: Moment) -> Trial:
    assert one.trial is not None
    return trace.rounds[one.round].judged.trials[one.trial]


def _furthest(trace: Trace, every: list[Moment]) -> list[Moment]:
    return sorted(every, key=lambda one: -abs(_trial(trace, one).target_prob - _trial(trace, one).draft_prob))


@moment
def acceptance(trace: Trace) -> list[Moment]:
    """A trial that accepted."""
    return _trials(trace, lambda _this, _place, trial: trial.accepted)


@moment
def sure_acceptance(trace: Trace) -> list[Moment]:
    """An acceptance that no u could have prevented: p ≥ q, with a draw made; p and q furthest apart
    first."""
    every = _trials(trace, lambda _this, _place, trial: trial.accepted and trial.u is not None and trial.threshold >= 1)
    return _furthest(trace, every)


@moment
def drawn_acceptance(trace: Trace) -> list[Moment]:
    """An acceptance that u decided: p < q; p and q furthest apart first."""
    every = _trials(trace, lambda _this, _place, trial: trial.accepted and trial.u is not None and trial.threshold < 1)
    return _furthest(trace, every)


@moment
def rejection(trace: Trace) -> list[Moment]:
    """A trial that rejected."""
    return _trials(trace, lambda _this, _place, trial: not trial.accepted)


@moment
def drawn_rejection(trace: Trace) -> list[Moment]:
    """A rejection that u decided although the target gave the token some probability."""
    return _trials(
        trace, lambda _this, _place, trial: not trial.accepted and trial.u is not None and trial.threshold > 0
    )


@moment
def rejection_before_correction(trace: Trace) -> list[Moment]:
    """The last rejection of a round whose last token was drawn from a residual that the trace holds, with no sibling
    tried before it."""
    return _trials(
        trace,
        lambda this, place, trial: (
            not trial.accepted
            and place == len(this.judged.trials) - 1
            and this.judged.residual is not None
            and trial.threshold > 0
            and not earlier_siblings(this, place)
        ),
    )


@moment
def sibling_trial(trace: Trace) -> list[Moment]:
    """The trial of a sibling of a rejected candidate, against another distribution than the target's own."""
    return _trials(
        trace,
        lambda this, place, trial: (
            bool(earlier_siblings(this, place))
            and trial.u is not None
            and abs(trial.target_prob - (this.nodes[trial.node].target_prob or 0.0)) > PARTED
        ),
    )


@moment
def saved_by_sibling(trace: Trace) -> list[Moment]:
    """A candidate accepted after a sibling of it was rejected."""
    return _trials(trace, lambda this, place, trial: trial.accepted and bool(earlier_siblings(this, place)))


@moment
def loosened_acceptance(trace: Trace) -> list[Moment]:
    """An acceptance that a lossless rule would have made less probable: its acceptance probability exceeds p/Q."""
    return _trials(
        trace,
        lambda _this, _place, trial: (
            trial.accepted and trial.threshold > min(1.0, trial.target_prob / trial.draft_prob) + PARTED
        ),
    )


# --- the round's last token ------------------------------------------------------------------------------------------


def _draws(trace: Trace, holds: Callable[[Round], bool]) -> list[Moment]:
    """Last tokens that are text: none where it ended inside the accepted path."""
    return [
        Moment(index, "verdicts", None, END)
        for index, this in enumerate(trace.rounds)
        if holds(this) and not ends_text(this)
    ]


@moment
def correction(trace: Trace) -> list[Moment]:
    """A token in place of a rejected one."""
    return _draws(trace, lambda this: this.judged.origin == "correction")


@moment
def residual_correction(trace: Trace) -> list[Moment]:
    """A correction drawn from a residual that the trace holds, with no sibling tried before the rejection."""
    return [
        Moment(one.round, "verdicts", None, END)
        for one in rejection_before_correction(trace)
        if trace.rounds[one.round].judged.origin == "correction"
    ]


@moment
def bonus(trace: Trace) -> list[Moment]:
    """The token after an accepted path."""
    return _draws(trace, lambda this: this.judged.origin == "bonus")


@moment
def unreached(trace: Trace) -> list[Moment]:
    """A round with candidates that were never tried."""
    return [
        Moment(index, "verdicts", None, next(node.id for node in this.nodes if node.fate == "unreached"))
        for index, this in enumerate(trace.rounds)
        if any(node.fate == "unreached" for node in this.nodes)
    ]

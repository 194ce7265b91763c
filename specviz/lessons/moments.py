"""Named moments of a run: "the first rejection", "the widest target pass". A lesson finds its place by such a name.

Each function lists every moment of its kind in the order of the run (or best first, where it says so), so that a lesson
holds on any run that shows the thing, whatever its round numbers. What a
whole run is or shows has a name too (`KINDS`), by which a lesson says on which recorded run it may be taught.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specviz.errors import LessonError
from specviz.theory.reclock import own_plain_s
from specviz.theory.speedup import at_least, gain, times_as_fast
from specviz.trace.events import Round, Trace, Trial
from specviz.trace.summary import accepted_drafts, behind_the_end, branches, drafted_depth, drafts, ends_text

END = "end"
"""the round's last token, which is no node of the draft tree"""


@dataclass(frozen=True, slots=True)
class Moment:
    """One beat of the player and the node it is about."""

    round: int
    """from 0"""
    phase: str
    """draft (its last beat), target, verdicts or commit"""
    trial: int | None
    """index of the trial among the round's; None in `verdicts`: the draw of the round's last token"""
    node: int | str
    """id in the round's tree, or `end`"""


Finder = Callable[[Trace], list[Moment]]
MOMENTS: dict[str, Finder] = {}
"""name → every such moment of a run"""


def moment(find: Finder) -> Finder:
    """Register a finder under its own name."""
    MOMENTS[find.__name__] = find
    return find


def found(trace: Trace, kind: str, nth: int = 1) -> Moment | None:
    """The nth moment of this kind (1: the first, -1: the last); None where the run has no such one.

    Raises LessonError for a kind that there is not.
    """
    if kind not in MOMENTS:
        raise LessonError(f"there is no moment '{kind}'; choose one of {', '.join(sorted(MOMENTS))}.")
    if nth == 0:
        raise LessonError(f"the moment '{kind}' is asked for with nth = 0; count from 1, or from -1 at the end.")
    every = MOMENTS[kind](trace)
    position = nth - 1 if nth > 0 else len(every) + nth
    return every[position] if 0 <= position < len(every) else None


# --- rounds ----------------------------------------------------------------------------------------------------------


def _rounds(trace: Trace, holds: Callable[[Round], bool], phase: str) -> list[Moment]:
    return [
        Moment(index, phase, None, _first_draft(this) if phase == "draft" else 0 if phase == "target" else END)
        for index, this in enumerate(trace.rounds)
        if holds(this)
    ]


def _first_draft(this: Round) -> int:
    return this.nodes[1].id if len(this.nodes) > 1 else 0


def _whole(this: Round) -> bool:
    return this.judged.origin == "bonus" and bool(drafts(this)) and accepted_drafts(this) == drafted_depth(this)


@moment
def start(trace: Trace) -> list[Moment]:
    """The draft of the first round."""
    return _rounds(trace, lambda this: this.index == 0, "draft")


@moment
def end(trace: Trace) -> list[Moment]:
    """The commit of the last round."""
    return _rounds(trace, lambda this: this.index == len(trace.rounds) - 1, "commit")


@moment
def draft(trace: Trace) -> list[Moment]:
    """A whole draft, before the target has seen it."""
    return _rounds(trace, lambda this: bool(drafts(this)), "draft")


@moment
def full_draft(trace: Trace) -> list[Moment]:
    """A draft as deep as the deepest of the run."""
    deepest = max(map(drafted_depth, trace.rounds))
    return _rounds(trace, lambda this: deepest > 0 and drafted_depth(this) == deepest, "draft")


@moment
def short_draft(trace: Trace) -> list[Moment]:
    """A draft that ended before the depth of the deepest one, and not because the text did."""
    deepest = max(map(drafted_depth, trace.rounds))
    return _rounds(
        trace, lambda this: 0 < drafted_depth(this) < deepest and this.index < len(trace.rounds) - 1, "draft"
    )


@moment
def target_pass(trace: Trace) -> list[Moment]:
    """The target's pass over a draft."""
    return _rounds(trace, lambda this: bool(drafts(this)), "target")


@moment
def plain_pass(trace: Trace) -> list[Moment]:
    """A round without a draft: one pass, one token."""
    return _rounds(trace, lambda this: not drafts(this), "target")


@moment
def widest_pass(trace: Trace) -> list[Moment]:
    """Target passes by the number of their rows, the widest first."""
    every = _rounds(trace, lambda this: bool(drafts(this)), "target")
    return sorted(every, key=lambda one: -len(trace.rounds[one.round].nodes))


@moment
def wholly_accepted(trace: Trace) -> list[Moment]:
    """The commit of a round whose draft was accepted to its full depth and which ended in a bonus, deepest first; not
    the last round."""
    every = _rounds(
        trace, lambda this: _whole(this) and not this.committed.trimmed and this.index < len(trace.rounds) - 1, "commit"
    )
    return sorted(every, key=lambda one: -drafted_depth(trace.rounds[one.round]))


@moment
def nothing_accepted(trace: Trace) -> list[Moment]:
    """The commit of a round that drafted and had every candidate rejected or unreached."""
    return _rounds(trace, lambda this: bool(drafts(this)) and not this.judged.path, "commit")


@moment
def rollback(trace: Trace) -> list[Moment]:
    """The commit of a round with a correction, after which rows of the target's cache are dropped; the text goes on."""
    return _rounds(
        trace,
        lambda this: (
            this.judged.origin == "correction" and this.committed.cache_dropped > 0 and not this.committed.trimmed
        ),
        "commit",
    )


@moment
def best_round(trace: Trace) -> list[Moment]:
    """Commits by the number of their tokens, the most first."""
    every = _rounds(trace, lambda this: bool(drafts(this)), "commit")
    return sorted(every, key=lambda one: -len(trace.rounds[one.round].committed.tokens))


@moment
def drafter_knew(trace: Trace) -> list[Moment]:
    """A draft of which the trace shows what it was made from."""
    return _rounds(trace, lambda this: bool(this.drafted.knew) and bool(drafts(this)), "draft")


@moment
def drafter_learned(trace: Trace) -> list[Moment]:
    """The commit of a round from which the drafter learnt."""
    return _rounds(trace, lambda this: bool(this.drafted.learned), "commit")


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
    "no_stop_policy": lambda trace: trace.started.stop_policy is None or trace.started.stop_policy.name == "fixed",
    "stop_policy": lambda trace: trace.started.stop_policy is not None and trace.started.stop_policy.name != "fixed",
    "deployable": lambda trace: trace.started.stop_policy is None or trace.started.stop_policy.deployable,
    "tree_policy": lambda trace: trace.started.tree_policy is not None,
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
    """How many times as fast as plain decoding: measured in turns with it, as the player's headline says it, so the
    least where more cannot be said; where nothing was, against t(1) of the run's machine for each token."""
    measured = at_least(trace) or gain(trace)
    if measured is not None:
        return measured
    return times_as_fast(len(trace.finished.output_ids) / trace.finished.decode_s, 1 / own_plain_s(trace))


def _lossy(trace: Trace) -> bool:
    started = trace.started
    cards = (started.drafter, started.verifier, started.tree_policy, started.stop_policy)
    return not all(card.lossless for card in cards if card is not None)


def _timed(trace: Trace) -> bool:
    return trace.started.source != "simulated" and any(step_time.rows == 1 for step_time in trace.started.step_times)


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
        Moment(index, "verdicts", number, trial.node)
        for index, this in enumerate(trace.rounds)
        if is_walk(this)
        for number, trial in enumerate(this.judged.trials)
        if trial.node not in behind_the_end(this) and holds(this, number, trial)
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
        lambda this, number, trial: (
            not trial.accepted
            and number == len(this.judged.trials) - 1
            and this.judged.residual is not None
            and trial.threshold > 0
            and not earlier_siblings(this, number)
        ),
    )


@moment
def sibling_trial(trace: Trace) -> list[Moment]:
    """The trial of a sibling of a rejected candidate, against another distribution than the target's own."""
    return _trials(
        trace,
        lambda this, number, trial: (
            bool(earlier_siblings(this, number))
            and trial.u is not None
            and abs(trial.target_prob - (this.nodes[trial.node].target_prob or 0.0)) > PARTED
        ),
    )


@moment
def saved_by_sibling(trace: Trace) -> list[Moment]:
    """A candidate accepted after a sibling of it was rejected."""
    return _trials(trace, lambda this, number, trial: trial.accepted and bool(earlier_siblings(this, number)))


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

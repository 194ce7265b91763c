"""A recorded run on another machine's clock. All *modelled*; nothing is run again.

It keeps its rounds, its rows, its drafter's passes and its accepted tokens, which no machine changes. Replaced are the
seconds of the target's passes, by a step-time curve, and of the drafter's. Verdicts, bookkeeping and drafting that is
no forward pass are left out, for they belong to no curve. A whole sweep: `sweep_clock`.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from specviz.errors import OptionError
from specviz.theory import metrics
from specviz.theory.formulas import StepTimes
from specviz.theory.speedup import times_as_fast
from specviz.trace.events import Trace
from specviz.trace.summary import drafts_beside


@dataclass(frozen=True, slots=True)
class Reclocked:
    """Seconds of all rounds on the other clock."""

    tokens: int
    rounds: int
    target_s: float
    draft_s: float
    plain_s: float
    """plain decoding of the same tokens: one one-row pass each"""

    @property
    def speedup(self) -> float:
        return times_as_fast(1 / (self.target_s + self.draft_s), 1 / self.plain_s)

    @property
    def tokens_per_s(self) -> float:
        """One sequence."""
        return self.tokens / (self.target_s + self.draft_s)


def reclock(trace: Trace, times: StepTimes, cost_ratio: float | None = None) -> Reclocked:
    """The run's passes on `times`; a drafter pass costs `cost_ratio` one-row target passes (None: as in the run).

    As in the run: its mean drafter pass over the header's t(1). Raises OptionError where the run has no
    round, where its drafter worked beside the target, or nothing says what its drafter passes cost.
    """
    if not trace.rounds:
        raise OptionError("this trace has no round, so there is nothing to put on another clock; choose another.")
    if drafts_beside(trace.rounds):
        raise OptionError(
            f"the drafter '{trace.started.drafter.name}' drafted while the target's passes ran, and how much it would "
            "draft beside other passes nobody knows; choose a run whose drafter takes turns with the target."
        )
    passes = sum(len(this.drafted.passes) for this in trace.rounds)
    plain_s = times.at(1)
    if cost_ratio is None:
        cost_ratio = draft_pass_s(trace) / own_plain_s(trace) if passes else 0.0
    return Reclocked(
        tokens=len(trace.finished.output_ids),
        rounds=len(trace.rounds),
        target_s=sum(times.at(this.scored.target_pass.rows) for this in trace.rounds),
        draft_s=passes * cost_ratio * plain_s,
        plain_s=len(trace.finished.output_ids) * plain_s,
    )


def draft_pass_s(trace: Trace) -> float:
    """Mean seconds of the run's drafter passes, also of those beside the target's; 0 where its drafter makes none."""
    passes = [pass_.seconds for this in trace.rounds for pass_ in this.drafted.passes]
    spans = [lane for this in trace.rounds for lane in this.drafted.lanes if lane.what == "draft" and lane.tokens]
    passes += [(span.end_s - span.start_s) / span.tokens for span in spans]
    return fmean(passes) if passes else 0.0


def own_plain_s(trace: Trace) -> float:
    """t(1) of the machine that the run was made on. Raises OptionError where its header has no step times."""
    if not trace.started.step_times:
        raise OptionError("this trace has no step times in its header; say what a drafter pass costs (cost ratio).")
    return StepTimes.of(trace.started.step_times).at(1)


def on_its_curve(trace: Trace) -> Reclocked | None:
    """The same on the run's own curve, to see what the model leaves out; None where its header has none."""
    return reclock(trace, StepTimes.of(trace.started.step_times)) if trace.started.step_times else None


def measured_overhead(trace: Trace) -> float | None:
    """Share of the run's measured time that no pass accounts for; None for a simulated run."""
    shares = metrics.time_shares(trace.rounds)
    if shares is None or trace.started.source == "simulated":
        return None
    inside = sum(
        this.scored.target_pass.seconds + sum(pass_.seconds for pass_ in this.drafted.passes) for this in trace.rounds
    )
    return 1 - inside / sum(this.seconds for this in trace.rounds)

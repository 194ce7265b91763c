"""Recorded runs on another machine's clock: one trace, or a whole sweep. All *modelled*; nothing is run again.

A recorded run keeps its rounds, its rows, its drafter's passes and its accepted tokens, which no machine changes.
Replaced are seconds. Of a trace those of the target's passes, by a step-time curve, and of the drafter's; verdicts,
bookkeeping and drafting that is no forward pass are left out, for they belong to no curve. Of a sweep all of them: its
passes and everything else by what the same things take there (`MachineClock`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from specviz.errors import OptionError
from specviz.protocol.clocks import WIDTHS, ClockRequest, MachineClock
from specviz.protocol.sweeps.points import BASELINE, RunCost, SweepPoint, title
from specviz.protocol.sweeps.result import SweepResult, points_of
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


# --- a recorded sweep on another machine ---------------------------------------------------------------------------


MOST_WIDTHS = 24
"""of target passes that are timed for one sweep"""


@dataclass(frozen=True, slots=True)
class Predicted:
    """A sweep as its runs would be timed on another machine."""

    points: tuple[SweepPoint, ...]
    left_out: tuple[str, ...]
    """cases, by title, whose drafting was not timed there: their drafters work while the target's passes run, so that
    they would draft other tokens, or make passes of something else than a model that was timed"""


def question(result: SweepResult) -> ClockRequest:
    """What must be timed to predict this sweep: its models in its number format, and the widths of its passes."""
    asked = result.definition
    models = [asked.drafter_model, *(entry.drafter_model for entry in asked.drafters)]
    widths = {round(point.cost.target_rows / point.rounds) for point in result.points if point.rounds}
    rows = sorted(widths | {1}) if len(widths) < MOST_WIDTHS else sorted({*WIDTHS, max(widths)})
    return ClockRequest(
        target=asked.target,
        drafter_models=tuple(dict.fromkeys(filter(None, models))),
        rows=tuple(rows),
        cached_rows=asked.max_new_tokens // 2 + 16,
        dtype=asked.dtype,
    )


def predict(result: SweepResult, clock: MachineClock) -> Predicted:
    """Every run of the sweep with the seconds of the other machine, each beside plain decoding predicted alike.

    A round's target pass takes t(rows) of the other machine, behind drafting where its drafter makes passes; the
    drafter's passes as many times longer as a step of its model does there; and everything else as many times longer as
    the rest of a round of plain decoding. Raises OptionError where another target was timed than the sweep ran.
    """
    if clock.target_sha256 != result.provenance.target.weights_sha256:
        raise OptionError(
            f"the sweep ran the target {result.provenance.target.name} with other weights than were timed here; "
            "choose a sweep of this target."
        )
    points = points_of(result)
    paces = _Paces.of(result, points, clock)
    plain = {_when(point): paces.on(point) for point in points if point.drafter == BASELINE}
    untimed = {title(point) for point in points if not paces.are_known(point)}
    kept = [point for point in points if title(point) not in untimed and _when(point) in plain]
    made = tuple(_beside_plain(paces.on(point), plain[_when(point)]) for point in kept)
    return Predicted(made, tuple(dict.fromkeys(title(point) for point in points if title(point) in untimed)))


@dataclass(frozen=True, slots=True)
class _Paces:
    """How many times longer things take there than they took in the recorded sweep."""

    clock: MachineClock
    times: StepTimes
    behind: StepTimes
    """behind a drafter's steps"""
    models: dict[str, str]
    """title of a case → sha256 of its drafter's own model"""
    steps: dict[str, float]
    """sha256 of a drafter's model → its step there over its recorded step"""
    rest: float
    """what a round of plain decoding takes beside its pass"""

    @classmethod
    def of(cls, result: SweepResult, points: Sequence[SweepPoint], clock: MachineClock) -> _Paces:
        plain = [point for point in points if point.drafter == BASELINE]
        if not plain:
            raise OptionError("the sweep has no run of plain decoding, which every speedup is taken against.")
        lowest = min(point.temperature for point in plain)
        plain = [point for point in plain if point.temperature == lowest]
        models = {name: card.weights_sha256 for name, card in result.provenance.drafters.items()}
        recorded: dict[str, float] = {}
        for point in points:
            model = models.get(title(point))
            if model is not None and point.draft_step_s:
                recorded.setdefault(model, point.draft_step_s)
        times = StepTimes.of(clock.step_times)
        rest_s = median(_rest_s(point.cost) / point.rounds for point in plain)
        return cls(
            clock=clock,
            times=times,
            behind=StepTimes.of(clock.round_times),
            models=models,
            steps={model: clock.draft_steps[model] / recorded[model] for model in recorded.keys() & clock.draft_steps},
            rest=clock.rest_s / rest_s if rest_s > 0 else 1.0,
        )

    def are_known(self, point: SweepPoint) -> bool:
        """Whether its drafting can be priced: by passes of a model that was timed, or without passes of any model. A
        drafter with a model and no passes drafted outside the rounds' drafting."""
        model = self.models.get(title(point))
        if point.cost.draft_passes:
            return model in self.steps
        return model is None or not point.drafted

    def on(self, point: SweepPoint) -> SweepPoint:
        """The run with the other machine's seconds; its ratio is not touched."""
        was = point.cost
        step = self.steps.get(self.models.get(title(point), ""), 1.0)
        times = self.behind if was.draft_passes else self.times
        target_s = point.rounds * times.at(was.target_rows / point.rounds)
        draft_s = was.draft_pass_s * step
        cost = replace(
            was,
            draft_s=draft_s + (was.draft_s - was.draft_pass_s) * self.rest,
            target_s=target_s + (was.target_s - was.target_pass_s) * self.rest,
            judge_s=was.judge_s * self.rest,
            commit_s=was.commit_s * self.rest,
            draft_pass_s=draft_s,
            target_pass_s=target_s,
        )
        seconds = cost.draft_s + cost.target_s + cost.judge_s + cost.commit_s
        return replace(
            point,
            cost=cost,
            decode_s=seconds,
            tokens_per_s=point.output_tokens / seconds,
            step_times=self.clock.step_times,
            draft_step_s=None if point.draft_step_s is None else point.draft_step_s * step,
        )


def _rest_s(cost: RunCost) -> float:
    """Seconds that were in no pass."""
    return cost.draft_s - cost.draft_pass_s + cost.target_s - cost.target_pass_s + cost.judge_s + cost.commit_s


def _when(point: SweepPoint) -> tuple[str, int, float]:
    """Which run of plain decoding stands beside it."""
    return point.prompt, point.repeat, point.temperature


def _beside_plain(point: SweepPoint, plain: SweepPoint) -> SweepPoint:
    ratio = times_as_fast(point.tokens_per_s, plain.tokens_per_s)
    return replace(point, baseline_tokens_per_s=plain.tokens_per_s, ratio=ratio)

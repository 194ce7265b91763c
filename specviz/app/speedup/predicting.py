"""*Predict for this machine*: the sweep that is shown, on the clock of the machine that serves the page.

    the sweep ─► what must be timed ─► three seconds of passes (a job like others) ─► `theory.sweep_clock` ─► beside it

But for a few rounds nothing of the sweep is run: predicted numbers are modelled, say so wherever they stand, and never
replace a measured one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specviz.app.form.request import Limits, check_models
from specviz.app.job import Background, Switch
from specviz.app.look import notices
from specviz.app.look.notices import Badge
from specviz.app.speedup.view import SpeedupView, drawn, is_slower, speedup_view
from specviz.errors import BenchError, ModelError
from specviz.protocol.clocks import Clocked, Clocks, MachineClock
from specviz.protocol.runs import Catalog, TraceSource
from specviz.protocol.sweeps.points import BASELINE, title
from specviz.protocol.sweeps.result import SweepResult
from specviz.theory.sweep_clock import Predicted, predict, question
from specviz.trace.header import Machine

PROGRESS_S = 0.25
TITLE = "Predict for this machine"
NO_MACHINE = "there is no engine behind this page; run `specviz predict` where there is one."


@dataclass(frozen=True, slots=True)
class Prediction:
    """A sweep on this machine's clock."""

    predicted: Predicted
    clock: MachineClock
    recorded: Machine
    """on which the sweep was measured"""
    whole: SpeedupView
    charted: SpeedupView
    """what the chart shows of it"""

    @classmethod
    def of(cls, result: SweepResult, clock: MachineClock) -> Prediction:
        """Raises OptionError where the clock is of another target."""
        predicted = predict(result, clock)
        shown, whole = drawn(predicted.points), speedup_view(predicted.points)
        charted = whole if len(shown) == len(predicted.points) else speedup_view(shown)
        return cls(predicted, clock, result.provenance.machine, whole, charted)

    @property
    def badge(self) -> Badge:
        machine = self.clock.machine
        return Badge(
            f"predicted: {machine.processor}, {machine.dtype}",
            "plain",
            f"open marks: the recorded runs with the seconds that passes and a few rounds take on this machine, timed "
            f"for {self.clock.seconds:.1f} s; modelled, the sweep was not run again",
        )


def timing(
    source: TraceSource, result: SweepResult, stop: Switch, catalog: Catalog, limits: Limits
) -> Iterator[tuple[str, Prediction | None]]:
    """Progress as HTML, and at the end the prediction. Raises SpecVizError where the sweep's models are not offered
    here or cannot be loaded, BenchError where it was stopped before every pass was timed three times."""
    if not isinstance(source, Clocks):
        raise ModelError(NO_MACHINE)
    asked = question(result)
    check_models((asked.target, *asked.drafter_models), catalog, limits)
    clock: MachineClock | None = None
    for steps in Background(source.clock(asked, stop.is_set), stop.set).look(PROGRESS_S):
        if steps:
            clock = steps[-1].clock
            yield notices.message(progress(steps[-1]), "busy"), None
        else:
            yield notices.message("Waiting for the engine and its models…", "busy"), None
    stop.check()
    if clock is None:
        raise BenchError("Cancelled before every width was timed three times; nothing is predicted.")
    yield notices.message("Drawing the prediction…", "busy"), Prediction.of(result, clock)


def progress(step: Clocked) -> str:
    """What is said while passes are timed."""
    if step.clock is not None or step.seconds < step.budget_s:
        return f"Timing passes on this machine, {min(step.seconds, step.budget_s):.1f} of {step.budget_s:g} s…"
    return f"Timing passes on this machine for {step.seconds:.1f} s: it is slow or busy, and three turns are needed…"


def sentence(prediction: Prediction, recorded: SpeedupView) -> str:
    """The fastest setting here, what it was where it was recorded, and what was left out."""
    rows = [row for row in prediction.whole.rows if row.drafter != BASELINE]
    if not rows:
        return "Nothing of this sweep can be predicted: the drafting of none of its drafters was timed."
    best = max(rows, key=lambda row: row.ratio.value)
    was = next(
        row.ratio.value
        for row in recorded.rows
        if (title(row), row.gamma, row.temperature) == (title(best), best.gamma, best.temperature)
    )
    length = "" if best.gamma is None else f" with γ = {best.gamma}"
    heat = f" at T {best.temperature:g}" if len({row.temperature for row in rows}) > 1 else ""
    slower = sum(map(is_slower, rows))
    left = prediction.predicted.left_out
    return (
        f"Predicted, not measured, for {prediction.clock.machine.processor} from {prediction.clock.seconds:.1f} s of "
        f"timing: fastest is {title(best)}{length}{heat}, {best.ratio.value:.2f}× plain decoding (recorded on "
        f"{prediction.recorded.processor}: {was:.2f}×)."
        + (f" {slower} of {len(rows)} settings would be slower than plain decoding." if slower else "")
        + (f" Not predicted, because their drafting was not timed: {', '.join(left)}." if left else "")
    )

"""What passes take on one machine, measured in a few seconds: the clock on which a recorded sweep is predicted.

    ClockRequest ─► Clocks.clock ─► Clocked … ─► MachineClock ─► `theory.sweep_clock`

Passes are timed bare, and a few tokens are decoded in several ways, for what stands around passes. Plain data, asked by
a screen or a command and answered by whoever has the models. A curve of many widths with its quartiles, for a file, is
`profiles`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Protocol, runtime_checkable

from specviz.protocol.runs import RunRequest
from specviz.protocol.sweeps.points import BASELINE
from specviz.trace.header import Machine, StepTime

WIDTHS = (1, 2, 4, 5, 8, 16, 32, 61)
"""new rows of the target passes that are timed where nobody asks for others"""
BUDGET_S = 3.0
Case = tuple[str, int | None]
"""of a sweep: its title and its speculation length"""
PLAIN: Case = (BASELINE, None)


@dataclass(frozen=True, slots=True)
class TriedRounds:
    """Real rounds of one way of drafting: what one takes in the mean, median over the repeats."""

    case: Case
    draft_s: float
    """of drafting, passes and all else"""
    rows: tuple[int, ...]
    """of the target's pass, round by round"""
    target_pass_s: float
    rest_s: float
    """beside both"""
    draft_passes: float = 0.0
    """of the drafter's model, in the mean"""

    @property
    def candidates(self) -> float:
        return fmean(self.rows) - 1


@dataclass(frozen=True, slots=True)
class ClockRequest:
    """What to time. Models are named as in a `RunRequest`."""

    target: str = "target"
    drafter_models: tuple[str, ...] = ("drafter",)
    rows: tuple[int, ...] = WIDTHS
    cached_rows: int = 80
    """before each pass: about the middle of a run"""
    tried: Mapping[Case, RunRequest] = field(default_factory=dict)
    """ways of drafting that are decoded for a few tokens beside plain decoding; prompt, target, length, device and
    number format are those of this request"""
    prompt: str = "def mean(values):\n"
    """of the short runs"""
    prompt_id: str = ""
    """a prompt of the source's set, in place of it, where there is one of this name"""
    device: str = "auto"
    dtype: str = "auto"
    budget_s: float = BUDGET_S


@dataclass(frozen=True, slots=True)
class MachineClock:
    """Medians over the repeats, everything timed in turn."""

    machine: Machine
    target_sha256: str
    """of the weights whose passes were timed"""
    step_times: tuple[StepTime, ...]
    """the target's passes one after the other, as in plain decoding: ascending, the first of one row"""
    round_times: tuple[StepTime, ...]
    """the same passes each behind a round of a drafter's steps, whose weights drive the target's out of the caches"""
    draft_steps: Mapping[str, float]
    """weights' sha256 → seconds of one pass of this drafter's model inside a round, as `Started.draft_step_s`"""
    tried: tuple[TriedRounds, ...]
    """of each way that was decoded, plainly first"""
    repeats: int
    seconds: float
    """that all of it took, loading left out"""


@dataclass(frozen=True, slots=True)
class Clocked:
    """How far a measurement is."""

    seconds: float
    budget_s: float
    clock: MachineClock | None
    """None until everything has been timed often enough for a median"""


@runtime_checkable
class Clocks(Protocol):
    """A trace source with a machine behind it; recordings and simulations have none."""

    def clock(self, request: ClockRequest, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Clocked]:
        """Time everything of the request in turn until its seconds are over, telling progress; stops early with what it
        has where cancelled. Raises SpecVizError where a model cannot be loaded."""
        ...

"""Learning-rate schedule over tokens or wall-clock time, whichever runs out first.

Place in the flow: asked once per step by the training loop. A run on a machine of unknown load still ends at zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from specviz.errors import TrainingError


@dataclass(frozen=True)
class Budget:
    """What a run may use: tokens, and minutes of wall-clock time counted across resumes (0: no limit)."""

    tokens: int
    minutes: float = 0.0

    def progress(self, tokens: int, elapsed_s: float) -> float:
        """Used fraction of the budget, in [0, 1]."""
        used = tokens / self.tokens
        if self.minutes > 0:
            used = max(used, elapsed_s / (60 * self.minutes))
        return min(1.0, used)


@dataclass(frozen=True)
class Pace:
    """The budget of a run as another one went through it: for each of some counts of tokens, rising, how much of its
    budget that run had used; between them in a straight line."""

    tokens: tuple[int, ...]
    used: tuple[float, ...]

    @classmethod
    def of(cls, curve: Sequence[Mapping[str, Any]]) -> Pace:
        """From the rows that a run measured. Raises TrainingError where it was not run to its end."""
        found = {int(row["tokens"]): float(row["progress"]) for row in curve}
        if not found or max(found.values()) < 1.0:
            raise TrainingError("The training to keep pace with is not finished: run that one to its end first.")
        return cls(tuple(found), tuple(found.values()))

    def progress(self, tokens: int, elapsed_s: float) -> float:
        """Used fraction, in [0, 1]; time does not matter."""
        return float(np.interp(tokens, self.tokens, self.used))


def learning_rate_factor(progress: float, step: int, warm_up_steps: int, decay: float = 1.0) -> float:
    """Linear warm-up over `warm_up_steps`, then constant, then linear decay to exactly zero at progress 1.

    `decay` in (0, 1] is the share of the budget, at its end, in which the rate falls; with 1 it falls all the time.
    """
    warm_up = min(1.0, (step + 1) / max(1, warm_up_steps))
    return warm_up * min(1.0, max(0.0, 1.0 - progress) / decay)

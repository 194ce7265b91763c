"""Learning-rate schedule over tokens or wall-clock time, whichever runs out first.

Place in the flow: asked once per step by the training loop. A run on a machine of unknown load still ends at zero.
"""

from dataclasses import dataclass


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


def learning_rate_factor(progress: float, step: int, warm_up_steps: int, decay: float = 1.0) -> float:
    """Linear warm-up over `warm_up_steps`, then constant, then linear decay to exactly zero at progress 1.

    `decay` in (0, 1] is the share of the budget, at its end, in which the rate falls; with 1 it falls all the time.
    """
    warm_up = min(1.0, (step + 1) / max(1, warm_up_steps))
    return warm_up * min(1.0, max(0.0, 1.0 - progress) / decay)

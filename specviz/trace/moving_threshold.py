"""A threshold that follows the acceptance rate: Draft & Verify's rule, which AdaEDL moves its floor by too.

Here because a stop policy moves by it while drafting, and the check of a trace works it out again."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(slots=True)
class MovingThreshold:
    """A smoothed acceptance rate below the wanted one pulls the threshold up by a step, otherwise down, unless the last
    draft was never stopped; the threshold itself is smoothed too (2309.08168, §4.3)."""

    value: float
    wanted: float
    step: float
    memory: float
    """weight of the past in the acceptance rate"""
    inertia: float
    """weight of the old threshold in the new one"""
    stopped: bool = False
    """whether this round's draft was stopped; to be set by the policy"""
    rate: float = 0.0
    """the smoothed acceptance rate"""

    def learn(self, drafted: int, accepted: int) -> None:
        """How the last draft went, in levels."""
        stopped, self.stopped = self.stopped, False
        if drafted == 0:
            return
        self.rate = self.memory * self.rate + (1.0 - self.memory) * accepted / drafted
        pulled = self.value
        if self.rate < self.wanted:
            pulled += self.step
        elif stopped:
            pulled -= self.step
        self.value = min(1.0, max(0.0, self.inertia * self.value + (1.0 - self.inertia) * pulled))

    def after(self, stopped: bool, drafted: int, accepted: int) -> MovingThreshold:
        """The one that `learn` makes of it, if the draft was stopped or was not."""
        found = replace(self, stopped=stopped)
        found.learn(drafted, accepted)
        return found

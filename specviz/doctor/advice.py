"""Which drafter for this target? From measured speeds beside plain decoding to a recommendation, and how sure it is.

ratios by prompt ─► advise ─► Advice: who, why, how sure, and the flags that ask an engine for it (`engine_flags`)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from specviz.doctor.engine_flags import USUAL, Asked, Flags, Layout, flags_of

Sure = Literal["high", "middle", "low"]
MOST_OF = 0.75
"""share of the prompts on which the best must be ahead to be called ahead"""
FEW = 8
"""prompts below which no confidence is high"""
BUSY = 1.05
"""speedup over tokens per pass above which the clock is doubted: a pass of the target is never cheaper for a draft"""
WORTH = 1.05
"""speed in plain decoding's below which the trouble is not worth it"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to draft, measured on the user's prompts."""

    name: str
    drafter: str
    ratios: Mapping[str, float]
    """prompt → its speed in plain decoding's there"""
    model: str = ""
    """its weights: a smaller model, or a trained head"""
    layout: Layout = ""
    acceptance_rate: float | None = None
    tokens_per_pass: float | None = None
    gamma: int | None = None
    """speculation length with the largest modelled speedup, by acceptance by position and the measured clock; None:
    not a chain, or nothing was drafted"""

    @property
    def ratio(self) -> float:
        """The median over the prompts."""
        return median(self.ratios.values())

    def ahead_of(self, other: Mapping[str, float]) -> float:
        """Share of the common prompts on which this one is faster."""
        common = self.ratios.keys() & other.keys()
        return sum(self.ratios[prompt] > other[prompt] for prompt in common) / len(common) if common else 0.0


@dataclass(frozen=True, slots=True)
class Advice:
    """What to use."""

    best: Candidate | None
    """None: plain decoding"""
    sure: Sure
    why: str
    flags: Mapping[str, str]
    """engine → what its command line needs"""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """engine → why it cannot be asked for this drafter, said of the engine"""
    instead: Candidate | None = None
    """where no engine has the best: the fastest that one has and that is worth it; `flags` and `cannot` are its"""


def advise(candidates: Sequence[Candidate]) -> Advice:
    """The fastest by the median over the prompts, where it is worth it. Raises ValueError for nobody."""
    ordered = sorted(candidates, key=lambda candidate: candidate.ratio, reverse=True)
    if not ordered:
        raise ValueError("nobody was measured beside plain decoding.")
    best, second = ordered[0], ordered[1] if len(ordered) > 1 else None
    plain = dict.fromkeys(best.ratios, 1.0)
    ahead, prompts = best.ahead_of(plain), len(best.ratios)
    if best.ratio < WORTH:
        lost = all(candidate.ahead_of(plain) < 1 - MOST_OF for candidate in ordered)
        sure: Sure = "low" if prompts < FEW // 2 else "high" if lost and prompts >= FEW else "middle"
        return Advice(None, sure, _nothing(best, ahead, prompts), {})
    before = 1.0 if second is None else best.ahead_of(second.ratios)
    clear = ahead >= MOST_OF and before >= MOST_OF
    busy = best.tokens_per_pass is not None and best.ratio > BUSY * best.tokens_per_pass
    weak = prompts < FEW // 2 or ahead < MOST_OF or busy
    sure = "low" if weak else "high" if clear and prompts >= FEW else "middle"
    why, asked, instead = _reason(best, second, ahead, before), _asked(best), None
    if not asked.flags:
        worth = (candidate for candidate in ordered if candidate.ratio >= WORTH and _asked(candidate).flags)
        instead = next(worth, None)
        asked = asked if instead is None else _asked(instead)
    return Advice(best, sure, f"{why}{WAS_BUSY}" if busy else why, asked.flags, asked.cannot, instead)


def _asked(candidate: Candidate) -> Flags:
    return flags_of(Asked(candidate.drafter, candidate.model, candidate.gamma or USUAL, candidate.layout))


WAS_BUSY = (
    " Its speedup is more than its tokens per pass explain, so other work probably took the machine now and then: "
    "measure again when it is idle."
)


def _nothing(best: Candidate, ahead: float, prompts: int) -> str:
    return (
        f"Nothing is worth its trouble here: the fastest, {best.name}, runs at {best.ratio:.2f} times plain decoding "
        f"in the median and is ahead on {ahead:.0%} of {prompts} prompts (measured)."
    )


def _reason(best: Candidate, second: Candidate | None, ahead: float, before: float) -> str:
    beside = (
        f"; {second.name}, the next, at {second.ratio:.2f}, and is behind it on {before:.0%} of the prompts"
        if second is not None
        else ""
    )
    accepted = (
        f" {best.acceptance_rate:.0%} of its drafts were accepted, {best.tokens_per_pass:.2f} tokens for each pass of "
        "the target."
        if best.acceptance_rate is not None and best.tokens_per_pass is not None
        else ""
    )
    length = f" Best speculation length on this clock: {best.gamma} (modelled)." if best.gamma else ""
    return (
        f"{best.name} runs at {best.ratio:.2f} times plain decoding in the median, ahead of it on {ahead:.0%} of "
        f"{len(best.ratios)} prompts{beside} (measured).{accepted}{length}"
    )

"""What holds a run back against plain decoding: its drafts, the width of its passes, or how little is accepted.

    speedup = tokens per target pass ÷ (target's pass + drafting + rest),  all three in seconds of a plain token

Every number is measured on the run and on the plain decoding timed beside it; what the run would be without one of the
three is modelled from them. The player's headline says the same (`assets/js/rules/slowdown.js`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from specviz.theory.speedup import LEAST_GAIN, gain, is_noisy, times_as_fast
from specviz.trace.events import Round, Trace
from specviz.trace.summary import counted

Factor = Literal["drafting", "width", "acceptance"]


@dataclass(frozen=True, slots=True)
class RoundCost:
    """The mean round of a run; times in seconds per token of the plain decoding beside it."""

    tokens: float
    """of the text per target pass"""
    most_tokens: float
    """the same, had the longest path of every draft been accepted"""
    rows: float
    """of the target's pass"""
    target: float
    drafting: float
    rest: float
    """judging and committing"""

    @property
    def speedup(self) -> float:
        return times_as_fast(self.tokens, self.target + self.drafting + self.rest)

    def without(self, factor: Factor) -> RoundCost:
        """The same round with free drafts, a wide pass as cheap as plain decoding's, or everything accepted."""
        if factor == "drafting":
            return replace(self, drafting=0.0)
        if factor == "width":
            return replace(self, target=min(self.target, 1.0))
        return replace(self, tokens=self.most_tokens)

    @property
    def held_back_by(self) -> Factor:
        """The factor without which the run would be fastest; of equal ones the first of these three."""
        factors: tuple[Factor, ...] = ("drafting", "width", "acceptance")
        return max(factors, key=lambda factor: self.without(factor).speedup)


def round_cost(trace: Trace) -> RoundCost | None:
    """None where the run has no gain (`speedup.gain`)."""
    plain, rounds = trace.finished.plain, trace.rounds
    if plain is None or gain(trace) is None:
        return None
    token_s = plain.decode_s / plain.output_tokens
    return RoundCost(
        tokens=fmean(len(this.committed.tokens) for this in rounds),
        most_tokens=fmean(map(_most_tokens, rounds)),
        rows=fmean(this.scored.target_pass.rows for this in rounds),
        target=fmean(this.scored.seconds for this in rounds) / token_s,
        drafting=fmean(this.drafted.seconds for this in rounds) / token_s,
        rest=fmean(this.judged.seconds + this.committed.seconds for this in rounds) / token_s,
    )


def _most_tokens(this: Round) -> int:
    """The deepest candidate and the last token, where that stayed: it is not drawn behind the end of the text, and may
    be left to the next round."""
    deepest = max((node.depth for node in counted(this)), default=0)
    return max(len(this.committed.tokens), deepest + (this.committed.trimmed is None))


def why_slower(trace: Trace) -> str | None:
    """A sentence with the factor and its number; None where the run is not slower than plain decoding for sure."""
    ratio, cost = gain(trace), round_cost(trace)
    if ratio is None or cost is None or is_noisy(trace) or ratio >= 1 - LEAST_GAIN:
        return None
    factor = cost.held_back_by
    would = f"the run would be {cost.without(factor).speedup:.2f}×"
    if factor == "drafting":
        return (
            f"Drafting costs most: it takes {cost.drafting:.2f} times as long as a plain token, and were it free "
            f"{would}."
        )
    if factor == "width":
        return (
            f"Width costs most: a pass over {cost.rows:.1f} rows takes {cost.target:.2f} times as long as a plain "
            f"token, and at the price of one row {would}."
        )
    return (
        f"Acceptance costs most: a pass gives {cost.tokens:.2f} of at most {cost.most_tokens:.2f} tokens, and with all "
        f"of them {would}."
    )

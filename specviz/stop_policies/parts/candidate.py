"""What is known of a candidate as soon as it is drafted, as numbers for a classifier.

The same numbers can be read from a trace, which keeps the head of every distribution: what is learnt from logged rounds
is what is asked in live ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

HEAD = 10
"""how many of the largest probabilities are looked at (DISCO, 2405.04304); a trace keeps as many by default"""
SMALLEST = 1e-6
"""a trace keeps six decimals"""
FEATURES = HEAD + 3
OF_DISTRIBUTION = tuple(number for number in range(FEATURES) if number != HEAD)
"""which of the features do not look at the candidate's own probability: DISCO's (2405.04304)"""


def features(head: Sequence[float], prob: float, depth: int) -> list[float]:
    """Of a candidate at `depth` to which the drafter gave `prob`, out of a distribution with the largest
    probabilities `head` (decreasing, `HEAD` of them or all there are):

    their logarithms, that of `prob`, the entropy in nats of the head with all the rest as one outcome, and the depth.
    """
    kept = [*head[:HEAD], *[0.0] * (HEAD - len(head))]
    outcomes = [*kept, 1.0 - sum(kept)]
    entropy = -sum(p * log(p) for p in outcomes if p > SMALLEST)
    return [*map(_log, kept), _log(prob), entropy, float(depth)]


def _log(prob: float) -> float:
    return log(max(prob, SMALLEST))

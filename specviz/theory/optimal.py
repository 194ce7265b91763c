"""What no verifier can beat: the largest probability that one level of a draft is accepted, over all lossless rules.

Choosing a verifier for one node is a transport problem: move the law of the candidate list onto the target so that as
much as possible stays inside the list. Its optimum is the smallest cut (2310.15141, §4; 2502.18779):

    alpha* = min over sets H of tokens of  p(H) + 1 - Pr(all candidates lie in H)

That looks at every set of tokens; for i.i.d. candidates, and for two drawn without replacement, the best one is found
in whole vocabularies. The tests hold both against all sets of toys, and those against a largest flow.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[np.float64]
"""a distribution [V]"""
MOST_EXCHANGES = 1000


def independent_bound(p: Row, q: Row, draws: int) -> float:
    """alpha* of `draws` i.i.d. draws from q [V], for any vocabulary.

    p(H) + 1 - q(H)^K is concave in (p(H), q(H)), so the best H is a corner of what these two can be: all tokens whose
    p/q lies below some value (2502.18779).
    """
    order = _by_ratio(p, q)
    inside_p, inside_q = np.cumsum(p[order]), np.cumsum(q[order])
    return float(min(1.0, np.min(inside_p + 1.0 - np.minimum(inside_q, 1.0) ** draws)))


def pair_bound(p: Row, q: Row) -> float:
    """alpha* of two draws from q [V] without replacement, for any vocabulary.

    With odds a = q / (1 - q), Pr(both in H) = 1 - (1 - q(H)) (1 + a(H)). The search starts from the best of the sets of
    all tokens whose p/q lies below some value, and exchanges single tokens as long as that helps. Every H gives a
    value that no rule exceeds; that none is smaller than the one found is tested by enumeration on toys.
    """
    odds = np.divide(q, 1.0 - q, out=np.full_like(q, np.inf), where=q < 1.0)
    if np.isinf(odds).any():
        return float(min(1.0, np.minimum(p, q).sum()))  # a certain first draw leaves nothing for a second
    order = _by_ratio(p, q)
    value = np.cumsum(p[order]) + (1.0 - np.cumsum(q[order])) * (1.0 + np.cumsum(odds[order]))
    inside = np.zeros(len(p), dtype=np.bool_)
    if float(np.min(value)) < 1.0:
        inside[order[: int(np.argmin(value)) + 1]] = True
    for _ in range(MOST_EXCHANGES):
        outside, reach = 1.0 - q[inside].sum(), 1.0 + odds[inside].sum()
        sign = np.where(inside, -1.0, 1.0)
        change = sign * (p - q * reach + odds * outside) - q * odds
        best = int(np.argmin(change))
        if change[best] >= -1e-12:
            break
        inside[best] = not inside[best]
    outside, reach = 1.0 - q[inside].sum(), 1.0 + odds[inside].sum()
    return float(min(1.0, p[inside].sum() + outside * reach))


def _by_ratio(p: Row, q: Row) -> npt.NDArray[np.int64]:
    """Tokens by increasing p/q, those that are never drawn last."""
    return np.argsort(np.divide(p, q, out=np.full_like(p, np.inf), where=q > 0.0), kind="stable")

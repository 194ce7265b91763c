"""What no verifier can beat: the largest probability that one level of a draft is accepted, over all lossless rules.

Choosing a verifier for one node is a transport problem: move the law of the candidate list onto the target so that as
much as possible stays inside the list. Its optimum is the smallest cut (2310.15141, §4; 2502.18779):

    alpha* = min over sets H of tokens of  p(H) + 1 - Pr(all candidates lie in H)

Exact and exponential in the vocabulary: for toys and explanations. For i.i.d. candidates, and for two drawn without
replacement, also for whole vocabularies. An optimal transport itself is a largest flow, for which networkx is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import networkx as nx
import numpy as np
import numpy.typing as npt

from specviz.errors import OptionError

CandidateLaw = Mapping[tuple[int, ...], float]
"""list of candidates in draw order → its probability"""
Row = npt.NDArray[np.float64]
"""a distribution [V]"""
MOST_TOKENS = 14
MOST_EXCHANGES = 1000
UNIT = 10**12
"""capacities are whole numbers of 1 / UNIT, for which a largest flow is exact"""


def acceptance_bound(p: Sequence[float], law: CandidateLaw) -> float:
    """alpha* of a target p [V] and a law of candidate lists. Raises OptionError for more than 14 tokens."""
    if len(p) > MOST_TOKENS:
        raise OptionError(
            f"the bound looks at every set of tokens, which for {len(p)} tokens is too many; use at most {MOST_TOKENS}."
        )
    return min(
        sum(p[token] for token in kept) + 1.0 - sum(mass for drawn, mass in law.items() if kept.issuperset(drawn))
        for kept in _subsets(len(p))
    )


def best_transport(p: Sequence[float], law: CandidateLaw) -> dict[tuple[tuple[int, ...], int], float]:
    """(list, token of it) → mass that a best verifier accepts so; the sum is alpha*, to 1e-10."""
    network = nx.DiGraph()
    for token, mass in enumerate(p):
        network.add_edge(("token", token), "sink", capacity=round(mass * UNIT))
    for drawn, mass in law.items():
        network.add_edge("source", drawn, capacity=round(mass * UNIT))
        for token in set(drawn):
            network.add_edge(drawn, ("token", token))
    _, flow = nx.maximum_flow(network, "source", "sink")
    return {(drawn, token): flow[drawn]["token", token] / UNIT for drawn in law for token in sorted(set(drawn))}


def independent(q: Sequence[float], draws: int) -> CandidateLaw:
    """Lists of `draws` i.i.d. draws from q [V]."""
    law: dict[tuple[int, ...], float] = {}
    for drawn in product(range(len(q)), repeat=draws):
        mass = 1.0
        for token in drawn:
            mass *= q[token]
        if mass > 0.0:
            law[drawn] = mass
    return law


def without_replacement(q: Sequence[float], draws: int) -> CandidateLaw:
    """Lists of up to `draws` draws from q [V], each among what the earlier ones left; shorter where nothing is left."""
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(draws):
        longer: dict[tuple[int, ...], float] = {}
        for drawn, mass in law.items():
            left = {token: prob for token, prob in enumerate(q) if prob > 0.0 and token not in drawn}
            total = sum(left.values())
            if not left:
                longer[drawn] = mass
            longer |= {(*drawn, token): mass * prob / total for token, prob in left.items()}
        law = longer
    return law


def chosen(tokens: Sequence[int]) -> CandidateLaw:
    """One list that is not drawn at all; its bound is p(tokens), which looking up the target's sample reaches."""
    return {tuple(tokens): 1.0}


def _subsets(size: int) -> Iterator[frozenset[int]]:
    for count in range(size + 1):
        yield from map(frozenset, combinations(range(size), count))


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

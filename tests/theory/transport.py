"""The bound of verifiers by its definition, over all sets of tokens, and as a largest flow: for toys."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import networkx as nx

CandidateLaw = Mapping[tuple[int, ...], float]
"""list of candidates in draw order → its probability"""
UNIT = 10**12
"""capacities are whole numbers of 1 / UNIT, for which a largest flow is exact"""


def acceptance_bound(p: Sequence[float], law: CandidateLaw) -> float:
    """alpha* of a target p [V] and a law of candidate lists: the smallest cut, over all sets of tokens."""
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

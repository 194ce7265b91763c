"""What no verifier can beat: the largest chance that one level of a draft is accepted, over all lossless rules.

Choosing a verifier for one node is a transport problem: move the law of the candidate list onto the target so that as
much as possible stays inside the list. Its optimum is the smallest cut (2310.15141, §4; 2502.18779):

    alpha* = min over sets H of tokens of  p(H) + 1 - Pr(all candidates lie in H)

Exact and exponential in the vocabulary: for toys and lessons. Knows nothing about verifiers, trees or models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

from specviz.errors import OptionError

CandidateLaw = Mapping[tuple[int, ...], float]
"""list of candidates in draw order → its probability"""
MOST_TOKENS = 14


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

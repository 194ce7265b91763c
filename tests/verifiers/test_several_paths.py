"""Block verification of the best of several paths (2602.16961): exact by the law of the path that was picked."""

import random
from collections import defaultdict
from itertools import product
from math import prod

import pytest
import torch

from specviz.core.tree import DraftTree
from tests.proof.one_level import distribution, verdicts

TOKENS = range(3)
RNG = random.Random(5)
TEXTS = [prefix for length in range(3) for prefix in product(TOKENS, repeat=length)]
P = {prefix: distribution(RNG, 3) for prefix in TEXTS}
Q = {prefix: distribution(RNG, 3) for prefix in TEXTS}
PATHS = list(product(TOKENS, repeat=2))


def chance(rows, text):
    return prod(rows[text[:depth]][token] for depth, token in enumerate(text))


def best(paths):
    """The largest path, where at every prefix tokens are ordered by p/q."""
    return max(paths, key=lambda path: [P[path[:i]][token] / Q[path[:i]][token] for i, token in enumerate(path)])


def picked(paths):
    """Law of the best of so many independent paths."""
    law = defaultdict(float)
    for drawn in product(PATHS, repeat=paths):
        law[best(drawn)] += prod(chance(Q, path) for path in drawn)
    return law


def rows_of(law):
    """The same as a distribution behind every prefix."""
    rows = {}
    for prefix in ((), *((token,) for token in TOKENS)):
        mass = [sum(w for path, w in law.items() if path[: len(prefix) + 1] == (*prefix, token)) for token in TOKENS]
        rows[prefix] = [share / sum(mass) for share in mass]
    return rows


def walked(paths, own_law=True):
    """(largest difference between the law of three tokens and the target's, accepted candidates)."""
    law, texts, kept = picked(paths), defaultdict(float), 0.0
    judged_by = rows_of(law) if own_law else Q
    for path, weight in law.items():
        tree = DraftTree.from_root(0)
        for depth, token in enumerate(path):
            tree.add(depth, token, "iid", torch.tensor(judged_by[path[:depth]], dtype=torch.float64), "test")
        targets = [torch.tensor(P[path[:depth]], dtype=torch.float64) for depth in range(3)]
        for verdict, share in verdicts("block", tree, targets):
            kept += weight * share * len(verdict.path)
            text = (*path[: len(verdict.path)], verdict.token)
            for rest in product(TOKENS, repeat=3 - len(text)):
                texts[text + rest] += weight * share * chance(P, text + rest) / chance(P, text)
    return max(abs(texts[text] - chance(P, text)) for text in product(TOKENS, repeat=3)), kept


def test_the_best_of_two_paths_judged_by_the_law_it_was_picked_by_keeps_the_targets_law_and_accepts_more():
    (alone, one_path), (error, two_paths) = walked(1), walked(2)
    assert alone < 1e-12
    assert error < 1e-12
    assert two_paths > one_path + 0.1


@pytest.mark.planted("no residual")
def test_judged_by_what_each_path_was_drawn_from_it_does_not():
    error, _ = walked(2, own_law=False)
    assert error > 1e-3

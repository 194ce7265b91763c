"""The compiled walk down a chain keeps the target's law, on every branch of the engine's own rounds.

    thresholds and rest of the walk ─► source that walks all branches ─► numbers that say so ─► the walk again

The walk takes the numbers of a seed, so the source decides by what the walk itself says, and the walk is made once more
with numbers that lead there. What is proved is the C code, in the single precision that it computes in.
"""

from __future__ import annotations

from contextlib import contextmanager
from ctypes import c_double
from dataclasses import replace

import pytest
import torch

from specviz.core import draws
from specviz.core.randomness import SeededRandom
from specviz.core.tree import DraftTree
from specviz.engine.scoring import ScoredTree
from specviz.options import Options
from specviz.proof.exhaustive import WARM, ProofCase
from specviz.verifiers.sequential import SequentialVerifier
from tests.proof.walked import error

LIBRARY = draws._library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="there is no compiler here")
EXACT = 1e-6
"""of sums of a few hundred products of float32"""
LARGEST = 1 - 2**-53
"""of all numbers that a key can have"""


@contextmanager
def numbers(given):
    """Inside, a keyed walk has these numbers."""
    keyed = LIBRARY.keyed_walk

    def with_these(asked):
        (c_double * len(given)).from_address(draws._WALK.unpack(asked)[-1])[:] = given
        return LIBRARY.walk(asked)

    LIBRARY.keyed_walk = with_these
    try:
        yield
    finally:
        LIBRARY.keyed_walk = keyed


def as_drawn_by_one_call(tree):
    """The same chain, what it was drawn from as float32 in one block."""
    chain, q = DraftTree.from_root(tree.tokens[0]), tree.proposals[1:]
    for node in range(1, len(tree)):
        chain.add(node - 1, tree.tokens[node], tree.kinds[node], q[node - 1], tree.sources[node])
    if q and q[0] is not None:
        whole = torch.stack(q).float()
        chain.block = draws.Room(whole, whole.unbind(), whole.data_ptr())
    return chain


class ByTheWalk(SequentialVerifier[Options]):
    """Comes to the verdict that the source of randomness decides for, as the compiled walk comes to it."""

    def judge(self, tree, target, randomness, position):
        chain, steps = as_drawn_by_one_call(tree), tree.drafted
        scored = ScoredTree(chain, target.logits.float(), WARM)
        u = [0.0] * steps + [0.5] * (steps + 1)

        def walked():
            with numbers(u):
                verdict = self._by_one_call(chain, scored, SeededRandom(0), position)
            assert verdict is not None
            return verdict

        for node in range(1, steps + 1):
            threshold = walked().trials[node - 1].threshold
            if not randomness.accept(threshold, ("accept", position, node)).accepted:
                u[node - 1] = LARGEST
                break
        verdict = walked()
        end = len(verdict.path)
        left = scored.probs(end) if verdict.residual is None else verdict.residual
        token = randomness.draw(left, ("target", position + end, 0)).token
        below = left.double().cumsum(0)
        u[steps + end] = float(below[token] - left[token] / 2) / float(below[-1])
        verdict = walked()
        assert verdict.token == token
        return verdict


def by_the_walk(method):
    return replace(method, verifier=ByTheWalk(Options()))


@pytest.mark.parametrize("drafter", ["model", "ngram", "none"])
def test_the_compiled_walk_has_the_targets_law(drafter):
    """Candidates that were drawn, point masses, and no draft at all."""
    options = () if drafter == "none" else (("gamma", 2),)
    assert error(ProofCase(drafter, "sequential", options, WARM, fault=by_the_walk)) < EXACT

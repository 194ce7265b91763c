"""Candidates below one node, taken one by one: what each leaves to those after it, by hand."""

import pytest
import torch

from specviz.core.sampling import Sampling
from specviz.tree_policies.drawing import siblings_of

Q = (0.5, 0.3, 0.2)


class Scripted:
    """A draft whose draws are given."""

    def __init__(self, *tokens: int) -> None:
        self.tokens = list(tokens)
        self.drawn_from: list[list[float]] = []

    def draw(self, probs: torch.Tensor) -> int:
        self.drawn_from.append(probs.tolist())
        return self.tokens.pop(0)


def family(temperature: float):
    return siblings_of(torch.tensor([Q], dtype=torch.float64).log(), Sampling(temperature))[0]


def test_drawn_siblings_leave_the_mass_that_no_earlier_one_has_taken():
    """Half is left after token 0, and two fifths of that half after token 1: not two fifths of everything."""
    draft, siblings = Scripted(0, 1, 2), family(1.0)
    left, best, probs = [siblings.left], [siblings.best], []
    for _ in range(3):
        probs.append(siblings.take(draft).prob)
        left.append(siblings.left)
        best.append(siblings.best)
    assert probs == pytest.approx([0.5, 0.3, 0.2])
    assert left == pytest.approx([1.0, 0.5, 0.2, 0.0])
    assert best == pytest.approx([0.5, 0.3, 0.2, 0.0])
    assert draft.drawn_from == [pytest.approx(row) for row in ([0.5, 0.3, 0.2], [0, 0.6, 0.4], [0, 0, 1])]


def test_ranked_siblings_leave_the_same_mass_and_come_in_order():
    siblings = family(0.0)
    taken, left, best = [], [siblings.left], [siblings.best]
    for _ in range(3):
        one = siblings.take(Scripted())
        taken.append((one.token, one.proposal))
        left.append(siblings.left)
        best.append(siblings.best)
    assert taken == [(0, None), (1, None), (2, None)]
    assert left == pytest.approx([1.0, 0.5, 0.2, 0.0])
    assert best == pytest.approx([0.5, 0.3, 0.2, 0.0])

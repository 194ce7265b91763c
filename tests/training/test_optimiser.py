"""Muon orthogonalises and learns; the schedule ends at zero."""

import pytest
import torch

from specviz.errors import TrainingError
from specviz.training.optimiser import Budget, Muon, Pace, learning_rate_factor, orthogonalise


def test_singular_values_come_out_near_one() -> None:
    torch.manual_seed(0)
    for shape in ((3, 24, 24), (2, 16, 40), (2, 40, 16)):
        values = torch.linalg.svdvals(orthogonalise(torch.randn(shape), iterations=8))
        assert values.min() > 0.4
        assert values.max() < 1.3


def test_directions_are_kept() -> None:
    torch.manual_seed(0)
    matrix = torch.randn(1, 12, 20)
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    cosine = torch.nn.functional.cosine_similarity(
        orthogonalise(matrix, iterations=8).flatten(), (u @ v).flatten(), dim=0
    )
    assert cosine > 0.97


def test_a_toy_loss_decreases() -> None:
    torch.manual_seed(0)
    goal, weight = torch.randn(8, 8), torch.nn.Parameter(torch.zeros(8, 8))
    muon = Muon([weight], lr=0.1)
    losses = []
    for _ in range(60):
        loss = (weight - goal).square().mean()
        losses.append(loss.item())
        loss.backward()
        muon.step()
        muon.zero_grad()
    assert losses[-1] < 0.3 * losses[0]


def test_matrices_without_gradient_are_left_alone() -> None:
    weight = torch.nn.Parameter(torch.ones(4, 4))
    Muon([weight]).step()
    assert torch.equal(weight, torch.ones(4, 4))


def test_the_learning_rate_reaches_zero_exactly() -> None:
    budget = Budget(tokens=100)
    assert learning_rate_factor(budget.progress(100, 0), step=1000, warm_up_steps=10) == 0
    assert learning_rate_factor(budget.progress(50, 0), step=1000, warm_up_steps=10) == 0.5


def test_time_counts_as_well_as_tokens() -> None:
    budget = Budget(tokens=100, minutes=10)
    assert budget.progress(tokens=10, elapsed_s=540) == 0.9
    assert budget.progress(tokens=95, elapsed_s=60) == 0.95
    assert budget.progress(tokens=0, elapsed_s=10_000) == 1


def test_warm_up_starts_low() -> None:
    assert learning_rate_factor(0.0, step=0, warm_up_steps=10) == 0.1


def test_a_run_keeps_the_pace_of_another_whatever_its_own_time() -> None:
    curve = [{"tokens": 0, "progress": 0.0}, {"tokens": 10, "progress": 0.5}, {"tokens": 30, "progress": 1.0}]
    pace = Pace.of([*curve, curve[-1]])
    assert [pace.progress(tokens, 1e9) for tokens in (0, 5, 10, 20, 30, 31)] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    with pytest.raises(TrainingError, match="not finished"):
        Pace.of(curve[:2])

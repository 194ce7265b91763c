"""Choosing a matrix routine: all agree, a missing one is passed over, copies must pay."""

import pytest
import torch

from specviz.lm import kernels
from specviz.lm.kernels import Projection, available, calibrate


@pytest.mark.parametrize("name", kernels.ROUTINES)
@pytest.mark.parametrize("rows", [1, 2, 5, 8, 33])
def test_every_routine_multiplies_adds_bias_and_residual(name, rows):
    if name not in available(torch.eye(2)):
        pytest.skip(f"this build of torch has no '{name}'")
    torch.manual_seed(0)
    weight, bias = torch.randn(7, 5), torch.randn(7)
    x, residual = torch.randn(rows, 5), torch.randn(rows, 7)
    with torch.inference_mode():
        product = kernels.ROUTINES[name](weight, bias)(x, residual.clone())
        bare = kernels.ROUTINES[name](weight, None)(x, None)
    assert torch.allclose(product, x @ weight.T + bias + residual, atol=1e-5)
    assert torch.allclose(bare, x @ weight.T, atol=1e-5)


def test_a_routine_missing_from_this_build_is_passed_over(monkeypatch):
    def missing(weight, bias):
        raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_reorder_linear_weight'")

    monkeypatch.setitem(kernels.ROUTINES, "packed", missing)
    assert available(torch.eye(2)) == ["linear", "transposed"]


def test_a_routine_that_computes_nonsense_is_passed_over(monkeypatch):
    monkeypatch.setitem(kernels.ROUTINES, "packed", lambda weight, bias: lambda x, residual: x * 2)
    assert "packed" not in available(torch.eye(2))


def test_float16_has_one_routine_and_bfloat16_those_that_agree():
    assert available(torch.eye(2, dtype=torch.float16)) == ["linear"]
    assert available(torch.eye(2, dtype=torch.bfloat16))[0] == "linear"


def test_bfloat16_is_timed_in_bfloat16_and_keeps_the_products(monkeypatch):
    monkeypatch.setattr(kernels, "SMALL_BYTES", 0)
    monkeypatch.setattr(kernels, "CALIBRATION_BYTES", 0x1000)
    monkeypatch.setattr(kernels, "_known", {})
    weight, x = torch.randn(16, 32).bfloat16(), torch.randn(3, 32).bfloat16()
    projection = Projection(weight)
    with torch.inference_mode():
        assert sorted(calibrate([[projection]])[0]) == list(kernels.ROW_COUNTS)
        assert torch.allclose(projection(x), x @ weight.T, atol=0.1)


def test_without_a_choice_products_are_plain(monkeypatch):
    monkeypatch.setattr(kernels, "available", lambda weight: ["linear"])
    projection = Projection(torch.eye(3))
    assert calibrate([[projection]]) == [{}]
    assert torch.equal(projection(torch.ones(2, 3)), torch.ones(2, 3))


def test_the_winner_per_row_count_is_used():
    times = {("linear", n): 1.0 for n in kernels.ROW_COUNTS} | {("packed", n): 0.5 for n in kernels.ROW_COUNTS}
    times["packed", 1] = 2.0
    packed = dict.fromkeys((2, 4, 8, 16, 64), "packed")
    assert kernels._choose(times, ["linear", "packed"], 2) == {1: "linear", **packed}


def test_a_copy_that_gains_nothing_is_not_made():
    times = {("linear", n): 1.0 for n in kernels.ROW_COUNTS} | {("packed", n): 0.999 for n in kernels.ROW_COUNTS}
    times["packed", 1] = 1.001
    assert len(set(kernels._choose(times, ["linear", "packed"], 2).values())) == 1


def test_a_large_model_is_held_once():
    """With one copy allowed, the routine that is best over one row and many rows together is used throughout."""
    times = {("linear", n): 1.0 for n in kernels.ROW_COUNTS} | {("packed", n): 0.5 for n in kernels.ROW_COUNTS}
    times["packed", 1] = 1.2
    assert set(kernels._choose(times, ["linear", "packed"], 1).values()) == {"packed"}


def test_row_counts_between_two_measured_ones_follow_the_larger():
    projection = Projection(torch.eye(4))
    used = []
    routines = {1: "one", 4: "four"}
    for name in routines.values():
        kernels.ROUTINES[name] = lambda weight, bias, name=name: lambda x, residual: used.append((len(x), name))
    try:
        projection.use(routines)
        for n in (1, 2, 3, 4, 9):
            projection(torch.ones(n, 4))
    finally:
        for name in routines.values():
            del kernels.ROUTINES[name]
    assert used == [(1, "one"), (2, "four"), (3, "four"), (4, "four"), (9, "four")]


def test_weights_of_the_same_shapes_are_timed_once_and_what_is_known_can_be_handed_on(monkeypatch):
    monkeypatch.setattr(kernels, "SMALL_BYTES", 0)
    monkeypatch.setattr(kernels, "_known", {})
    timed = []

    def measure(groups, names, repeats):
        timed.append([tuple(group[0].weight.shape) for group in groups])
        return [{(name, n): 1.0 for name in names for n in kernels.ROW_COUNTS} for _ in groups]

    def calibrated(rows, *, bias=None):
        return calibrate([[Projection(torch.ones(rows, 4), bias)]])

    monkeypatch.setattr(kernels, "_measure", measure)
    first = calibrated(6)
    assert calibrated(6) == first
    assert timed == [[(6, 4)]]
    calibrated(8)
    calibrated(6, bias=torch.ones(6))
    assert timed == [[(6, 4)], [(8, 4)], [(6, 4)]]
    kept = kernels.known()
    monkeypatch.setattr(kernels, "_known", {})
    kernels.take_over(kept)
    calibrated(8)
    assert len(timed) == 3


def test_calibration_keeps_the_products(monkeypatch):
    monkeypatch.setattr(kernels, "SMALL_BYTES", 0)
    monkeypatch.setattr(kernels, "CALIBRATION_BYTES", 0x1000)
    monkeypatch.setattr(kernels, "_known", {})
    torch.manual_seed(0)
    weights = [torch.randn(6, 4) for _ in range(3)]
    group = [Projection(weight) for weight in weights]
    with torch.inference_mode():
        choice = calibrate([group])[0]
        x = torch.randn(3, 4)
        assert sorted(choice) == list(kernels.ROW_COUNTS)
        assert all(torch.allclose(p(x), x @ w.T, atol=1e-5) for p, w in zip(group, weights, strict=True))

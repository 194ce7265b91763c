"""Compiled distributions and draws: what torch and numpy say, token for token."""

from __future__ import annotations

from ctypes import CFUNCTYPE, c_int64, c_void_p

import pytest
import torch

from specviz.core import compiled, draws
from specviz.core.draws import Chooser, Noise, room_of, warp
from specviz.core.randomness import _pick_on_cpu, pick
from specviz.core.sampling import Sampling, most_probable, residual, transform, without
from specviz.trace.uniform_draws import stream, uniforms

pytestmark = pytest.mark.skipif(compiled.library(draws.SOURCE) is None, reason="there is no compiler here")
SIZES = (3, 16, 64, 65, 150, 4096)
"""less than a vector of numbers, whole ones, whole blocks of them, and something left over"""


def rows(size, count=4, seed=0):
    return torch.randn(count, size, generator=torch.Generator().manual_seed(seed)) * 3


def without_a_compiler(monkeypatch):
    monkeypatch.setattr(draws, "_library", lambda: None)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("temperature", [0.1, 0.8, 1.0, 2.0])
def test_a_distribution_is_the_softmax_of_logits_over_the_temperature(size, temperature):
    logits = rows(size)
    expected = (logits.double() / temperature).softmax(-1)
    torch.testing.assert_close(warp(logits, temperature).double(), expected, atol=1e-7, rtol=1e-5)


def test_every_row_is_by_itself_and_what_is_impossible_stays_so():
    logits = torch.tensor([[0.0, -torch.inf, 0.0], [5.0, 5.0, -200.0]])
    assert warp(logits, 0.8).tolist() == [[0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]


@pytest.mark.parametrize("sampling", [Sampling(0.7, top_k=5), Sampling(0.7, top_p=0.6), Sampling(1.3, 7, 0.9)])
def test_what_is_cut_off_is_cut_off_with_and_without_a_compiler(monkeypatch, sampling):
    logits = rows(150)
    cut = transform(logits, sampling)
    without_a_compiler(monkeypatch)
    torch.testing.assert_close(cut, transform(logits, sampling))


@pytest.mark.parametrize("size", SIZES)
def test_a_draw_is_that_of_the_plain_walk_along_cumulative_probabilities(size):
    for row in transform(rows(size), Sampling(0.8)):
        numbers = [step / 37 for step in range(37)] + [1 - 2**-53]
        assert [pick(row, u) for u in numbers] == [_pick_on_cpu(row, u) for u in numbers]


@pytest.mark.parametrize("size", SIZES)
def test_where_rounding_leaves_no_token_the_last_one_with_mass_is_drawn(size):
    row = torch.zeros(size)
    row[:2] = 0.5
    assert pick(row, 1.0) == _pick_on_cpu(row, 1.0) == 1


def test_a_rejection_of_a_target_that_is_the_draft_leaves_the_target():
    p = transform(rows(150, count=1)[0], Sampling(0.8))
    left, mass = residual(p, p)
    assert (mass, torch.equal(left, p)) == (0.0, True)


def test_what_a_rejection_leaves_is_the_same_with_and_without_a_compiler(monkeypatch):
    p, q = transform(rows(150, count=2), Sampling(0.8))
    left, mass = residual(p, q)
    without_a_compiler(monkeypatch)
    plain, plain_mass = residual(p, q)
    torch.testing.assert_close(left, plain)
    assert mass == pytest.approx(plain_mass)
    assert left[p <= q].count_nonzero() == 0


def test_what_a_rejected_point_mass_leaves_is_the_same_with_and_without_a_compiler(monkeypatch):
    p = transform(rows(150, count=1)[0], Sampling(0.8))
    left, mass = without(p, [7])
    without_a_compiler(monkeypatch)
    plain, plain_mass = without(p, [7])
    torch.testing.assert_close(left, plain)
    assert mass == pytest.approx(plain_mass)
    assert left[7] == 0.0


def test_a_point_mass_that_was_all_leaves_zeros():
    left, mass = without(torch.tensor([0.0, 1.0, 0.0]), [1])
    assert (left.tolist(), mass) == ([0.0, 0.0, 0.0], 0.0)


@pytest.mark.parametrize("size", SIZES)
def test_the_most_probable_token_of_each_row_is_the_first_of_equal_ones(size):
    logits = rows(size).round().clamp(max=2)
    assert most_probable(logits) == logits.numpy().argmax(-1).tolist()


def test_rows_that_lie_otherwise_are_left_to_torch():
    apart = rows(150).t()
    assert torch.equal(warp(apart, 0.8), (apart / 0.8).softmax(-1))
    assert warp(rows(150).double(), 0.8).dtype == torch.float64
    assert warp(rows(3).requires_grad_(), 0.8).requires_grad


def chosen(chooser, logits):
    """Row after row, as a compiled loop asks."""
    choose = CFUNCTYPE(c_int64, c_void_p, c_int64, c_int64, c_void_p)(chooser.function.value)
    how, size = chooser.how(logits.shape[1]), logits.shape[1]
    return [choose(row.data_ptr(), size, step, how) for step, row in enumerate(logits)]


@pytest.mark.parametrize("size", SIZES[:-1])
def test_a_compiled_loop_takes_the_most_probable_token_wherever_it_stands_and_the_lowest_of_equal_ones(size):
    alone = torch.eye(size)
    equal = alone + alone.flip(1)
    assert chosen(Chooser.of(size), alone) == list(range(size))
    assert chosen(Chooser.of(size), equal.clamp(max=1)) == [min(i, size - 1 - i) for i in range(size)]


def test_a_compiled_loop_draws_as_pick_does_and_keeps_what_it_drew_from():
    logits, u = rows(150), uniforms(2**64 - 1, "draft", 7, range(3, 7))
    chooser = Chooser.of(4, 0.8, Noise(stream(2**64 - 1, "draft"), 7, 3))
    tokens = chosen(chooser, logits)
    probs = warp(logits, 0.8)
    assert tokens == [pick(row, number) for row, number in zip(probs, u, strict=True)]
    assert torch.equal(chooser.room.whole, probs)
    assert chooser.probs() == [float(row[token]) for row, token in zip(probs, tokens, strict=True)]


def test_no_two_choosers_have_the_same_room():
    rooms = [room_of(2, 3) for _ in range(2 + draws.SPARE_BYTES // (4 * 2 * 3))]
    assert len({room.at for room in rooms}) == len(rooms), "while all are in use"


def test_where_there_is_no_compiler_nobody_chooses_for_a_compiled_loop(monkeypatch):
    assert Chooser.of(3) is not None
    without_a_compiler(monkeypatch)
    assert Chooser.of(3) is None

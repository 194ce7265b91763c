"""The sampling transform, the residual, and the random sources."""

import pytest
import torch

from specviz.core import draws, randomness
from specviz.core.randomness import SeededRandom, pick, uniform
from specviz.core.sampling import COLDEST, Sampling, largest_prob, most_probable, residual, transform, without
from specviz.core.transfer import Fetch
from specviz.errors import ModelError, OptionError
from tests.scripted_random import ScriptedRandom


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.fixture(params=["compiled", "numpy"])
def way(request, monkeypatch):
    """Of drawing on the processor."""
    if request.param == "numpy":
        monkeypatch.setattr(randomness, "picked", lambda probs, u: None)


def test_temperature_zero_is_a_point_mass_on_the_largest_logit_lowest_id_first():
    assert transform(torch.tensor([1.0, 3.0, 3.0]), Sampling(0.0)).tolist() == [0.0, 1.0, 0.0]


def test_temperature_divides_logits():
    hot = transform(tensor(0.0, 1.0), Sampling(2.0))
    assert hot.tolist() == pytest.approx([0.3775406688, 0.6224593312])


def test_top_k_keeps_the_k_most_probable():
    probs = transform(tensor(0.4, 0.1, 0.5).log(), Sampling(1.0, top_k=2))
    assert probs.tolist() == pytest.approx([4 / 9, 0.0, 5 / 9])


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [(0.5, [0.0, 0.0, 1.0]), (0.51, [4 / 9, 0.0, 5 / 9]), (0.91, [0.4, 0.1, 0.5]), (0.01, [0.0, 0.0, 1.0])],
)
def test_nucleus_is_the_smallest_set_that_reaches_top_p(top_p, expected):
    assert transform(tensor(0.4, 0.1, 0.5).log(), Sampling(1.0, top_p=top_p)).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("top_p", [0.05, 0.3, 0.49, 0.5, 0.9])
def test_whatever_mass_the_nucleus_holds_it_is_divided_by_it(top_p):
    """Ten equal tokens at 0.3: three or four stay, and add up to one, not to their share of the whole."""
    probs = transform(torch.zeros(10, dtype=torch.float64), Sampling(1.0, top_p=top_p))
    kept = probs[probs > 0]
    assert float(probs.sum()) == pytest.approx(1.0, abs=1e-12)
    assert kept.tolist() == pytest.approx([1 / len(kept)] * len(kept))


def test_of_equal_tokens_at_the_edge_of_the_nucleus_the_lowest_ids_stay():
    probs = transform(tensor(1.0, 1.0, 1.0, 1.0).log(), Sampling(1.0, top_p=0.5))
    assert probs.tolist() == [0.5, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("top_k", [1, 2, 3, 4, 5, 6])
def test_of_equal_tokens_at_the_edge_of_top_k_the_lowest_ids_stay(top_k, dtype):
    """In every row of a pass, whatever stands in the others."""
    logits = torch.tensor([[1, 3, 0, 3, 2, 3, 2], [2, 2, 2, 2, 2, 2, 2], [0, 1, 2, 3, 4, 5, 6]], dtype=dtype)
    ordered = logits.sort(dim=-1, descending=True, stable=True).indices[:, :top_k]
    kept = [row.nonzero().flatten().tolist() for row in transform(logits, Sampling(1.0, top_k=top_k))]
    assert kept == [sorted(row.tolist()) for row in ordered]


def test_a_single_token_kept_is_the_one_of_temperature_zero():
    logits = torch.tensor([[1.0, 3.0, 0.0, 3.0, 2.0, 3.0, 2.0], [2.0] * 7])
    assert torch.equal(transform(logits, Sampling(0.9, top_k=1)), transform(logits, Sampling(0.0)))


def test_as_many_tokens_as_have_mass_are_kept_where_that_is_less_than_top_k():
    logits = torch.tensor([0.0, -torch.inf, 0.0, -torch.inf, -torch.inf])
    assert transform(logits, Sampling(1.0, top_k=3)).tolist() == [0.5, 0.0, 0.5, 0.0, 0.0]


def test_rows_are_transformed_one_by_one():
    rows = torch.stack([tensor(0.4, 0.1, 0.5).log(), tensor(0.9, 0.05, 0.05).log()])
    probs = transform(rows, Sampling(0.7, top_p=0.8))
    assert torch.equal(probs[0], transform(rows[0], Sampling(0.7, top_p=0.8)))
    assert torch.equal(probs[1], transform(rows[1], Sampling(0.7, top_p=0.8)))


def test_a_draw_peeked_at_is_the_draw_and_moves_with_its_distribution():
    source, key = SeededRandom(5), ("target", 7, 0)
    u = uniform(5, key)
    rows = [tensor(u - 0.1, 0.2, 0.9 - u), tensor(u + 0.1, 0.1, 0.8 - u)]
    assert [source.peek(row, key) for row in rows] == [1, 0]
    assert source.draw(rows[0], key).token == 1


def test_the_lowest_temperature_shares_between_equal_tokens_with_and_without_a_compiler(monkeypatch):
    logits, coldest = torch.tensor([-300.0, 300.0, 300.0]), Sampling(COLDEST)
    assert transform(logits, coldest).tolist() == [0.0, 0.5, 0.5]
    monkeypatch.setattr(draws, "_library", lambda: None)
    assert transform(logits, coldest).tolist() == [0.0, 0.5, 0.5]


def test_half_precision_logits_become_single_precision_probabilities():
    assert transform(torch.zeros(2, dtype=torch.bfloat16), Sampling(1.0)).dtype == torch.float32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"temperature": -0.1}, "temperature is -0.1"),
        ({"temperature": 11}, "temperature is 11"),
        ({"temperature": 1e-31}, "temperature is 1e-31, by which no logit can be divided"),
        ({"top_k": -1}, "top-k is -1"),
        ({"top_p": 0.0}, "top-p is 0.0"),
        ({"top_p": 1.5}, "top-p is 1.5"),
    ],
)
def test_impossible_sampling_is_refused_with_its_value(changes, message):
    with pytest.raises(OptionError, match=message):
        Sampling(**changes)


def test_residual_is_what_the_draft_leaves_of_the_target_normalised():
    left, mass = residual(tensor(0.5, 0.3, 0.2), tensor(0.2, 0.2, 0.6))
    assert left.tolist() == pytest.approx([0.75, 0.25, 0.0])
    assert mass == pytest.approx(0.4)


def test_equal_distributions_leave_the_target_itself_and_no_mass():
    left, mass = residual(tensor(0.5, 0.5), tensor(0.5, 0.5))
    assert left.tolist() == [0.5, 0.5]
    assert mass == 0.0


def test_removing_drawn_tokens_renormalises_the_rest():
    left, mass = without(tensor(0.5, 0.3, 0.2), [0])
    assert left.tolist() == pytest.approx([0.0, 0.6, 0.4])
    assert mass == pytest.approx(0.5)


def test_removing_everything_leaves_no_mass():
    left, mass = without(tensor(0.5, 0.5), [0, 1])
    assert (left.tolist(), mass) == ([0.0, 0.0], 0.0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("u", "token"), [(0.0, 1), (0.2499, 1), (0.25, 3), (0.999, 3), (1 - 2**-53, 3)])
def test_picking_inverts_the_cumulative_distribution_and_skips_the_impossible(u, token):
    assert pick(torch.tensor([0.0, 0.25, 0.0, 0.75, 0.0]), u) == token


@pytest.mark.usefixtures("way")
def test_rounding_at_the_upper_end_never_gives_a_token_without_mass():
    probs = torch.full((1000,), 1e-3)
    probs[990:] = 0.0
    assert pick(probs, 1 - 2**-53) == 989


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_where_nothing_has_mass_no_token_is_drawn_here_or_on_a_device(value):
    row = torch.full((150,), value)
    with pytest.raises(ModelError, match="no numbers"):
        pick(row, 0.5)
    for purpose in ("target", "race"):
        drawn = SeededRandom(0).peek_each(Fetch(), torch.stack([row, row]), [(purpose, 3, 0), (purpose, 4, 0)])
        with pytest.raises(ModelError, match="no numbers"):
            drawn()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("size", [63, 64, 65, 128, 150])
def test_picking_from_many_tokens_is_the_same_as_walking_along_them(size):
    """Quarters of the mass on the first and last tokens of the blocks that are added up together."""
    probs = torch.zeros(size)
    places = sorted({0, min(63, size - 2), min(64, size - 1), size - 1})
    probs[places] = 1 / len(places)
    picked = [pick(probs, (number + part) / len(places)) for number in range(len(places)) for part in (0.0, 0.5)]
    assert picked == [place for place in places for _ in range(2)]


def test_noise_belongs_to_its_key_and_seed():
    assert uniform(7, ("accept", 3, 1)) == uniform(7, ("accept", 3, 1))
    others = [(8, ("accept", 3, 1)), (7, ("target", 3, 1)), (7, ("accept", 4, 1)), (7, ("accept", 3, 2))]
    assert len({uniform(7, ("accept", 3, 1)), *(uniform(*other) for other in others)}) == 5


def test_noise_is_the_same_on_every_machine():
    assert uniform(7, ("target", 12, 0)) == 0.7067301720873567


def test_noise_is_spread_evenly():
    """20,000 draws in 20 cells: chi-square below 43.8, exceeded by chance once in a thousand seeds."""
    counts = [0] * 20
    for i in range(20_000):
        counts[int(uniform(1, ("test", i, 0)) * 20)] += 1
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 43.8


def test_a_seeded_source_accepts_exactly_when_u_is_below():
    source, key = SeededRandom(7), ("accept", 1, 1)
    u = uniform(7, key)
    assert source.accept(u, key) == (False, u)
    assert source.accept(u + 1e-12, key) == (True, u)
    assert source.accept(0.0, key).accepted is False
    assert source.accept(1.0, key).accepted is True


def test_a_script_plays_its_outcomes_and_names_the_decision_it_lacks():
    script = ScriptedRandom([True, 2])
    assert script.accept(0.1, ("accept", 1, 1)).accepted
    assert script.draw(tensor(1.0), ("target", 1, 0)).token == 2
    with pytest.raises(ValueError, match="no outcome left for"):
        script.accept(0.5, ("accept", 2, 1))
    with pytest.raises(ValueError, match="needs True or False"):
        ScriptedRandom([1]).accept(0.5, ("accept", 2, 1))
    with pytest.raises(ValueError, match="needs a token id"):
        ScriptedRandom([True]).draw(tensor(1.0), ("target", 2, 0))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_the_most_probable_token_of_each_row_is_the_lowest_of_equals(dtype):
    rows = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0], [-1.0, -3.0, -1.0]], dtype=dtype)
    assert most_probable(rows) == [1, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_largest_probability_is_that_of_the_softmax_however_large_the_logits_are(dtype):
    """1, 5 and 2 of 8; a softmax does not see what is added to all."""
    assert largest_prob(torch.tensor([1.0, 5.0, 2.0]).log().to(dtype)) == pytest.approx(5 / 8, abs=2e-3)
    assert largest_prob(torch.tensor([512.0, 512.0], dtype=dtype)) == 0.5


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_the_device_draws_and_cuts_as_the_processor_does():
    torch.manual_seed(0)
    logits = torch.randn(4, 1000) * 2
    for sampling in (Sampling(0.8, top_p=0.9), Sampling(1.0, top_k=50)):
        here, there = transform(logits, sampling), transform(logits.cuda(), sampling)
        torch.testing.assert_close(here, there.cpu(), atol=1e-6, rtol=0.0)
        assert [pick(row, 0.37) for row in here] == [pick(row, 0.37) for row in there]

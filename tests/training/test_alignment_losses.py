"""The alignment losses: values by hand, gradients against finite differences, and what TVD++ is when expectations are
exact."""

from collections.abc import Callable
from math import log

import pytest
import torch
from torch import Tensor

from specviz.training.alignment import align
from specviz.training.alignment.align import LOSSES, acceptance, policy_term

P = torch.tensor([[4, 2, 2, 0], [1, 1, 2, 4]], dtype=torch.float64) / 8
Q = torch.tensor([[2, 2, 3, 1], [1, 5, 1, 1]], dtype=torch.float64) / 8
ALPHA = torch.tensor([6, 4], dtype=torch.float64) / 8  # 2+2+2+0 and 1+1+1+1 eighths
POSITIONS, VOCABULARY = 5, 7


def logits(seed: int = 0) -> tuple[Tensor, Tensor]:
    """p [5, 7] and the drafter's logits [5, 7], float64."""
    torch.manual_seed(seed)
    p = torch.randn(POSITIONS, VOCABULARY, dtype=torch.float64).softmax(-1)
    return p, torch.randn(POSITIONS, VOCABULARY, dtype=torch.float64)


def gradient(function: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """By autograd, with respect to logits."""
    at = at.clone().requires_grad_()
    function(at).backward()
    assert at.grad is not None
    return at.grad


def differences(function: Callable[[Tensor], Tensor], at: Tensor, step: float = 1e-6) -> Tensor:
    """The same by central differences."""
    found = torch.zeros_like(at)
    for index in range(at.numel()):
        change = torch.zeros_like(at).flatten()
        change[index] = step
        change = change.view_as(at)
        found.view(-1)[index] = (function(at + change) - function(at - change)) / (2 * step)
    return found


def of_logits(name: str, p: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda at: LOSSES[name](p, at.log_softmax(-1))


def test_values_by_hand() -> None:
    log_q = Q.log()
    assert torch.allclose(acceptance(P, log_q), ALPHA)
    expected = {
        "ce-hard": (log(4) + log(8)) / 2,  # the most likely tokens have q = 2/8 and 1/8
        "tvd": 1 - 5 / 8,
        "nla": -(log(6 / 8) + log(4 / 8)) / 2,
        "fkl": (0.5 * log(2) + 0.25 * log(2 / 3) + (1 / 8) * log(1 / 5) + 0.25 * log(2) + 0.5 * log(4)) / 2,
    }
    for name, value in expected.items():
        assert float(LOSSES[name](P, log_q)) == pytest.approx(value), name
    second = float(LOSSES["rkl"](P[1:], log_q[1:]))  # the first has a token that only q knows
    assert second == pytest.approx((5 * log(5) - log(2) - log(4)) / 8)
    share = 2.718281828459045 ** (-3 * 5 / 8)
    assert float(LOSSES["lk-hybrid"](P, log_q)) == pytest.approx(share * expected["fkl"] + (1 - share) * 3 / 8)


def test_jensen_shannon_is_symmetric_and_log_2_where_nothing_overlaps() -> None:
    one = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    other = torch.tensor([[1e-300, 1.0]], dtype=torch.float64)
    assert float(LOSSES["jsd"](one, other.log())) == pytest.approx(log(2))
    p, at = logits()
    q = at.softmax(-1)
    assert float(LOSSES["jsd"](p, q.log())) == pytest.approx(float(LOSSES["jsd"](q, p.log())))


@pytest.mark.parametrize("name", ["ce-hard", "fkl", "rkl", "jsd", "tvd", "nla"])
def test_gradients_equal_finite_differences(name: str) -> None:
    p, at = logits()
    function = of_logits(name, p)
    torch.testing.assert_close(gradient(function, at), differences(function, at), rtol=1e-6, atol=1e-8)


def test_the_hybrid_s_gradient_holds_its_share_constant() -> None:
    p, at = logits()
    share = torch.exp(-3 * acceptance(p, at.log_softmax(-1)).mean())

    def held(at: Tensor) -> Tensor:
        return share * of_logits("fkl", p)(at) + (1 - share) * of_logits("tvd", p)(at)

    torch.testing.assert_close(gradient(of_logits("lk-hybrid", p), at), differences(held, at), rtol=1e-6, atol=1e-8)


def deviation(mean: Tensor) -> Tensor:
    return (mean * (1 - mean)).sqrt()


def reward_means(p: Tensor, at: Tensor) -> Tensor:
    """Per position: the probability under q of a token that p likes more."""
    q = at.softmax(-1)
    return (q * (p > q)).sum(-1)


def test_per_position_tvdpp_is_tvd_with_every_position_over_its_own_deviation() -> None:
    p, at = logits()
    weights = 1 / deviation(reward_means(p, at))

    def held(at: Tensor) -> Tensor:
        return (weights * (1 - acceptance(p, at.log_softmax(-1)))).mean()

    found = gradient(of_logits("tvdpp-position", p), at)
    torch.testing.assert_close(found, differences(held, at), rtol=1e-6, atol=1e-8)


def test_sampled_tvdpp_is_the_policy_gradient_of_its_samples() -> None:
    p, at = logits()
    torch.manual_seed(3)
    found = gradient(of_logits("tvdpp-sampled", p), at)
    torch.manual_seed(3)
    q = at.softmax(-1)
    drawn = torch.multinomial(q, align.SAMPLES, replacement=True)
    reward = (p > q).double().gather(-1, drawn)
    advantage = (reward - reward.mean()) / reward.std(correction=0)

    def held(at: Tensor) -> Tensor:
        return -(advantage * at.log_softmax(-1).gather(-1, drawn)).mean()

    torch.testing.assert_close(found, differences(held, at), rtol=1e-6, atol=1e-8)


def test_a_global_baseline_changes_nothing_when_expectations_are_exact() -> None:
    """TVD's gradient, whatever constant is taken from the reward: sum_v q grad log q = 0."""
    p, at = logits()
    wanted = gradient(of_logits("tvd", p), at)
    reward = (p > at.softmax(-1)).double()
    for baseline in (0.0, float(reward_means(p, at).mean()), -3.0):

        def policy(at: Tensor, baseline: float = baseline) -> Tensor:
            log_q = at.log_softmax(-1)
            return policy_term(log_q.detach().exp(), log_q, reward - baseline)

        torch.testing.assert_close(gradient(policy, at), wanted, rtol=1e-12, atol=1e-14)


def test_global_tvdpp_is_tvd_at_another_learning_rate() -> None:
    for seed in range(5):
        p, at = logits(seed)
        scale = deviation(reward_means(p, at).mean())
        found, wanted = (gradient(of_logits(name, p), at) for name in ("tvdpp-global", "tvd"))
        torch.testing.assert_close(found * scale, wanted, rtol=1e-12, atol=1e-14)
        assert scale < 0.51, "so the factor 1 / sigma is at least about 2"


def test_per_position_tvdpp_turns_the_gradient() -> None:
    p, at = logits()
    found, wanted = (gradient(of_logits(name, p), at).flatten() for name in ("tvdpp-position", "tvd"))
    assert float(torch.cosine_similarity(found, wanted, dim=0)) < 0.999


def test_samples_with_a_baseline_vary_less_and_mean_the_same() -> None:
    """Where most rewards are alike; 2000 draws of one token for each position, by hand and with the baseline."""
    p = torch.tensor([[0.5, 0.3, 0.15, 0.05]], dtype=torch.float64)
    log_q = torch.tensor([[0.45, 0.25, 0.1, 0.2]], dtype=torch.float64).log()
    q, reward = log_q.exp(), (p > log_q.exp()).double()
    scores = torch.eye(4, dtype=torch.float64) - q  # grad of log q(x) for logits, a row for each x
    mean = (q * reward).sum()

    def moments(baseline: float) -> tuple[Tensor, float]:
        each = (reward[0] - baseline)[:, None] * scores
        middle = (q[0, :, None] * each).sum(0)
        return middle, float((q[0] * (each - middle).square().sum(-1)).sum())

    (plain, wide), (based, narrow) = moments(0.0), moments(float(mean))
    torch.testing.assert_close(plain, based)
    assert narrow < wide


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_every_loss_is_zero_and_least_at_equality(name: str) -> None:
    """Of the hard loss: where q is sure of p's most likely token."""
    p, _ = logits()
    best = p.log() if name != "ce-hard" else 40.0 * torch.nn.functional.one_hot(p.argmax(-1), VOCABULARY).double()
    assert float(of_logits(name, p)(best)) == pytest.approx(0, abs=1e-12)
    for seed in range(20):
        torch.manual_seed(seed)
        away = float(of_logits(name, p)(best + torch.randn_like(best)))
        assert away > 1e-3 or (name == "ce-hard" and away >= 0)


@pytest.mark.parametrize("name", ["fkl", "rkl", "jsd"])
def test_smooth_losses_rest_at_equality(name: str) -> None:
    """Those around |p - q| have a kink there."""
    p, _ = logits()
    assert float(gradient(of_logits(name, p), p.log()).abs().max()) < 1e-12


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_distributions_without_overlap_and_with_zeros_stay_finite(name: str) -> None:
    p = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    at = torch.tensor([[-90.0, 0.0, 0.0], [0.0, -200.0, 0.0]], requires_grad=True)
    LOSSES[name](p, at.log_softmax(-1)).backward()
    assert at.grad is not None
    assert torch.isfinite(at.grad).all()


def test_tvd_is_one_minus_alpha() -> None:
    for seed in range(5):
        p, at = logits(seed)
        log_q = at.log_softmax(-1)
        assert float(LOSSES["tvd"](p, log_q)) == pytest.approx(1 - float(acceptance(p, log_q).mean()), abs=1e-15)


def test_tvd_is_one_minus_alpha_of_the_verifier() -> None:
    """The same alpha by enumeration of what rejection sampling does: draw x from q, accept with min(1, p / q)."""
    accepted = sum(float(Q[0, x]) * min(1.0, float(P[0, x] / Q[0, x])) for x in range(P.shape[1]) if float(Q[0, x]) > 0)
    assert float(LOSSES["tvd"](P[:1], Q[:1].log())) == pytest.approx(1 - accepted)


def test_two_losses_cannot_share_a_name() -> None:
    with pytest.raises(AssertionError, match="two losses are called 'fkl'"):
        align.loss("fkl")(align.fkl)

"""The losses that align a drafter's distribution q with its target's p: pure functions, exact over the vocabulary.

Place in the flow: the objective of `drafter-align` calls one of them per step. Every loss takes p [positions, V],
which is constant, and log q [positions, V], which is differentiated, and returns the mean over the positions, a scalar.
To add one, write the function under `@loss("name")`: the option, the study and the tests find it in `LOSSES`.

Two notations: alpha = sum_v min(p, q) is the acceptance probability of one position (Leviathan et al. 2023, 2211.17192,
corollary 3.6); sg[x] is x held constant.
"""

from collections.abc import Callable
from math import log

import torch
from torch import Tensor

Loss = Callable[[Tensor, Tensor], Tensor]

LOSSES: dict[str, Loss] = {}
"""name → loss; filled by `loss`"""
SKEW = 0.5
"""beta of the Jensen-Shannon divergence"""
KL_DECAY = 3.0
"""how fast `lk-hybrid` leaves the KL as alpha rises"""
SAMPLES = 16
"""tokens drawn from q at each position for `tvdpp-sampled`"""
SMALLEST = 1e-6
"""below it a standard deviation counts as this, so that p = q has no gradient instead of 0 / 0"""


def loss(name: str) -> Callable[[Loss], Loss]:
    """Puts a loss under its name."""

    def decorate(function: Loss) -> Loss:
        assert name not in LOSSES, f"two losses are called '{name}'"
        LOSSES[name] = function
        return function

    return decorate


def acceptance(p: Tensor, log_q: Tensor) -> Tensor:
    """alpha of every position: sum_v min(p, q). [positions, V] -> [positions]."""
    return torch.minimum(p, log_q.exp()).sum(-1)


@loss("ce-hard")
def ce_hard(p: Tensor, log_q: Tensor) -> Tensor:
    """-log q(argmax p): cross entropy on the target's most likely token, the only one that greedy decoding accepts."""
    return -log_q.gather(-1, p.argmax(-1, keepdim=True)).mean()


@loss("fkl")
def fkl(p: Tensor, log_q: Tensor) -> Tensor:
    """Forward KL, sum_v p log(p / q): q must cover all that p may say (DistillSpec, Zhou et al. 2023, 2310.08461)."""
    return _kl(p, log_q).mean()


@loss("rkl")
def rkl(p: Tensor, log_q: Tensor) -> Tensor:
    """Reverse KL, sum_v q log(q / p): q keeps to what p is sure of (DistillSpec). p is floored at the smallest number
    that its dtype tells from zero, or one token that p excludes would make it infinite."""
    floor = torch.finfo(p.dtype).tiny
    return (log_q.exp() * (log_q - p.clamp_min(floor).log())).sum(-1).mean()


@loss("jsd")
def jsd(p: Tensor, log_q: Tensor) -> Tensor:
    """Jensen-Shannon, beta KL(p | m) + (1 - beta) KL(q | m) with m = beta p + (1 - beta) q and beta = 1/2: bounded by
    log 2 (generalised JSD of DistillSpec; Agarwal et al. 2023, 2306.13649)."""
    q = log_q.exp()
    # log m through a sum of logarithms: where p and q are both far below 1 their mean may vanish, their logs do not.
    log_m = torch.logaddexp(_log(p) + log(SKEW), log_q + log(1 - SKEW))
    return (SKEW * _kl(p, log_m) + (1 - SKEW) * (q * (log_q - log_m)).sum(-1)).mean()


@loss("tvd")
def tvd(p: Tensor, log_q: Tensor) -> Tensor:
    """Total variation distance, sum_v |p - q| / 2 = 1 - alpha: the rejection rate itself (DistillSpec). Its gradient
    vanishes where p and q hardly overlap."""
    return (p - log_q.exp()).abs().sum(-1).mean() / 2


@loss("tvdpp-global")
def tvdpp_global(p: Tensor, log_q: Tensor) -> Tensor:
    """TVD++ with exact expectations, one mean and deviation for all positions (Goel et al. 2024, 2403.00858).

    The drafter is the policy, x ~ q an action, r(x) = 1[p(x) > q(x)] its reward: grad TVD = -E_q[r grad log q].
    TVD++ rewards (r - mu) / sigma instead. With E_q exact, mu has no effect, for sum_v q grad log q = 0, and sigma is a
    learning rate: the gradient is that of `tvd` times 1 / sigma.
    """
    q, reward = _policy(p, log_q)
    mean = (q * reward).sum(-1).mean()  # scalar
    deviation = (mean * (1 - mean)).sqrt().clamp_min(SMALLEST)  # of a reward that is 0 or 1
    return _with_gradient_of(policy_term(q, log_q, (reward - mean) / deviation), tvd(p, log_q))


@loss("tvdpp-position")
def tvdpp_position(p: Tensor, log_q: Tensor) -> Tensor:
    """TVD++ with exact expectations and a mean and deviation of its own at every position (our reading of 2403.00858):
    each position's gradient of TVD times 1 / sigma there, which weights positions anew."""
    q, reward = _policy(p, log_q)
    mean = (q * reward).sum(-1, keepdim=True)  # [positions, 1]
    deviation = (mean * (1 - mean)).sqrt().clamp_min(SMALLEST)
    return _with_gradient_of(policy_term(q, log_q, (reward - mean) / deviation), tvd(p, log_q))


@loss("tvdpp-sampled")
def tvdpp_sampled(p: Tensor, log_q: Tensor) -> Tensor:
    """TVD++ from tokens x ~ q drawn with torch's generator, mean and deviation over all of them (2403.00858): only here
    a baseline does its work, lower variance."""
    q, reward = _policy(p, log_q)
    drawn = torch.multinomial(q, SAMPLES, replacement=True)  # [positions, SAMPLES] tokens
    earned = reward.gather(-1, drawn)  # [positions, SAMPLES]
    advantage = (earned - earned.mean()) / earned.std(correction=0).clamp_min(SMALLEST)
    return _with_gradient_of(-(advantage * log_q.gather(-1, drawn)).mean(), tvd(p, log_q))


@loss("nla")
def nla(p: Tensor, log_q: Tensor) -> Tensor:
    """Negative log acceptance, -log sum_v min(p, q): the gradient of TVD times 1 / alpha, so that a position of little
    overlap learns too (the `nla` of the speculators library)."""
    floor = torch.finfo(p.dtype).tiny
    return -acceptance(p, log_q).clamp_min(floor).log().mean()


@loss("lk-hybrid")
def lk_hybrid(p: Tensor, log_q: Tensor) -> Tensor:
    """lambda FKL + (1 - lambda) TVD, lambda = exp(-3 sg[alpha]) with the mean alpha of all positions: KL while the two
    are apart, acceptance itself once they are close (LK losses, eta = 3)."""
    share = torch.exp(-KL_DECAY * acceptance(p, log_q).mean().detach())
    return share * fkl(p, log_q) + (1 - share) * tvd(p, log_q)


def policy_term(q: Tensor, log_q: Tensor, advantage: Tensor) -> Tensor:
    """-E_{x~q}[advantage(x) log q(x)], an exact expectation with q in it constant: only its gradient means anything."""
    return -(q * advantage * log_q).sum(-1).mean()


def _policy(p: Tensor, log_q: Tensor) -> tuple[Tensor, Tensor]:
    """(q, reward of every token), both constant."""
    q = log_q.detach().exp()
    return q, (p > q).to(p.dtype)


def _with_gradient_of(term: Tensor, value: Tensor) -> Tensor:
    """A number that reads as `value` and has the gradient of `term`."""
    return term - term.detach() + value.detach()


def _kl(p: Tensor, log_q: Tensor) -> Tensor:
    """sum_v p log(p / q) of every position; tokens with p = 0 add nothing."""
    each: Tensor = torch.special.xlogy(p, p) - p * log_q
    return each.sum(-1)


def _log(p: Tensor) -> Tensor:
    return p.clamp_min(torch.finfo(p.dtype).tiny).log()

"""What follows from a study of depth against width: modelled throughput of every network at every γ, what a deeper one
would have to match, and whether latency or language modelling goes with throughput (Yan et al., 2402.01528).

The model of throughput by a drafter's step time (2402.01528):

    T(γ) = (matched + 1) / (γ · t_d + t_v(γ + 1))        tokens per second of one sequence

*matched*: drafted tokens per round that the target agrees with (the paper's TAR; not the acceptance probability α); the
1 is the target's own token. t_d: a step of the drafter, t_v(n): the target's pass over n rows, in seconds. Drawing,
bookkeeping and the prompt's pass are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import StatisticsError, correlation

from specviz.errors import OptionError
from specviz.protocol.sweeps.intervals import Estimate
from specviz.studies.depth_width.networks import DepthWidths, Network

STRONG = 0.7
"""from here on a rank correlation is called strong; below half, weak"""


@dataclass(frozen=True, slots=True)
class Modelled:
    """One network at one γ."""

    network: Network
    gamma: int
    matched: Estimate
    tokens_per_s: Estimate
    """the interval is that of the matched tokens; times stand at their medians"""
    speedup: float
    """over the target's own pass over one token"""
    share: float
    """of the round spent drafting"""
    needed: float
    """matched tokens with which it would be as fast as the shallowest of its family"""


@dataclass(frozen=True, slots=True)
class Correlations:
    """Over all networks, each at one γ or at its best; None where it has no value."""

    step: float | None
    """of throughput with the time of a drafting step"""
    perplexity: float | None
    """of throughput with perplexity: near -1 if the better language model were the faster drafter"""
    depth: float | None
    """of perplexity with layers: above 0 where deeper networks are the poorer models"""


def modelled(study: DepthWidths, network: Network, gamma: int) -> Modelled:
    """Raises OptionError for a γ that was not measured."""
    if gamma not in study.gammas:
        raise OptionError(f"γ = {gamma} was not measured; choose one of 1 to {study.gammas[-1]}.")
    step, verify, plain = _seconds(study, network, gamma)
    shallow = study.family(network.family)[0]
    matched = network.matched[gamma - 1]
    speeds = Estimate(*(throughput(one, gamma, step, verify) for one in matched))
    own = shallow.step.median_ms / 1000
    return Modelled(
        network,
        gamma,
        matched,
        speeds,
        speeds.value * plain,
        drafting_share(gamma, step, verify),
        matched_to_break_even(shallow.matched[gamma - 1].value, gamma, own, step, verify),
    )


def best(study: DepthWidths, network: Network) -> Modelled:
    """At the γ with the most throughput, the shortest of equals."""
    return max((modelled(study, network, gamma) for gamma in study.gammas), key=lambda one: one.tokens_per_s.value)


def correlations(found: Sequence[Modelled]) -> Correlations:
    """Of networks of all families, and of one set or both, together; one that is in both families counts once."""
    once = list({(one.network.name, one.network.perplexity): one for one in found}.values())
    speeds = [one.tokens_per_s.value for one in once]
    perplexities = [one.network.perplexity for one in once]
    return Correlations(
        rank_correlation([one.network.step.median_ms for one in once], speeds),
        rank_correlation(perplexities, speeds),
        rank_correlation([float(one.network.layers) for one in once], perplexities),
    )


def by_set(study: DepthWidths) -> dict[str, list[Modelled]]:
    """Name of a set → its networks, each at its best γ."""
    return {name: [best(own, network) for network in own.networks] for name, own in study.sets().items()}


def finding(study: DepthWidths) -> list[str]:
    """Whether the paper's finding shows in the first set, in sentences: each family at its networks' best γ, then what
    throughput goes with."""
    found = [best(study, network) for network in study.networks]
    families = _families(found)
    return [*(_of_family(family) for family in families), f"{_verdict(families, study.tokens)} {_gain(found)}"]


def together(study: DepthWidths) -> str:
    """The same of both sets as one, and whether of two networks of one shape, whose steps take equally long, the better
    language model is the faster drafter; nothing where there is one set."""
    sets = by_set(study)
    if len(sets) < 2:
        return ""
    families = [family for found in sets.values() for family in _families(found)]
    count = len({one.network.name for found in sets.values() for one in found})
    each = [(name, correlations(found).perplexity) for name, found in sets.items()]
    alone = ", ".join(f"{name} {seen:+.2f}" for name, seen in each if seen is not None)
    return (
        f"Both sets together, {2 * count} networks: {_verdict(families, study.tokens)} With perplexity, each set "
        f"alone: {alone}. {_same_shape(*sets.values())}"
    )


def _same_shape(first: Sequence[Modelled], second: Sequence[Modelled]) -> str:
    """Networks of one shape side by side, in a sentence. Both in the same order."""
    pairs = list({one.network.name: (one, other) for one, other in zip(first, second, strict=True)}.values())
    agree = sum(
        (one.tokens_per_s.value - other.tokens_per_s.value) * (other.network.perplexity - one.network.perplexity) > 0
        for one, other in pairs
    )
    inside = sum(_inside(one, other) and _inside(other, one) for one, other in pairs)
    most = max(_ratio([one, other]) for one, other in pairs)
    depth = max(_ratio([family[0], family[-1]]) for found in (first, second) for family in _families(found))
    return (
        f"Of {len(pairs)} shapes, each trained twice and with the same step time, the better language model is the "
        f"faster drafter in {agree}; in {inside} each is within the other's 95 % interval over prompts. What it learnt "
        f"changes the throughput of a shape by at most {most - 1:.0%}, depth that of a family's shallowest and deepest "
        f"by up to {depth - 1:.0%}."
    )


def _inside(one: Modelled, other: Modelled) -> bool:
    """Whether the throughput of one is in the interval of the other's."""
    return other.tokens_per_s.low <= one.tokens_per_s.value <= other.tokens_per_s.high


def _ratio(found: Sequence[Modelled]) -> float:
    """Of the fastest to the slowest."""
    speeds = [one.tokens_per_s.value for one in found]
    return max(speeds) / min(speeds)


def _of_family(found: Sequence[Modelled]) -> str:
    first, last = found[0], found[-1]
    fastest = max(found, key=lambda one: one.tokens_per_s.value)
    slower = last.network.step.median_ms / first.network.step.median_ms
    matched = last.network.matched[0].value / first.network.matched[0].value if first.network.matched[0].value else 0.0
    return (
        f"Family {first.network.family}: a step of {last.network.layers} layers takes {slower:.1f} times as long as "
        f"one of {first.network.layers} and matches {matched:.2f} times as many tokens at γ = 1; modelled throughput "
        f"at each network's best γ is highest with {fastest.network.layers} layer{'s' * (fastest.network.layers > 1)}, "
        f"{fastest.tokens_per_s.value:.0f} tokens/s ({fastest.speedup:.2f} times plain decoding), and "
        f"{last.tokens_per_s.value:.0f} with {last.network.layers}."
    )


def _verdict(families: Sequence[Sequence[Modelled]], tokens: int) -> str:
    """From the correlations alone. `tokens`: that every network learnt from."""
    seen = correlations([one for family in families for one in family])
    if seen.step is None or seen.perplexity is None or seen.depth is None:
        return "Too few networks differ to say what throughput goes with."
    shallow = all(_shallow_wins(family) for family in families)
    quick = -seen.step >= STRONG
    latency = shallow and quick
    numbers = (
        f"Throughput's rank correlation is {seen.step:+.2f} with the drafter's step time and {seen.perplexity:+.2f} "
        "with its perplexity"
    )
    if latency and abs(seen.perplexity) < 0.5:
        return f"The paper's finding shows here: latency decides, language modelling hardly. {numbers}."
    if latency and seen.perplexity < 0 and seen.depth >= 0.5:
        return (
            f"The paper's finding shows here in part: latency decides, and shallow networks win. {numbers}: but after "
            f"{tokens:,} tokens the deeper networks are also the poorer language models ({seen.depth:+.2f} "
            "between layers and perplexity), so that the weak correlation with quality cannot be seen."
        )
    if latency:
        return (
            f"The paper's finding shows here in part: latency decides, and shallow networks win. {numbers}, which is "
            "no weak one."
        )
    if quick:
        return (
            f"The paper's finding shows here in part: latency decides, but depth does not decide latency. {numbers}; "
            "of a family at least, the fastest network is not in its shallower half."
        )
    return f"The paper's finding does not show here: latency does not decide. {numbers}."


def _gain(found: Sequence[Modelled]) -> str:
    """How far drafting matters at all."""
    faster = sum(one.speedup > 1.0 for one in found)
    shares = [one.share for one in found]
    return (
        f"Networks modelled faster than plain decoding at their best γ: {faster} of {len(found)}; drafting takes "
        f"{min(shares):.0%} to {max(shares):.0%} of the round."
    )


def _shallow_wins(found: Sequence[Modelled]) -> bool:
    """Whether the fastest of a family is in its shallower half."""
    fastest = max(found, key=lambda one: one.tokens_per_s.value)
    return found.index(fastest) < len(found) / 2


def _families(found: Sequence[Modelled]) -> list[list[Modelled]]:
    """Of one set."""
    return [list(own) for _, own in groupby(found, lambda one: one.network.family)]


def _seconds(study: DepthWidths, network: Network, gamma: int) -> tuple[float, float, float]:
    """Of a drafting step, of the target's pass over the draft, and over one token."""
    return (network.step.median_ms / 1000, study.passes[gamma + 1].median_ms / 1000, study.passes[1].median_ms / 1000)


def throughput(matched: float, gamma: int, draft_s: float, verify_s: float) -> float:
    """T(γ), the target's own token counted.

    >>> throughput(2.0, 4, 0.25, 0.5)
    2.0
    """
    _check(gamma, draft_s, verify_s)
    return (matched + 1.0) / (gamma * draft_s + verify_s)


def drafting_share(gamma: int, draft_s: float, verify_s: float) -> float:
    """Share of a round spent drafting, in [0, 1): the elasticity of throughput to the drafter's latency, but for the
    sign. ∂ ln T / ∂ ln t_d = -γ t_d / (γ t_d + t_v).

    >>> drafting_share(4, 0.25, 1.0)
    0.5
    """
    _check(gamma, draft_s, verify_s)
    return gamma * draft_s / (gamma * draft_s + verify_s)


def matched_to_break_even(matched: float, gamma: int, draft_s: float, other_s: float, verify_s: float) -> float:
    """Matched tokens per round with which a drafter of `other_s` a step is as fast as one of `draft_s` that matches
    `matched`; below 0 where it would be faster with none, above γ where it can never be.

    >>> matched_to_break_even(2.0, 4, 0.25, 0.5, 1.0)
    3.5
    """
    _check(gamma, other_s, verify_s)
    return (gamma * other_s + verify_s) * throughput(matched, gamma, draft_s, verify_s) - 1.0


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's ρ in [-1, 1]; None for fewer than three pairs, or where one of them does not vary."""
    if len(one) < 3:
        return None
    try:
        return correlation(_ranks(one), _ranks(other))
    except StatisticsError:
        return None


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1, equal values sharing the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def _check(gamma: int, draft_s: float, verify_s: float) -> None:
    if gamma < 0 or draft_s < 0 or verify_s <= 0:
        raise OptionError(
            f"a round of {gamma} drafted tokens at {draft_s} s each and a target pass of {verify_s} s is none; give 0 "
            "or more tokens and times above 0."
        )

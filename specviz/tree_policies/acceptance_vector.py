"""How often the first, second, third, … candidate of a node is the accepted one: measured, and as an option.

The measured one ships as `assets/acceptance_vector.json`, written by `specviz bench vector`. It is given both
distributions at many places of a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from specviz.core.randomness import RandomSource
from specviz.core.sampling import residual, without
from specviz.errors import OptionError
from specviz.resources import ACCEPTANCE_VECTOR, ROOT, read_json
from specviz.tree_policies.base import Pair


@dataclass(frozen=True, slots=True)
class MeasuredVector:
    """One shipped measurement: for which weights, at which temperature."""

    target_sha256: str
    drafter_sha256: str
    temperature: float
    values: tuple[float, ...]


@cache
def measured_vectors() -> tuple[MeasuredVector, ...]:
    """The shipped measurements. Raises SpecVizError where the file is missing, OptionError where one is no vector."""
    data = read_json(ROOT / ACCEPTANCE_VECTOR)
    target, drafter = (data[role]["weights_sha256"] for role in ("target", "drafter"))
    return tuple(
        MeasuredVector(target, drafter, one["temperature"], parse_vector(",".join(map(str, one["vector"]))))
        for one in data["vectors"]
    )


def vector_for(pair: Pair | None) -> tuple[str, tuple[float, ...]]:
    """The measured vector of this pair at the nearest temperature, and its name. For a pair that was not measured, or
    where none is known, the bundled pair's, whose name says so."""
    wanted = 1.0 if pair is None else pair.temperature
    nearest = min(
        measured_vectors(),
        key=lambda measured_vector: (abs(measured_vector.temperature - wanted), measured_vector.temperature),
    )
    measured = f"T={nearest.temperature:g} {nearest.drafter_sha256[:8]}"
    if pair is not None and (pair.target_sha256, pair.drafter_sha256) == (
        nearest.target_sha256,
        nearest.drafter_sha256,
    ):
        return f"measured {measured}", nearest.values
    return f"of another pair {measured}", nearest.values


def parse_vector(text: str) -> tuple[float, ...]:
    """`0.6,0.1,0.05` → numbers; a name in front, as in `measured T=0.8 476b0fa5: 0.6,0.1`, is skipped.

    Raises OptionError where they are not probabilities that sum to at most 1.
    """
    try:
        values = tuple(float(part) for part in text.rpartition(":")[2].split(","))
    except ValueError:
        values = ()
    if not values or any(not 0.0 <= value <= 1.0 for value in values) or sum(values) > 1.0 + 1e-9:
        raise OptionError(
            f"acceptance is '{text}', but must be probabilities separated by commas that sum to at most 1, such as "
            "0.6,0.1,0.05; or auto."
        )
    return values


def measure_vector(pairs: Iterable[tuple[Tensor, Tensor]], width: int, randomness: RandomSource) -> list[float]:
    """Mean over (target p [V], drafter q [V]) of the probability that candidate number b is the accepted one.

    Candidates are drawn without replacement and tried by recursive rejection (Sequoia 2402.12374, §3.2.1). Each
    acceptance probability, sum of min(p, q), is taken as it is; only the rejected tokens are drawn.
    """
    sums, count = [0.0] * width, 0
    for index, (target, draft) in enumerate(pairs):
        count += 1
        reached, p, q = 1.0, target, draft
        for number in range(width):
            accepted = min(1.0, float(torch.minimum(p, q).sum()))
            sums[number] += reached * accepted
            reached *= 1.0 - accepted
            rejected, mass = residual(q, p)
            if reached <= 1e-9 or mass <= 0.0:
                break
            token = randomness.draw(rejected, ("measure", index, number)).token
            p, _ = residual(p, q)
            q, left = without(q, [token])
            if left <= 0.0:
                break
    return [total / max(1, count) for total in sums]


def measure_ranks(pairs: Iterable[tuple[Tensor, Tensor]], width: int) -> list[float]:
    """The same at temperature 0, where siblings are the drafter's most probable tokens in order: how often the target's
    (p [V], q [V], both before anything is cut off) most probable token is the first, second, … of them."""
    hits, count = [0] * width, 0
    for target, draft in pairs:
        count += 1
        rank = int((draft > draft[target.argmax()]).sum())
        if rank < width:
            hits[rank] += 1
    return [hit / max(1, count) for hit in hits]

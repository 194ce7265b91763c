"""`specviz bench vector`: measure how often each sibling is the accepted one, at several temperatures, for Sequoia.

Place in the flow: an experiment of `specviz bench`; to be run again whenever the bundled models change.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.bench.core.contest import first_prompts
from specviz.bench.core.report import now_utc
from specviz.cli.experiment import add_count, add_pair_flags, at_least_one, deliver, numbers
from specviz.cli.sources import SharedModels, live_source
from specviz.resources import ACCEPTANCE_VECTOR, ROOT, take_over

if TYPE_CHECKING:
    from torch import Tensor

    from specviz.lm.load import LoadedModel

SUMMARY = "measure how often the first, second, … sibling is the accepted one, which Sequoia's trees are made for"


def configure(parser: argparse.ArgumentParser) -> None:
    add_count(parser, "--width", 8, "siblings")
    add_count(parser, "--step", 4, "it looks at every Nth token of the prompts")
    parser.add_argument("--prompts", type=int, metavar="N", help="prompts per family (default: all)")
    parser.add_argument(
        "--temperatures", default="0,0.6,0.8,1", metavar="T,T,…", help="one vector each (default %(default)s)"
    )
    parser.add_argument(
        "--json",
        type=Path,
        default=ROOT / ACCEPTANCE_VECTOR,
        metavar="FILE",
        help=f"where the vectors go (default: assets/{ACCEPTANCE_VECTOR}, where they are read from); - prints them",
    )
    add_pair_flags(parser)


def run(args: argparse.Namespace) -> int:
    from specviz.bench.core.passes import Places, distributions
    from specviz.core.randomness import SeededRandom
    from specviz.core.sampling import Sampling
    from specviz.tree_policies.acceptance_vector import measure_ranks, measure_vector

    at_least_one(args, ("width", "step", "threads", *(() if args.prompts is None else ("prompts",))))
    models = SharedModels()
    catalog = live_source(models, args.threads).catalog()
    prompts = first_prompts(catalog, len(catalog.prompts) if args.prompts is None else args.prompts)
    target, drafter = (models(name, device=args.device, dtype=args.dtype) for name in (args.target, args.drafter_model))
    count = 0

    def pairs(temperature: float) -> Iterator[tuple[Tensor, Tensor]]:
        nonlocal count
        for _, p, q in distributions(target, drafter, Places(prompts, args.step, Sampling(temperature))):
            count += len(p)
            yield from zip(p, q, strict=True)

    def vector(temperature: float) -> list[float]:
        if temperature == 0.0:
            return measure_ranks(pairs(1.0), args.width)
        return measure_vector(pairs(temperature), args.width, SeededRandom(args.seed))

    temperatures = numbers(args, "temperatures", float, "0,0.8")
    vectors = {temperature: vector(temperature) for temperature in temperatures}
    return _deliver(args, vectors, (len(prompts), count // len(temperatures)), (target, drafter))


def _deliver(
    args: argparse.Namespace,
    vectors: Mapping[float, Sequence[float]],
    size: tuple[int, int],
    pair: Sequence[LoadedModel],
) -> int:
    """The vectors with everything needed to measure them again."""
    prompts, places = size
    data: dict[str, Any] = {
        "vectors": [
            {"temperature": temperature, "vector": [round(value, 4) for value in vector]}
            for temperature, vector in vectors.items()
        ],
        "prompts": prompts,
        "step": args.step,
        "places": places,
        "seed": args.seed,
        "created": now_utc(),
        **{
            role: {"name": loaded_model.info.name, "weights_sha256": loaded_model.info.weights_sha256}
            for role, loaded_model in zip(("target", "drafter"), pair, strict=True)
        },
    }
    rows = [
        f"T={temperature:g}: " + ", ".join(f"{value:.3f}" for value in vector)
        for temperature, vector in vectors.items()
    ]
    code = deliver(args.json, data, "\n".join([*rows, f"{places} places of {prompts} prompts", ""]))
    take_over(args.json)
    return code

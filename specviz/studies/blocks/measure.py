"""Runs of each shipped block as a chain and as a tree, and how far their rounds were accepted.

What is counted does not depend on the machine, and all of it stands in traces. Place in the flow: `specviz study
blocks` hands in the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from specviz.bench.core.contest import first_prompts
from specviz.protocol.choice import STANDARD, Choice
from specviz.protocol.runs import RunRequest
from specviz.studies.blocks.result import (
    CHAIN,
    FORMAT,
    READ_AGAIN,
    TEMPERATURES,
    VERSION,
    WAYS,
    BlockRow,
    BlocksFile,
)
from specviz.studies.study import Workplace
from specviz.trace.codec import assemble
from specviz.trace.events import Round

DRAFTER = "dflash"


def measure(workplace: Workplace) -> BlocksFile:
    args = workplace.args
    target = workplace.model("target")
    source = workplace.source(measure=False)
    cards = first_prompts(source.catalog(), args.prompts)
    rows = []
    for temperature, (trained, shape) in product(TEMPERATURES, WAYS):
        runs = (
            assemble(
                source.run(asked(card.text, trained, shape, temperature, args.gamma, args.budget, args.max_new_tokens))
            )
            for card in cards
        )
        rounds, reached = counted(run.rounds for run in runs)
        rows.append(BlockRow(trained, shape, temperature, rounds, reached))
        workplace.row({"block": trained, "drafts": shape, "temperature": temperature, "tokens": rows[-1].per_round})
    models = {"target": target.info.weights_sha256}
    return BlocksFile(FORMAT, VERSION, tuple(rows), args.gamma, args.budget, len(cards), args.max_new_tokens, models)


def asked(
    prompt: str, trained: str, shape: str, temperature: float, gamma: int, budget: int, max_new_tokens: int
) -> RunRequest:
    """One run of one way."""
    tree = Choice("ddtree", {"budget": budget, "rescore": shape == READ_AGAIN})
    return RunRequest(
        prompt,
        drafter=Choice(DRAFTER, {"trained": trained, **({"gamma": gamma} if shape == CHAIN else {})}),
        tree_policy=STANDARD["tree_policy"] if shape == CHAIN else tree,
        temperature=temperature,
        max_new_tokens=max_new_tokens,
        dtype="float32",
        device="cpu",
    )


def counted(runs: Iterable[Sequence[Round]]) -> tuple[int, tuple[int, ...]]:
    """Rounds that drafted, and of them those that accepted 1 candidate or more, 2 or more, and so on."""
    lengths = [len(round.judged.path) for run in runs for round in run if len(round.nodes) > 1]
    return len(lengths), tuple(
        sum(length >= least for length in lengths) for least in range(1, 1 + max(lengths, default=0))
    )

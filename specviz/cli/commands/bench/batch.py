"""`specviz bench batch`: from which batch size on does speculation stop paying here?

Place in the flow: an experiment of `specviz bench`; loads the pair, measures, prints a table, keeps the result.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.bench.core.provenance import machine_load, now_utc, origin_here
from specviz.bench.core.report import check_section, write_between
from specviz.cli.experiment import add_count, add_pair_flags, at_least_one, complain, numbers
from specviz.cli.sources import SharedModels, live_source
from specviz.cli.terminal import err, out
from specviz.errors import ModelError, OptionError
from specviz.protocol.runs import PromptCard
from specviz.resources import BATCHES, ROOT
from specviz.studies.batches import result as batches
from specviz.studies.batches.result import BatchFile, Shape
from specviz.trace.files import check_place

if TYPE_CHECKING:
    from specviz.lm.batch import GivesBatches
    from specviz.lm.load import LoadedModel
    from specviz.studies.batches.measure import BatchPlan

SUMMARY = "several texts in one pass: acceptance and speedup against batch size"
PAGE = ROOT.parent / "docs" / "batch.md"
MARK = "bench batch"
BOTH = Path()
"""`--write` without a page: the documentation's, and the file that the page draws"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--batch", default="1,2,4,8,16", metavar="B,B,…", help="texts decoded together (default %(default)s)")
    add("--gamma", default="1,2,4", metavar="N,N,…",
        help="tokens drafted as a chain, each a way of its own; empty: no chain (default %(default)s)")  # fmt: skip
    add("--branching", default="2,1", metavar="N,N,…;…",
        help="children per level of a tree; several with ;, empty: no tree (default %(default)s)")  # fmt: skip
    add("--temperature", type=float, default=0.0, metavar="T", help="of the texts (default %(default)s)")
    add("--families", default="", metavar="NAME,…", help="prompts of these families alone, taken in turn")
    add("--texts", type=int, metavar="N", help="texts in all, which every size divides (default: the largest size)")
    add_count(parser, "--max-new-tokens", 48, "tokens per text, where it does not end before")
    add_count(parser, "--repeats", 5, "times everything is measured")
    add("--result", type=Path, metavar="FILE", help="every measurement, to a .json or .json.gz")
    add("--write", type=Path, nargs="?", const=BOTH, metavar="PAGE",
        help="write the table between the marks of a page; where none is named, of docs/batch.md, and the file that "
        "the Studies tab draws")  # fmt: skip
    add_pair_flags(parser)


def run(args: argparse.Namespace) -> int:
    from specviz.bench.batch.table import report
    from specviz.lm.step_time import use_threads
    from specviz.studies.batches.measure import compare

    at_least_one(args, ("max_new_tokens", "repeats"))
    page, results = _places(args)
    if page is not None:
        check_section(page, MARK)
    for one in results:
        check_place(one, "a file of batches")
    use_threads(args.threads)
    models = SharedModels()
    cards = _prompts(args, live_source(models).catalog().prompts)
    plan = _plan(args, cards)
    target = models(args.target, device=args.device, dtype=args.dtype)
    drafter = models(args.drafter_model, device=args.device, dtype=args.dtype)
    compared = compare(_batching(target), _batching(drafter), _read(plan, cards, target), err().line)
    origin = origin_here(target, drafter)
    file = BatchFile(
        batches.FORMAT, batches.VERSION, origin.machine, origin.target, origin.drafters[0], now_utc(),
        compared.clock, machine_load(), args.temperature, args.seed, args.max_new_tokens,
        compared.points, compared.texts,
    )  # fmt: skip
    text = report(file)
    out().line(text)
    for one in results:
        batches.write(file, one)
    if page is not None:
        write_between(page, MARK, text)
    exact = args.temperature == 0 and origin.target.dtype == "float32"
    return complain(compared.unequal() if exact else [])


def _places(args: argparse.Namespace) -> tuple[Path | None, list[Path]]:
    """The page, and the files of the result."""
    if args.write != BOTH:
        return args.write, [args.result] if args.result else []
    return PAGE, [BATCHES, *([args.result] if args.result else [])]


def _sizes(args: argparse.Namespace) -> tuple[int, ...]:
    found = numbers(args, "batch", int, "1,2,4,8,16")
    if not found or min(found) < 1 or len(set(found)) < len(found):
        raise OptionError(f"--batch is '{args.batch}', but must be different numbers of at least 1.")
    return tuple(sorted(found))


def _shapes(args: argparse.Namespace) -> tuple[Shape, ...]:
    """Chains, then trees. Raises OptionError where one cannot be, or is there twice."""
    from specviz.drafters.model import ModelDrafter

    trees = [one for one in args.branching.split(";") if one]
    parsed = [numbers(argparse.Namespace(branching=one), "branching", int, "3,2,1") for one in trees]
    for gamma in (gammas := numbers(args, "gamma", int, "1,2,4")):
        ModelDrafter.of({"gamma": gamma})
    for tree in parsed:
        ModelDrafter.of({"branching": tree})
    found = (*((1,) * gamma for gamma in gammas), *parsed)
    if not found or len(set(found)) < len(found):
        raise OptionError("there is nothing to compare with plain decoding; give different --gamma or --branching.")
    return found


def _prompts(args: argparse.Namespace, cards: Sequence[PromptCard]) -> list[PromptCard]:
    """One of each family in turn, so that a batch is mixed. Raises OptionError where there are too few."""
    wanted = tuple(filter(None, args.families.split(",")))
    families = {card.family for card in cards}
    unknown = [name for name in wanted if name not in families]
    if unknown:
        raise OptionError(f"there is no prompt family '{unknown[0]}'; known: {', '.join(sorted(families))}.")
    by_family = [[card for card in cards if card.family == name] for name in wanted or sorted(families)]
    found = [card for level in zip_longest(*by_family) for card in level if card is not None]
    count = max(_sizes(args)) if args.texts is None else args.texts
    if not 1 <= count <= len(found):
        raise OptionError(f"{count} texts are asked for, but there are 1 to {len(found)}; change --texts or --batch.")
    return found[:count]


def _plan(args: argparse.Namespace, cards: Sequence[PromptCard]) -> BatchPlan:
    """What is measured, before a model has read the prompts. Raises OptionError where it cannot be."""
    from specviz.core.sampling import Sampling
    from specviz.engine.termination import Limits
    from specviz.studies.batches.measure import BatchPlan

    return BatchPlan(
        [(card.id, ()) for card in cards], _sizes(args), _shapes(args), Sampling(args.temperature), args.seed,
        Limits(args.max_new_tokens), args.repeats,
    )  # fmt: skip


def _read(plan: BatchPlan, cards: Sequence[PromptCard], target: LoadedModel) -> BatchPlan:
    """The same with the target's tokens, and its end of text."""
    prompts = [(card.id, target.tokenizer.encode(card.text)) for card in cards]
    return replace(plan, prompts=prompts, limits=replace(plan.limits, eos_ids=frozenset(target.info.eos_ids)))


def _batching(loaded: LoadedModel) -> GivesBatches:
    """Raises ModelError where several texts cost as many passes."""
    from specviz.lm.batch import GivesBatches

    if isinstance(loaded.model, GivesBatches):
        return loaded.model
    raise ModelError(
        f"the adapter '{loaded.info.adapter}' of {loaded.info.name} computes one text at a time, so a batch of it "
        "would say nothing; give a Llama checkpoint, which the lean forward runs."
    )

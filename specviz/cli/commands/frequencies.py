"""`specviz frequencies`: what a smaller draft head covers and saves, and the token counts behind it.

Place in the flow: reads the table of the target's tokenizer (or counts it anew with `--write`), measures acceptance and
step time, prints both by head size; `--page` writes them into the documentation.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.bench.core.contest import first_prompts
from specviz.bench.core.provenance import origin_here
from specviz.bench.core.report import check_section, write_between
from specviz.cli.sources import SharedModels
from specviz.cli.terminal import err, out, printable
from specviz.errors import OptionError
from specviz.protocol.runs import PromptCard, RunRequest
from specviz.protocol.sweeps.points import Quartiles
from specviz.resources import ROOT
from specviz.studies.heads.result import WHOLE, Acceptance, HeadReport, markdown, measured, to_data
from specviz.theory import token_frequencies as frequencies
from specviz.theory.repetition import repetition
from specviz.theory.token_frequencies import TITLES

if TYPE_CHECKING:
    from specviz.lm.base import LanguageModel
    from specviz.lm.load import LoadedModel

ENGLISH_SEED = 1
SPLIT_SEED = 0
"""of the bundled models' split: what they held out is not counted"""
SIZES = (128, 256, 512, 1024, 2048)
TEMPERATURES = (1.0, 0.0)
"""at which acceptance is measured: the models' own law, and greedy"""
PAGE = ROOT.parent / "docs" / "methods" / "vocabtrim.md"
MARK = "frequencies"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    request = RunRequest(prompt="")
    add("--target", default=request.target, metavar="NAME", help="whose text is drafted (default %(default)s)")
    add("--drafter-model", default=request.drafter_model, metavar="NAME", help="drafts (default %(default)s)")
    add("--sizes", default=",".join(map(str, SIZES)), metavar="N,N,…", help="head sizes to show (default %(default)s)")
    add("--write", action="store_true", help="count the tokens anew and keep the table in assets/frequencies")
    add("--texts", type=int, default=80, metavar="N", help="with --write: beginnings (default %(default)s)")
    add("--tokens", type=int, default=64, metavar="N", help="tokens a model writes after each (default %(default)s)")
    add("--prompts", type=int, default=2, metavar="N",
        help="per family, for the acceptance; 0 leaves it out (default %(default)s)")  # fmt: skip
    add("--no-times", action="store_true", help="leave out the measured step times")
    add("--page", type=Path, nargs="?", const=PAGE, metavar="PAGE",
        help="write the tables between a page's marks; where none is named, of docs/methods/vocabtrim.md")  # fmt: skip
    add(
        "--keep", action="store_true", help="keep the measured alpha in assets/trimmed_heads.json, which the page draws"
    )
    add("--dtype", default=request.dtype, metavar="D", help="number format (default %(default)s)")
    add("--device", default=request.device, metavar="DEV", help="where to run (default %(default)s)")
    add("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from specviz.lm.step_time import use_threads

    use_threads()
    sizes = _sizes(args.sizes)
    if min(args.texts, args.tokens, args.prompts + 1) < 1:
        raise OptionError(
            f"texts is {args.texts}, tokens {args.tokens} and prompts {args.prompts}, but the first two must be at "
            "least 1 and the last at least 0."
        )
    if args.keep and not args.prompts:
        raise OptionError("--keep keeps what --prompts measures, which is 0; leave it at 1 or more.")
    if args.page is not None:
        check_section(args.page, MARK)  # before the measurement, not after it
    load = SharedModels()
    target = load(args.target, device=args.device, dtype=args.dtype)
    drafter = load(args.drafter_model, device=args.device, dtype=args.dtype)
    if args.write:
        _write(args, target, drafter)
    table = frequencies.table_of(target.tokenizer.sha256)
    if table is None:
        raise OptionError(
            f"there is no frequency table for the tokenizer of {args.target}; write one with `specviz frequencies "
            "--write`."
        )
    sizes = [size for size in sizes if size < table.vocab_size]
    report = _report(args, table, sizes, (target, drafter))
    if args.page is not None:
        write_between(args.page, MARK, markdown(report))
    if args.keep:
        _keep(report, target, drafter)
    if args.json:
        out().line(json.dumps(to_data(report)))
    else:
        out().line(printable(markdown(report), keep="\n").rstrip())
    return 0


def _report(
    args: argparse.Namespace,
    table: frequencies.FrequencyTable,
    sizes: Sequence[int],
    pair: tuple[LoadedModel, LoadedModel],
) -> HeadReport:
    from specviz.live.catalog import build

    target, drafter = pair
    origin = origin_here(target, drafter)
    prompts = first_prompts(build(), args.prompts)
    acceptance, repeated = _acceptance(args, table, sizes, pair, prompts) if prompts else ({}, {})
    return HeadReport(
        vocab_size=table.vocab_size,
        texts={name: f"{text.total} tokens, {text.what}" for name, text in table.texts.items()},
        sizes=sizes,
        coverage={name: dict(frequencies.coverage_curve(table, name, sizes)) for name in TITLES},
        acceptance=acceptance,
        step_ratio={} if args.no_times else _ratios(drafter, table, sizes),
        prompts=len(prompts),
        tokens=args.tokens,
        repetition=repeated,
        origin=str(origin),
        created=origin.created,
    )


def _keep(report: HeadReport, target: LoadedModel, drafter: LoadedModel) -> None:
    kept = {
        "alpha": to_data(report)["alpha"],
        "measured": measured(report),
        "created": report.created,
        "models": {one.info.name: one.info.weights_sha256 for one in (target, drafter)},
    }
    path = frequencies.FOLDER.parent / frequencies.ACCEPTANCE_FILE
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    err().line(f"wrote {path.relative_to(frequencies.FOLDER.parent.parent)}")


def _sizes(text: str) -> list[int]:
    try:
        sizes = sorted({int(part) for part in text.split(",")})
    except ValueError:
        sizes = []
    if not sizes or sizes[0] < 1:
        raise OptionError(
            f"sizes is '{text}', but must be whole numbers above 0 separated by commas, such as 256,1024."
        )
    return sizes


def _write(args: argparse.Namespace, target: LoadedModel, drafter: LoadedModel) -> None:
    from specviz.corpus import standard_library as corpus
    from specviz.corpus.plain_english import generator
    from specviz.live.catalog import bundled_prompts
    from specviz.lm.text import check_vocabularies
    from specviz.training.frequencies import ENGLISH, CountPlan, count_all

    check_vocabularies(target.tokenizer, drafter.tokenizer)
    plan = CountPlan(args.texts, args.tokens)
    english = [
        corpus.Document(f"english/{number}", ENGLISH, one.text)
        for number, one in enumerate(generator.documents(ENGLISH_SEED, plan.raw_bytes // 2, held_out=False))
    ]
    documents = [*corpus.collect(SPLIT_SEED).train, *english]
    prompts = [card.text for card in bundled_prompts()]
    table = count_all(target, drafter, documents, prompts, plan, lambda what: err().line(f"counted: {what}"))
    path = frequencies.FOLDER / f"{Path(args.target).name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(frequencies.to_json(table), encoding="utf-8")
    frequencies.read.cache_clear()
    err().line(f"wrote {path.relative_to(frequencies.FOLDER.parent.parent)}")


def _acceptance(
    args: argparse.Namespace,
    table: frequencies.FrequencyTable,
    sizes: Sequence[int],
    pair: tuple[LoadedModel, LoadedModel],
    prompts: Sequence[PromptCard],
) -> tuple[Acceptance, Mapping[float, Sequence[float]]]:
    """Along what the target writes after the prompts; and how much each of these texts repeats itself."""
    from specviz.core.sampling import Sampling
    from specviz.lm.vocabulary import TrimmedModel
    from specviz.studies.heads.measure import alphas
    from specviz.training.frequencies import CountPlan, continuations

    target, drafter = pair
    heads: dict[tuple[str, int], LanguageModel] = {("", WHOLE): drafter.model}
    for name in TITLES:
        for size in sizes:
            kept = frequencies.kept_by(table, name, size, drafter.info.eos_ids)
            heads[name, size] = TrimmedModel(drafter.model, kept)
    found, repeated = {}, {}
    for temperature in TEMPERATURES:
        err().line(f"acceptance at temperature {temperature:g}: {len(prompts)} prompts…")
        plan = CountPlan(tokens=args.tokens, temperature=temperature)
        texts = list(continuations(target, [card.text for card in prompts], plan))
        found[temperature] = alphas(target.model, heads, texts, Sampling(temperature))
        repeated[temperature] = [repetition(written) for _, written in texts]
    return found, repeated


def _ratios(drafter: LoadedModel, table: frequencies.FrequencyTable, sizes: Sequence[int]) -> Mapping[int, Quartiles]:
    """Head size → step time relative to the whole head."""
    from specviz.lm.vocabulary import TrimmedModel
    from specviz.studies.heads.measure import step_ratios

    trimmed = {size: TrimmedModel(drafter.model, frequencies.kept_by(table, "target", size)) for size in sizes}
    return step_ratios(drafter.model, trimmed)

"""`specviz frequencies`: what a smaller draft head covers and saves, and the token counts behind it.

Place in the flow: reads the table of the target's tokenizer (or counts it anew with `--write`), prints coverage by
head size beside the measured step time. Knows nothing about decoding.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz import frequencies
from specviz.commands.sources import SharedModels
from specviz.commands.terminal import err, out, printable
from specviz.errors import OptionError
from specviz.trace.source import RunRequest

if TYPE_CHECKING:
    from specviz.lm.load import LoadedModel

SPLIT_SEED = 0
"""of the bundled models' split: what they held out is not counted"""
SIZES = (128, 256, 512, 1024, 2048)
TITLES = {"raw": "raw text", "drafter": "drafter's text", "target": "target's text"}


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    request = RunRequest(prompt="")
    add("--target", default=request.target, metavar="NAME", help="whose text is drafted (default %(default)s)")
    add("--drafter-model", default=request.drafter_model, metavar="NAME", help="drafts (default %(default)s)")
    add("--sizes", default=",".join(map(str, SIZES)), metavar="N,N,…", help="head sizes to show (default %(default)s)")
    add("--write", action="store_true", help="count the tokens anew and keep the table in assets/frequencies")
    add("--texts", type=int, default=200, metavar="N", help="with --write: beginnings (default %(default)s)")
    add("--tokens", type=int, default=96, metavar="N", help="with --write: tokens after each (default %(default)s)")
    add("--no-times", action="store_true", help="leave out the measured step times")
    add("--dtype", default=request.dtype, metavar="D", help="number format (default %(default)s)")
    add("--device", default=request.device, metavar="DEV", help="where to run (default %(default)s)")
    add("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from specviz.lm.step_time import use_threads

    use_threads()
    sizes = _sizes(args.sizes)
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
    curves = {name: dict(frequencies.coverage_curve(table, name, sizes)) for name in TITLES}
    ratios = {} if args.no_times else _ratios(drafter, table, sizes)
    if args.json:
        out().line(json.dumps({"sizes": sizes, "coverage": curves, "step_ratio": ratios}))
    else:
        _print(table, sizes, curves, ratios)
    return 0


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
    from specviz.catalog import bundled_prompts
    from specviz.lm.text import check_vocabularies
    from specviz.training import corpus
    from specviz.training.frequencies import CountPlan, count_all

    if min(args.texts, args.tokens) < 1:
        raise OptionError(f"texts is {args.texts} and tokens {args.tokens}, but both must be at least 1.")
    check_vocabularies(target.tokenizer, drafter.tokenizer)
    plan = CountPlan(args.texts, args.tokens)
    documents = corpus.collect(SPLIT_SEED).train
    prompts = [card.text for card in bundled_prompts()]
    table = count_all(target, drafter, documents, prompts, plan, lambda what: err().line(f"counted: {what}"))
    path = frequencies.FOLDER / f"{Path(args.target).name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(frequencies.to_json(table), encoding="utf-8")
    frequencies.read.cache_clear()
    err().line(f"wrote {path.relative_to(frequencies.ROOT.parent)}")


def _ratios(drafter: LoadedModel, table: frequencies.FrequencyTable, sizes: Sequence[int]) -> dict[int, Any]:
    """Head size → step time relative to the whole head, with quartiles."""
    from specviz.bench.head_time import step_ratios
    from specviz.lm.trimmed import TrimmedModel

    trimmed = {size: TrimmedModel(drafter.model, frequencies.kept_by(table, "target", size)) for size in sizes}
    return {size: asdict(ratio) for size, ratio in step_ratios(drafter.model, trimmed).items()}


def _print(
    table: frequencies.FrequencyTable,
    sizes: Sequence[int],
    curves: Mapping[str, Mapping[int, float]],
    ratios: Mapping[int, Mapping[str, float]],
) -> None:
    terminal = out()
    terminal.line(f"vocabulary of {printable(table.name, keep='')}: {table.vocab_size} tokens")
    for name, text in table.texts.items():
        terminal.line(f"{name}: {text.total} tokens, {printable(text.what, keep='')}")
    titles = [f"covered by {title}" for title in TITLES.values()]
    terminal.line("\n| head size | " + " | ".join([*titles, "step time"]) + " |")
    terminal.line("|---:" * (2 + len(titles)) + "|")
    for size in sizes:
        shares = [f"{curves[name][size]:.1%}" for name in TITLES]
        found = ratios.get(size)
        time = f"{found['median']:.2f} [{found['low']:.2f}–{found['high']:.2f}]" if found else "–"
        terminal.line(f"| {size} | " + " | ".join([*shares, time]) + " |")

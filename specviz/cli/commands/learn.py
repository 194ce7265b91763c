"""`specviz learn`: train the stop policies that go by a classifier, from logged rounds.

Place in the flow: traces (given, or made here) → `TraceSource.learn` → weights as JSON, and what came out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from specviz.cli.sources import live_source, trace_files
from specviz.cli.terminal import out, printable, progress
from specviz.errors import OptionError
from specviz.protocol.choice import Choice
from specviz.protocol.runs import Learned, RunRequest, TraceSource
from specviz.resources import take_over
from specviz.trace.events import Trace

FOLDER = Path("assets") / "stops"
GAMMA = 8
TEMPERATURES = (0.0, 0.8)
EVERY_CHARS = 1500
"""prompts are cut out of a file this far apart"""
PROMPT_CHARS = 700
MOST_OF_A_FILE = 8


def configure(parser: argparse.ArgumentParser) -> None:
    request = RunRequest(prompt="")
    parser.add_argument(
        "traces", nargs="*", type=Path, metavar="TRACE", help="trace files or folders of them; none: make runs first"
    )
    parser.add_argument("--policy", action="append", metavar="NAME", help="train this one alone; may be repeated")
    parser.add_argument(
        "--out", type=Path, default=FOLDER, metavar="DIR", help=f"gets NAME.json for each policy (default {FOLDER})"
    )
    parser.add_argument("--prompts", type=int, default=32, metavar="N", help="own runs: prompts (default %(default)s)")
    parser.add_argument(
        "--max-new-tokens", type=int, default=48, metavar="N", help="own runs: tokens of each (default %(default)s)"
    )
    parser.add_argument("--target", default=request.target, metavar="NAME", help="own runs: the target")
    parser.add_argument("--drafter-model", default=request.drafter_model, metavar="NAME", help="own runs: the drafter")


def run(args: argparse.Namespace) -> int:
    source = live_source()
    known = [method.name for method in source.catalog().stop_policies if method.learns]
    unknown = sorted(set(args.policy or []) - set(known))
    if unknown:
        raise OptionError(f"the stop policy '{unknown[0]}' has nothing to learn; choose of {', '.join(known)}.")
    traces = list(read_traces(args.traces)) if args.traces else own_runs(source, args)
    for policy in [name for name in known if not args.policy or name in args.policy]:
        learned = source.learn(traces, policy)
        path = write(learned, args.out)
        out().line(printable(learned.sentence, keep=""))
        for name, value in learned.numbers.items():
            out().line(f"{name:>34}  {value}")
        out().line(f"{'weights':>34}  {printable(str(path), keep='')}")
    return 0


def read_traces(places: list[Path]) -> Iterator[Trace]:
    """The traces of files and folders, in the order of their names. Raises TraceError."""
    from specviz.trace import codec

    yield from (codec.read(file) for _, file in trace_files(places))


def own_runs(source: TraceSource, args: argparse.Namespace) -> list[Trace]:
    """Long chains at every temperature on held-out text that is not in the prompt set."""
    from specviz.trace.codec import assemble

    request = RunRequest(
        prompt="",
        target=args.target,
        drafter_model=args.drafter_model,
        drafter=Choice("model", {"gamma": GAMMA}),
        max_new_tokens=args.max_new_tokens,
    )
    wanted = [
        replace(request, prompt=text, temperature=temperature, seed=number)
        for number, text in enumerate(practice_prompts(args.prompts))
        for temperature in TEMPERATURES
    ]
    return [assemble(source.run(one)) for one in progress(wanted, "running", len(wanted))]


def practice_prompts(count: int) -> list[str]:
    """Beginnings to continue: of held-out documents in plain English, and of held-out files of this interpreter's
    standard library, in turn. The prompt set uses none of them, so that no bench runs on what was learnt from. As many
    as there are."""
    from specviz.corpus import prompt_set
    from specviz.corpus.standard_library import collect
    from specviz.resources import asset_path

    split = json.loads(asset_path("models", "target", "split.json").read_text(encoding="utf-8"))
    prompts = json.loads(asset_path("prompts", "prompts.json").read_text(encoding="utf-8"))["prompts"]
    used = {prompt["source"] for prompt in prompts}
    texts = [document.text for document in collect(split["seed"]).held_out if document.path not in used]
    cuts = [
        text[max(0, end - PROMPT_CHARS) : end]
        for turn in range(MOST_OF_A_FILE)
        for text in texts
        if (end := text.rfind("\n", 0, EVERY_CHARS * turn + PROMPT_CHARS) + 1)
        and len(text) > EVERY_CHARS * turn + PROMPT_CHARS
    ]
    practice = prompt_set.english_prompts(prompt_set.SEED + 1)
    english = [one["text"] for one in practice if one["source"] != prompt_set.BY_HAND]
    return [text for pair in zip_longest(english, cuts) for text in pair if text is not None][:count]


def write(learned: Learned, folder: Path) -> Path:
    """NAME.json in the folder, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{learned.policy}.json"
    path.write_text(json.dumps(learned.weights, separators=(",", ":")) + "\n", encoding="utf-8")
    take_over(path)
    return path

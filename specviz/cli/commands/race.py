"""`specviz race`: run plain decoding and up to three drafters on one prompt, and compare text and time.

Place in the flow: arguments → `bench.race` over the live source → a table and a timeline, JSON, or a race file for the
page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from specviz.app.race.view import Beside, RaceView, RunnerView, Segment, lane, race_view
from specviz.bench.race import Lap, Racer, RaceSpec, check, lap_count, race, result
from specviz.cli.experiment import time_limit
from specviz.cli.request import add_prompt_flags, prompted
from specviz.cli.sources import live_source
from specviz.cli.terminal import Terminal, err, out, printable, progress
from specviz.errors import OptionError, TraceError
from specviz.protocol import races as race_file
from specviz.protocol.runs import Catalog, RunRequest
from specviz.protocol.sweeps.points import BASELINE

LENGTH = "gamma"
BETWEEN = "  least to most"
"""head of a column that is there where everyone ran several times"""
COLUMNS = 64
"""width of the timeline"""
SIGNS = {"draft": "░", "target": "█", "judge": "▒", "commit": "▒", "": " "}
"""phase → what a column of the timeline shows"""
PLAIN = (
    "target", "drafter_model", "verifier", "temperature", "top_k", "top_p", "seed", "max_new_tokens", "dtype", "device",
    "chat",
)  # fmt: skip
"""fields of RunRequest that a flag of the same name sets"""


def configure(parser: argparse.ArgumentParser) -> None:
    default = {field.name: field.default for field in fields(RunRequest)}
    add_prompt_flags(parser)
    parser.add_argument(
        "--drafters",
        metavar="A,B,…",
        default="ngram,model,suffix",
        help="one to three, each NAME or NAME@γ, such as model@6 (default %(default)s)",
    )

    def add(flag: str, kind: type, metavar: str, text: str) -> None:
        value = default[flag[2:].replace("-", "_")]
        parser.add_argument(flag, type=kind, metavar=metavar, default=value, help=f"{text} (default %(default)s)")

    add("--target", str, "NAME", "the model to decode with: a bundled name, a local folder or a hub id")
    add("--drafter-model", str, "NAME", "weights of a drafter that has a model of its own")
    add("--verifier", str, "NAME", "how drafts are judged; auto: greedy at temperature 0, sequential above")
    add("--temperature", float, "T", "0 decodes greedily")
    add("--top-k", int, "K", "sample from the K most probable tokens; 0 is off")
    add("--top-p", float, "P", "sample from the smallest set of tokens with mass P; 1 is off")
    add("--seed", int, "S", "the same seed gives the same run")
    add("--max-new-tokens", int, "N", "stop after N tokens")
    add("--dtype", str, "D", "number format of the weights: auto, float32, bfloat16")
    add("--device", str, "DEV", "auto, cpu, cuda or mps")
    parser.add_argument("--chat", action="store_true", help="the prompt is a message, in the target's chat template")
    parser.add_argument(
        "--repeats",
        type=int,
        default=1,
        metavar="N",
        help="run everyone N times; shown are the median run and the median of the ratios (default %(default)s)",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the race to FILE (.json or .json.gz)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of table and timeline")


def run(args: argparse.Namespace) -> int:
    if args.out is not None and not (args.out.name.endswith((".json", ".json.gz")) and args.out.parent.is_dir()):
        raise TraceError(f"--out is '{args.out}', but must be a .json or .json.gz file in a folder that exists.")
    source = live_source()
    spec = read_spec(args, source.catalog())
    check(source, spec)
    with time_limit() as cancelled:
        laps = list(progress(race(source, spec, cancelled), "race", lap_count(spec)))
    return _report(args, spec, laps)


def read_spec(args: argparse.Namespace, catalog: Catalog) -> RaceSpec:
    """Raises OptionError or PromptError where the arguments name no race."""
    request = replace(prompted(args, catalog), **{name: getattr(args, name) for name in PLAIN})
    racers = tuple(_racer(text.strip(), catalog) for text in args.drafters.split(",") if text.strip())
    return RaceSpec(request, racers, args.repeats)


def _racer(text: str, catalog: Catalog) -> Racer:
    """`model` or `model@6`."""
    name, at, length = text.partition("@")
    card = next((method for method in catalog.drafters if method.name == name), None)
    if card is None:
        known = ", ".join(method.name for method in catalog.drafters if method.name != BASELINE)
        raise OptionError(f"there is no drafter '{name}'; choose one to three of: {known}.")
    if not at:
        return Racer(name)
    if all(option.name != LENGTH for option in card.options):
        raise OptionError(f"the drafter '{name}' has no speculation length γ; write {name} without @.")
    try:
        return Racer(name, {LENGTH: int(length)})
    except ValueError:
        raise OptionError(f"'{text}' names no speculation length; write a whole number, as in {name}@4.") from None


def _report(args: argparse.Namespace, spec: RaceSpec, laps: list[Lap]) -> int:
    """Everything that was finished; 1 where that is not all."""
    done = result(spec, laps)
    if done is None:
        err().line("specviz: stopped before plain decoding was done; there is nothing to show.")
        return 1
    view = race_view(done)
    if args.out is not None:
        race_file.write(done, args.out)
    if args.json:
        out().line(json.dumps(as_data(view)))
    else:
        show(out(), view)
    if len(laps) < lap_count(spec):
        err().line(f"specviz: stopped; {len(laps)} of {lap_count(spec)} runs were done.")
        return 1
    return 0


def as_data(view: RaceView) -> dict[str, Any]:
    """What `--json` prints: the view without its lanes. Stable: keys are added, never renamed."""
    data = asdict(view)
    for runner in data["runners"]:
        runner["text"] = "".join(one["text"] for one in runner.pop("arrivals"))
        del runner["segments"], runner["lanes"]
    return data


def show(terminal: Terminal, view: RaceView) -> None:
    """The table, the timeline, and whether the outputs agree."""
    width = max(len(runner.label) for runner in view.runners)
    terminal.line(terminal.paint(printable(f"{view.source} {view.provenance}", keep=""), "dim"))
    between = any(runner.spread for runner in view.runners)
    head = f"× plain{BETWEEN if between else ''}  tokens/pass  passes   engine s  repetition  output"
    terminal.line(f"{'':{width}}  {head}")
    for runner in view.runners:
        terminal.line(_row(runner, width, between))
    terminal.line()
    for runner in view.runners:
        label = runner.label
        if runner.lanes:  # a line for the drafter, and below it one for the target, so that one sees what overlaps
            terminal.line(f"{label:{width}}  {_signs(runner.lanes, view.longest_s)}")
            label = ""
        terminal.line(f"{label:{width}}  {_signs(runner.segments, view.longest_s)}⚑ {runner.finish_s:.3f} s")
    terminal.line(terminal.paint(f"{'':{width}}  ░ draft  █ target pass  ▒ verdicts and commit; engine time", "dim"))
    terminal.line()
    terminal.line(printable(view.equality, keep=""))


def _signs(found: Sequence[Segment] | Sequence[Beside], longest_s: float) -> str:
    return "".join(SIGNS[phase] for phase in lane(found, longest_s, COLUMNS)).rstrip()


def _row(runner_view: RunnerView, width: int, between: bool) -> str:
    ratio = (
        "1.00"
        if not runner_view.formula and not runner_view.output
        else "–"
        if runner_view.ratio is None
        else f"{runner_view.ratio:.2f}"
    )
    per_pass = "–" if runner_view.tokens_per_pass is None else f"{runner_view.tokens_per_pass:.2f}"
    least_most = f"{runner_view.spread[0]:.2f} to {runner_view.spread[1]:.2f}" if runner_view.spread else ""
    spread = f"{least_most:>{len(BETWEEN)}}" if between else ""
    told = (
        "the baseline"
        if not runner_view.output
        else "same"
        if runner_view.differs_at is None
        else f"from token {runner_view.differs_at + 1}"
    )
    lossy = "" if runner_view.lossless else ", lossy"
    return (
        f"{runner_view.label:{width}}  {ratio:>7}{spread}  {per_pass:>11}  "
        f"{runner_view.passes:>6}  {runner_view.finish_s:>9.3f}  "
        f"{runner_view.repetition:>10.0%}  {told}{lossy}"
    )

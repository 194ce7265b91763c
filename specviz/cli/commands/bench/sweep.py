"""`specviz bench sweep FILE`: a declared sweep, measured, kept after every prompt, and continued where it stopped.

Place in the flow: an experiment of `specviz bench`; the same runs as the page's When-it-pays tab, in this process or,
with `--ray`, on workers.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from specviz.bench.core.report import check_section, write_between
from specviz.bench.sweep.expectations import measured_lines, prompt_file, write_families
from specviz.bench.sweep.runner import every_drafter, runnable, sweep, warm_up
from specviz.bench.sweep.spread import Cluster, spread
from specviz.bench.sweep.table import at_best, report, workers_table
from specviz.bench.sweep.workplace import packed_keeper, trace_keeper
from specviz.cli.analysis_report import DOCUMENT, SWEEP_SECTION, pack, section
from specviz.cli.experiment import Cancelled, time_limit
from specviz.cli.named_weights import DIGITS, in_words
from specviz.cli.sources import SharedModels, live_source
from specviz.cli.terminal import err, out, printable, progress
from specviz.errors import BenchError, OptionError
from specviz.options import minutes
from specviz.protocol.prompt_file import read_prompts
from specviz.protocol.runs import TraceSource
from specviz.protocol.sweeps import store as sweep_store
from specviz.protocol.sweeps.definition import SweepDefinition, SweepSpec, cases, expand, fingerprint, run_count
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.result import SweepResult, check_definition, continued, introduce, points_of, with_points
from specviz.protocol.sweeps.store import read_definition, sweep_csv
from specviz.resources import ROOT

SUMMARY = "measure the sweep that a file declares: drafters, lengths, trees, policies, temperatures, prompts"
MODELS_PAGE, BEST_SECTION = ROOT.parent / "docs" / "models.md", "sweep at best"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="the sweep, as TOML; assets/sweeps has examples")
    kept = "keep the result here (.json, .json.gz) after every prompt; one that is there already is gone on with"
    add("--out", type=Path, metavar="RESULT.json", help=kept)
    replace_words = "begin anew where the result is of other weights, another machine or another sweep file"
    add("--replace", action="store_true", help=replace_words)
    add("--csv", type=Path, metavar="FILE", help="also write one line per run")
    keep_words = "also keep the trace of every run in DIR, with distributions, for `specviz analyse DIR` and the player"
    add("--keep-traces", type=Path, metavar="DIR", help=keep_words)
    failures_words = "write each drafter's most frequent kinds of failure between the marks of PAGE (docs/analysis.md)"
    add("--write-failures", nargs="?", type=Path, const=DOCUMENT, metavar="PAGE", help=failures_words)
    zip_words = "also write the traces behind those shares into this zip, packed by xz, for the page's Analysis tab"
    add("--zip-traces", type=Path, metavar="FILE.zip.xz", help=zip_words)
    families_words = "put what was measured of each family beside what to expect of it, in the prompts of the target"
    add("--write-families", action="store_true", help=families_words)
    best_words = "put a table of every drafter at its best between the marks of PAGE (docs/models.md)"
    add("--write-best", nargs="?", type=Path, const=MODELS_PAGE, metavar="PAGE", help=best_words)
    own_words = "your own prompts, one JSON object a line, in place of the file's"
    add("--own-prompts", type=Path, metavar="FILE.jsonl", help=own_words)
    add("--dtype", metavar="D", help="number format in place of the file's, such as bfloat16; give another --out")
    add("--max-minutes", type=minutes, metavar="M", help="stop after M minutes; what is done is kept, as after Ctrl-C")
    add("--json", action="store_true", help="print the whole result in place of the table")
    ray_words = (
        "spread the prompts over the workers of a Ray cluster: host:6379, auto, or local for the cores of this machine"
    )
    add("--ray", metavar="ADDRESS", help=ray_words)
    workers_words = (
        "with --ray: so many measure at a time; otherwise one on each machine, and with local one per set of cores"
    )
    add("--workers", type=int, default=0, metavar="N", help=workers_words)


def run(args: argparse.Namespace) -> int:
    definition = read_definition(args.file)
    if args.dtype is not None:
        definition = replace(definition, dtype=args.dtype)
    if args.workers < 0 or (args.workers and args.ray is None):
        raise OptionError(f"--workers is {args.workers}, but must be at least 1, and --ray must be given too.")
    if args.zip_traces is not None and args.write_failures is None:
        raise OptionError("--zip-traces packs what --write-failures counts; give that too.")
    if args.write_families:
        prompt_file(definition.target)
    if args.write_best is not None:
        check_section(args.write_best, BEST_SECTION)
    with ExitStack() as stack:
        if args.write_failures is not None:
            check_section(args.write_failures, SWEEP_SECTION)
            if args.keep_traces is None:
                args.keep_traces = Path(stack.enter_context(TemporaryDirectory(prefix="specviz-sweep-")))
        return _run(args, definition)


def _run(args: argparse.Namespace, definition: SweepDefinition) -> int:
    if args.own_prompts is not None:
        own = read_prompts(args.own_prompts)
        definition = replace(definition, own_prompts=own, prompts=(), families=())
    kept = _kept(args.out, definition, args.replace)
    if args.ray is None:
        result = measure(args, definition, live_source(SharedModels(), definition.threads or 1), kept)
    else:
        result = measure_spread(args, definition, kept)
    points = points_of(result)
    if args.csv is not None:
        args.csv.write_text(sweep_csv(points), encoding="utf-8")
    if args.write_failures is not None:
        made = f"`specviz bench sweep {args.file} --write-failures`"
        write_between(args.write_failures, SWEEP_SECTION, section(args.keep_traces, made))
        if args.zip_traces is not None:
            pack(args.keep_traces, args.zip_traces)
    if args.write_families:
        target = result.provenance.target
        write_families(prompt_file(definition.target), measured_lines(points), target.weights_sha256)
    if args.write_best is not None:
        write_between(args.write_best, BEST_SECTION, best_section(result, args.file))
    if args.json:
        out().write(sweep_store.dumps(result))
    else:
        out().write(printable(report(points) + workers_table(result) if points else "nothing was measured.\n"))
    return 0


def best_section(result: SweepResult, file: Path) -> str:
    """The table for a page, below it what measured it, where, when, and with which weights."""
    target, machine = result.provenance.target, result.provenance.machine
    threads = f"{machine.threads} thread{'' if machine.threads == 1 else 's'}"
    made = f"`specviz bench sweep {file}`, {result.provenance.created[:10]}: {machine.processor}, {threads}"
    weights = in_words({target.name: target.weights_sha256[:DIGITS]})
    return f"{at_best(points_of(result))}\n\n{made}, {machine.dtype}. {weights}"


def _kept(where: Path | None, definition: SweepDefinition, anew: bool) -> SweepResult | None:
    """What `--out` holds already; nothing where it is of another sweep and is to be replaced (`anew`). Raises
    BenchError where it is no result of this sweep, or could not be written."""
    if where is None:
        return None
    sweep_store.check_place(where)
    if not where.exists():
        return None
    kept = sweep_store.read(where)
    if anew and kept.definition_sha256 != fingerprint(definition):
        return None
    check_definition(kept, definition)
    return kept


def measure(
    args: argparse.Namespace, definition: SweepDefinition, source: TraceSource, kept: SweepResult | None
) -> SweepResult:
    """Warm up, then run what is not there yet, keeping the result after each prompt."""
    with time_limit(args.max_minutes) as cancelled:
        fresh, spec = _warmed_up(args, definition, source, cancelled)
        kept, result = _joined(args, kept, fresh)
        points = [] if kept is None else points_of(kept)
        keep = None if args.keep_traces is None else trace_keeper(args.keep_traces)
        found = sweep(source, spec, cancelled, tuple(points), keep)
        return _collected(args, spec, found, points, lambda: result)


def measure_spread(args: argparse.Namespace, definition: SweepDefinition, kept: SweepResult | None) -> SweepResult:
    """The same on the workers of a Ray cluster."""
    threads = definition.threads or 1
    cluster = Cluster(args.ray, args.workers, threads, gpus=int(definition.device.startswith("cuda")))
    make = partial(live_source, SharedModels(), threads)
    keep = None if args.keep_traces is None else packed_keeper(args.keep_traces)
    with (
        time_limit(args.max_minutes) as cancelled,
        spread(cluster, make, lambda line: err().line(printable(line, keep="")), keep) as spreading,
    ):
        err().line("waiting for the workers, which warm up…")
        ready = spreading.prepare(definition, _command(args), cancelled)
        _say_absent(ready.result)
        about = replace(ready.result.provenance, workers=tuple(spreading.workers))
        kept, result = _joined(args, kept, replace(ready.result, provenance=about))
        points = [] if kept is None else points_of(kept)
        earlier = () if kept is None else kept.provenance.workers

        def so_far() -> SweepResult:
            return replace(result, provenance=replace(result.provenance, workers=(*earlier, *spreading.workers)))

        sweep_points = spreading.points(cancelled, tuple(points), len(earlier))
        return _collected(args, ready.spec, sweep_points, points, so_far)


def _collected(
    args: argparse.Namespace,
    spec: SweepSpec,
    sweep_points: Iterator[SweepPoint],
    points: list[SweepPoint],
    header: Callable[[], SweepResult],
) -> SweepResult:
    """The result with the points as they come, kept after each prompt and, whatever happens, at the end."""
    try:
        for _ in _prompt_by_prompt(sweep_points, points, spec):
            _keep(args.out, header(), points)
    finally:
        _keep(args.out, header(), points)
    result = with_points(header(), points)
    if not result.complete:
        cure = "the same command goes on." if args.out else "with --out the same command would go on."
        err().line(f"stopped: {len(points)} of {result.planned_runs} runs are done; {cure}")
    return result


def _joined(
    args: argparse.Namespace, kept: SweepResult | None, fresh: SweepResult
) -> tuple[SweepResult | None, SweepResult]:
    """What is gone on with, and the header for it. Raises BenchError where they do not fit, unless asked to replace."""
    if kept is None:
        return None, fresh
    try:
        return kept, continued(kept, fresh)
    except BenchError as error:
        if not args.replace:
            raise
        err().line(printable(f"begun anew: {error}"))
        return None, fresh


def _warmed_up(
    args: argparse.Namespace, definition: SweepDefinition, source: TraceSource, cancelled: Cancelled
) -> tuple[SweepResult, SweepSpec]:
    """The result before its first point, and the sweep of those that can run here, the others being named."""
    spec = expand(definition, source.catalog())
    names = every_drafter(spec)
    err().line(f"warming up {len(names)} settings…")
    warm_ups = list(progress(warm_up(source, spec, cancelled), "warm-up", len(names)))
    spec = runnable(spec, warm_ups)
    result = introduce(source, definition, spec, warm_ups, _command(args))
    _say_absent(result)
    return result, spec


def _command(args: argparse.Namespace) -> str:
    return f"specviz bench sweep {args.file.name}"


def _say_absent(result: SweepResult) -> None:
    for one in result.absent:
        err().line(printable(f"left out: {one.name}: {one.reason}"))


def _prompt_by_prompt(sweep_points: Iterator[SweepPoint], points: list[SweepPoint], spec: SweepSpec) -> Iterator[None]:
    """Add the points as they come, with progress; yields whenever a prompt is done, which several may be at once."""
    before, began, total = len(points), time.monotonic(), run_count(spec)
    there = Counter(map(_place, points))
    whole = len(cases(spec))
    err().line(f"{total - before} runs of {total} to do…")
    for point in progress(sweep_points, "sweep", total - before):
        points.append(point)
        there[_place(point)] += 1
        if there[_place(point)] == whole:
            yield
            _say(len(points), total, (time.monotonic() - began) / (len(points) - before))


def _place(point: SweepPoint) -> tuple[str, int, float]:
    return point.prompt, point.repeat, point.temperature


def _say(done: int, total: int, seconds_each: float) -> None:
    """Progress where no terminal shows a bar."""
    if not err().stream.isatty():
        err().line(f"{done} of {total} runs, about {seconds_each * (total - done) / 60:.1f} min left")


def _keep(where: Path | None, result: SweepResult, points: Sequence[SweepPoint]) -> None:
    if where is not None and points:
        sweep_store.write(with_points(result, points), where)

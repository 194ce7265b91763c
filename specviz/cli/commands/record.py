"""`specviz record`: write the recorded traces that the page opens on.

Place in the flow: recordings.toml → trace source, plain decoding timed beside it → codec → assets/traces and its index.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from specviz.cli.recording import OPENING, filled_in, find_opening, write_opening
from specviz.cli.sources import live_source
from specviz.cli.terminal import err, out, printable, progress
from specviz.errors import OptionError, TraceError
from specviz.protocol import trainings
from specviz.protocol.choice import renamed
from specviz.protocol.runs import Catalog, PromptCard, RunRequest, TraceSource
from specviz.protocol.trainings import TrainingQuestion, Trains
from specviz.resources import RECORDINGS
from specviz.trace.events import Trace
from specviz.trace.summary import mean_acceptance_length

FOLDER = Path("assets") / "traces"
TRAINING = Path("assets") / "trainings" / "opening.json.gz"
TRAINING_PROMPT = "story-looked-sleepy"


@dataclass(frozen=True, slots=True)
class Recording:
    name: str
    request: RunRequest


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder",
        type=Path,
        default=FOLDER,
        metavar="DIR",
        help=f"holds {RECORDINGS}, gets the traces (default {FOLDER})",
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="record this one alone; may be repeated")
    parser.add_argument(
        "--fill-in", action="store_true",
        help="run what is recorded again and take over the numbers that it lacks (format 1.1: ranks, entropies, KL, "
        "overlap); its rounds, draws and times stay, and one that comes out otherwise is named and left alone",
    )  # fmt: skip
    parser.add_argument(
        "--ray", metavar="ADDRESS",
        help="record on the workers of a Ray cluster, one at a time on each machine: host:6379, auto, or local",
    )  # fmt: skip
    parser.add_argument("--target", metavar="NAME", help="another target than the list's")
    parser.add_argument("--drafter-model", metavar="NAME", help="another drafter model than the list's")
    parser.add_argument(
        "--training", metavar="MODULE",
        help=f"record nothing else than a training of this drafter module, as the Train tab shows it, in {TRAINING}",
    )  # fmt: skip
    parser.add_argument(
        "--minutes", type=float, default=TrainingQuestion().minutes, metavar="M",
        help="of that training (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--find-opening",
        action="store_true",
        help="search the prompts in plain English, some γ and seeds for the run that opens the page (a short, true "
        "text, in its first three rounds an acceptance, a rejection and a bonus, twice as fast as plain decoding), "
        f"write it into {RECORDINGS} and record it alone",
    )


def run(args: argparse.Namespace) -> int:
    from specviz.app.runs.gallery import as_recorded, write_index
    from specviz.bench.core.on_ray import each
    from specviz.trace import codec

    if args.ray is not None and (args.training or args.fill_in):
        raise OptionError("--ray spreads recordings; --training and --fill-in are made here: leave one of them out.")
    source = live_source()
    if args.training:
        return _record_training(source, args.training, args.minutes)
    if args.find_opening:
        opening = find_opening(source)
        write_opening(args.folder / RECORDINGS, opening)
        out().line(printable(opening.sentence, keep=""))
        args.only = [OPENING]
    overrides = {name: getattr(args, name) for name in ("target", "drafter_model") if getattr(args, name) is not None}
    first, recordings = read_list(args.folder / RECORDINGS, source.catalog(), overrides)
    unknown = sorted(set(args.only or []) - {recording.name for recording in recordings})
    if unknown:
        raise OptionError(
            f"--only is '{unknown[0]}', but {RECORDINGS} has: {', '.join(recording.name for recording in recordings)}."
        )
    wanted = [recording for recording in recordings if not args.only or recording.name in args.only]
    if args.fill_in:
        return _fill_in(source, args.folder, wanted)
    traces: Iterator[Trace]
    if args.ray is None:
        traces = (_record(source, one) for one in wanted)
    else:
        traces = map(codec.loads, each(args.ray, _recorded_elsewhere, wanted, alone=True))
    for one, made in zip(wanted, progress(traces, "recording", len(wanted)), strict=True):
        trace = as_recorded(made)
        codec.write(trace, args.folder / f"{one.name}.json.gz")
        length = mean_acceptance_length(trace.rounds)
        tau = "nothing drafted" if length is None else f"mean acceptance length {length:.2f}"
        out().line(f"{printable(one.name, keep='')}: {trace.summary.num_output_tokens} tokens, {tau}")
    write_index(args.folder, first if (args.folder / (first or "")).is_file() else None)
    return 0


def _fill_in(source: TraceSource, folder: Path, wanted: Sequence[Recording]) -> int:
    """Each recording that can be, with what it lacks; exit code 1 where one is left as it was."""
    from specviz.trace import codec
    from specviz.trace.codec import assemble

    left = []
    for one in progress(wanted, "filling in", len(wanted)):
        path = folder / f"{one.name}.json.gz"
        filled = filled_in(codec.read(path), assemble(source.run(one.request)))
        if filled is None:
            left.append(one.name)
        else:
            codec.write(filled, path)
    if left:
        err().line(printable(f"other runs by now, left as they are: {', '.join(left)}; record them anew.", keep=""))
    return 1 if left else 0


def _record_training(source: TraceSource, module: str, minutes: float) -> int:
    """The training of one module on the prompt that the page's tree is recorded with, step by step to its end."""
    from specviz.app.runs.gallery import as_recorded

    assert isinstance(source, Trains), "the live source trains."
    prompt = next(card.text for card in source.catalog().prompts if card.id == TRAINING_PROMPT)
    training = None
    for training in source.train(TrainingQuestion(module, minutes=minutes, prompt=prompt)):
        if training.held_out:
            last = training.held_out[-1]
            out().line(f"{last.seconds:.0f} s, {last.tokens} tokens: accepted {last.acceptance[0]:.3f} at depth 1")
    if training is None or not training.folder:
        raise TraceError(f"the training of '{module}' left nothing; run it again.")
    shipped = replace(training.shipped, trace=as_recorded(training.shipped.trace)) if training.shipped else None
    stages = tuple(replace(stage, trace=as_recorded(stage.trace)) for stage in training.stages)
    trainings.write(replace(training, stages=stages, shipped=shipped), TRAINING)
    source.forget(training.folder)
    return 0


def read_list(path: Path, catalog: Catalog, overrides: Mapping[str, Any]) -> tuple[str | None, list[Recording]]:
    """(file that opens the page, recordings). Raises OptionError naming the recording and what is wrong with it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"cannot read '{path}' ({error.strerror}); it lists what to record.") from None
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"'{path}' is not valid TOML: {error}.") from None
    recordings = [_recording(renamed(entry), catalog, overrides) for entry in content.get("recording", [])]
    first = content.get("first")
    return (f"{first}.json.gz" if first else None), recordings


def _recording(entry: dict[str, Any], catalog: Catalog, overrides: Mapping[str, Any]) -> Recording:
    name, prompt = entry.pop("name", "?"), entry.pop("prompt", "" if "scene" in entry else "?")
    entry.pop("comment", None)  # of the text, for whoever reads it: it changes no run
    card = (
        PromptCard("", "", "", "", "")
        if not prompt
        else next((one for one in catalog.prompts if one.id == prompt), None)
    )
    if card is None:
        raise OptionError(
            f"recording '{name}' names prompt '{prompt}', which is not in the set; see `specviz list prompts`."
        )
    options = entry.pop("options", {})
    unknown = sorted(set(entry) - {field.name for field in fields(RunRequest)})
    if unknown:
        raise OptionError(
            f"recording '{name}' has the unknown setting '{unknown[0]}'; settings are those of `specviz run`."
        )
    settings = entry if "scene" in entry else {**entry, **overrides}  # a picture needs its own captioner
    request = RunRequest(prompt=card.text, prompt_name=card.id or None, drafter_options=options, **settings)
    return Recording(name, request)


_SOURCES: list[TraceSource] = []
"""of a worker's process, which is given one recording after another"""


def _recorded_elsewhere(recording: Recording) -> bytes:
    """The recording as a `.json.gz` holds it; in a worker."""
    from specviz.trace import codec

    if not _SOURCES:
        _SOURCES.append(live_source())
    return codec.packed(_record(_SOURCES[0], recording))


def _record(source: TraceSource, recording: Recording) -> Trace:
    from specviz.protocol.plain import run_beside_plain
    from specviz.trace.check import check

    trace = run_beside_plain(source, recording.request)
    if trace.finished.reason == "failed":
        raise OptionError(f"recording '{recording.name}' failed: {trace.finished.message}")
    broken = [problem for problem in check(trace) if problem.severity == "error"]
    if broken:
        raise TraceError(f"recording '{recording.name}' contradicts itself ({broken[0]}); please report it.")
    return trace

"""`specviz record`: write the recorded traces that the page opens on.

Place in the flow: recordings.toml → trace source, plain decoding in turns → codec → assets/traces and its index.
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product, starmap
from pathlib import Path
from typing import Any

from specviz.bench.plain import WHOLE, run_beside_plain
from specviz.cli.sources import live_source
from specviz.cli.terminal import err, out, printable, progress
from specviz.corpus.plain_english.truth import untrue
from specviz.errors import OptionError, TraceError
from specviz.protocol import trainings
from specviz.protocol.choice import Choice, renamed, with_choices
from specviz.protocol.pairs import all_prompts, is_here
from specviz.protocol.runs import Catalog, PromptCard, RunRequest, TraceSource, setting_names
from specviz.protocol.trainings import TrainingQuestion, Trains
from specviz.resources import RECORDINGS
from specviz.theory.speedup import gain
from specviz.trace.check import check, errors
from specviz.trace.codec import assemble
from specviz.trace.events import VERSION, Node, Round, Trace
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
        "--fill-in",
        action="store_true",
        help="run what is recorded again and take over the numbers that it lacks (format 1.1: ranks, entropies, KL, "
        "overlap); its rounds, draws and times stay, and one that comes out otherwise is named and left alone",
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="record on the workers of a Ray cluster, one at a time on each machine: host:6379, auto, or local",
    )
    parser.add_argument("--only-target", metavar="NAME", help="record what the list has of this target alone")
    parser.add_argument("--target", metavar="NAME", help="another target than the list's")
    parser.add_argument("--drafter-model", metavar="NAME", help="another drafter model than the list's")
    parser.add_argument(
        "--training",
        metavar="MODULE",
        help=f"record nothing else than a training of this drafter module, as the Train tab shows it, in {TRAINING}",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=TrainingQuestion().minutes,
        metavar="M",
        help="of that training (default %(default)s)",
    )
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
    openings, recordings = read_list(args.folder / RECORDINGS, source.catalog(), overrides)
    unknown = sorted(set(args.only or []) - {recording.name for recording in recordings})
    if unknown:
        raise OptionError(
            f"--only is '{unknown[0]}', but {RECORDINGS} has: {', '.join(recording.name for recording in recordings)}."
        )
    wanted = _there(_wanted(args, recordings), source.catalog())
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
    write_index(args.folder, [file for file in openings if (args.folder / file).is_file()])
    return 0


def _wanted(args: argparse.Namespace, recordings: Sequence[Recording]) -> list[Recording]:
    target = args.only_target
    return [
        recording
        for recording in recordings
        if (not args.only or recording.name in args.only) and target in (None, recording.request.target)
    ]


def _there(wanted: Sequence[Recording], catalog: Catalog) -> list[Recording]:
    """Those whose target is on this machine; the others are named and left as they are."""
    kept = list(wanted)
    for pair in catalog.pairs:
        left = [recording.name for recording in kept if recording.request.target == pair.target]
        if left and not is_here(catalog, pair):
            said = f"{pair.title} is not on this machine; `specviz get {pair.target}` brings it."
            err().line(printable(f"{said} Left as they are: {', '.join(left)}.", keep=""))
            kept = [recording for recording in kept if recording.name not in left]
    return kept


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


def read_list(path: Path, catalog: Catalog, overrides: Mapping[str, Any]) -> tuple[list[str], list[Recording]]:
    """(files that open the page and what is of another target, recordings). Raises OptionError naming the recording and
    what is wrong with it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"cannot read '{path}' ({error.strerror}); it lists what to record.") from None
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"'{path}' is not valid TOML: {error}.") from None
    recordings = [_recording(renamed(entry), catalog, overrides) for entry in content.get("recording", [])]
    return [f"{name}.json.gz" for name in content.get("openings", [])], recordings


def _recording(entry: dict[str, Any], catalog: Catalog, overrides: Mapping[str, Any]) -> Recording:
    name, prompt = entry.pop("name", "?"), entry.pop("prompt", "" if "scene" in entry else "?")
    for said in ("comment", "read"):  # of the text, for whoever reads it: it changes no run
        entry.pop(said, None)
    card = (
        PromptCard("", "", "", "", "")
        if not prompt
        else next((one for one in all_prompts(catalog) if one.id == prompt), None)
    )
    if card is None:
        raise OptionError(
            f"recording '{name}' names prompt '{prompt}', which is not in the set; see `specviz list prompts`."
        )
    options = entry.pop("options", {})
    unknown = sorted(set(entry) - set(setting_names()))
    if unknown:
        raise OptionError(
            f"recording '{name}' has the unknown setting '{unknown[0]}'; settings are those of `specviz run`."
        )
    # a picture needs its own captioner, and a message a target that answers it
    settings = entry if "scene" in entry or "chat" in entry else {**entry, **overrides}
    if "chat" not in entry:  # our own models come out alike on every processor
        settings = {"dtype": "float32", **settings}
    request = RunRequest(
        card.text, prompt_name=card.id or None, **with_choices({**settings, "drafter_options": options})
    )
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
    from specviz.bench.plain import run_beside_plain
    from specviz.trace.check import check

    trace = run_beside_plain(source, recording.request)
    if trace.finished.reason == "failed":
        raise OptionError(f"recording '{recording.name}' failed: {trace.finished.message}")
    broken = [problem for problem in check(trace) if problem.severity == "error"]
    if broken:
        raise TraceError(f"recording '{recording.name}' contradicts itself ({broken[0]}); please report it.")
    return trace


OPENING = "opening"
"""name of the recording"""
GAMMAS = (4, 5, 6, 7)
DTYPE = "bfloat16"
"""number format of the run and of plain decoding: in it a pass over a draft costs little more than a plain pass"""
LEAST_GAIN = 2.0
WAYS = ((0.0, (7,)), (0.6, tuple(range(1, 9))), (1.0, tuple(range(1, 9))))
"""temperatures, the plainest story first, and the seeds tried at each; at 0 the seed changes nothing"""
TOKENS = 64
FEWEST, MOST = 12, 48
"""tokens of a story: enough for a few rounds, few enough to be read at once"""
TIMED = 12
"""so many of the shortest stories are timed against plain decoding, until one is fast enough"""


@dataclass(frozen=True, slots=True)
class Opening:
    """A run that tells the story."""

    card: PromptCard
    request: RunRequest
    trace: Trace

    @property
    def sentence(self) -> str:
        tokens, passes = self.trace.summary.num_output_tokens, self.trace.summary.num_target_passes
        ratio = gain(self.trace)
        timed = "" if ratio is None else f", {ratio:.2f}× plain decoding"
        return (
            f"{self.card.id}, T {self.request.temperature:g}, seed {self.request.seed}: {tokens} tokens in "
            f"{passes} passes{timed}"
        )


def find_opening(source: TraceSource) -> Opening:
    """The shortest run that tells the story and is twice as fast as plain decoding, the plainest temperature first.
    Raises OptionError where the prompts and seeds give none."""
    cards = [card for card in source.catalog().prompts if is_prose(card.text)]
    for temperature, seeds in WAYS:
        stories = sorted(
            _stories(source, cards, temperature, seeds), key=lambda opening: len(opening.trace.finished.output_ids)
        )
        for story in stories[:TIMED]:
            timed = replace(story, trace=run_beside_plain(source, story.request))
            if (gain(timed.trace) or 0) >= LEAST_GAIN:
                return timed
    raise OptionError(
        f"none of the {len(cards)} prompts in plain English gives a short, true run with an acceptance, a rejection "
        f"and a bonus in its first three rounds that is {LEAST_GAIN:g} times as fast as plain decoding; add prompts, "
        "or record another opening."
    )


def _stories(
    source: TraceSource, cards: Sequence[PromptCard], temperature: float, seeds: Sequence[int]
) -> Iterator[Opening]:
    for card, gamma, seed in product(cards, GAMMAS, seeds):
        request = RunRequest(
            prompt=card.text,
            prompt_name=card.id,
            drafter=Choice("model", {"gamma": gamma}),
            temperature=temperature,
            seed=seed,
            max_new_tokens=TOKENS,
            dtype=DTYPE,
        )
        trace = assemble(source.run(request))
        if tells(trace):
            yield Opening(card, request, trace)


def is_prose(text: str) -> bool:
    """Whether a prompt is one short line of plain English: words, sums and their punctuation, no code, no table."""
    plain = re.fullmatch(r"[A-Za-z0-9 ,.;:'’\"!?+=\-\n]+", text) is not None
    return plain and len(text) <= 160 and text.count("\n") <= 2


def tells(trace: Trace) -> bool:
    """Whether the run is short and true, ends by itself, and shows a full acceptance, some acceptance and a rejection
    in its first three rounds, none of them cut."""
    length = len(trace.finished.output_ids)
    if trace.finished.reason not in WHOLE[:2] or not FEWEST <= length <= MOST:
        return False
    early = [this for this in trace.rounds[:3] if not this.committed.trimmed]
    ends = {this.judged.origin for this in early}
    kept_some = any(this.judged.origin == "correction" and this.judged.path for this in early)
    if untrue(trace.started.prompt_text, trace.finished.text):
        return False
    return is_prose(trace.finished.text) and kept_some and {"bonus", "correction"} <= ends


def write_opening(path: Path, opening: Opening) -> None:
    """Put the run into the list as its first entry, in place of an earlier one, and let it open the page or, where a
    run of another target does so, what is of the bundled pair."""
    request, gamma = opening.request, opening.request.drafter.options["gamma"]
    entry = (
        f'[[recording]]\nname = "{OPENING}"\nprompt = {json.dumps(opening.card.id)}\n'
        f'drafter = "{request.drafter.name}"\n'
        f"options = {{ gamma = {gamma} }}\ntemperature = {request.temperature}\nseed = {request.seed}\n"
        f'max_new_tokens = {request.max_new_tokens}\ndtype = "{request.dtype}"\n\n'
    )
    text = path.read_text(encoding="utf-8")
    text = re.sub(rf'\[\[recording\]\]\nname = "{OPENING}"\n(?:[^\[\n][^\n]*\n)*\n*', "", text)
    kept = [name for name in tomllib.loads(text).get("openings", []) if name != OPENING]
    text = re.sub(r"(?m)^openings = .*$", f"openings = {json.dumps([*kept, OPENING])}", text, count=1)
    at = text.index("[[recording]]")
    path.write_text(text[:at] + entry + text[at:], encoding="utf-8")


NEAR = 1e-4
"""how far a probability may move from one process to another, and the run still be the same"""


def filled_in(recorded: Trace, again: Trace) -> Trace | None:
    """The recording with the ranks and agreements of `again`; None where the two are not the same run, or where the
    numbers would contradict what the recording holds."""
    pairs = list(zip(recorded.rounds, again.rounds, strict=False))
    if len(recorded.rounds) != len(again.rounds) or not all(starmap(_same, pairs)):
        return None
    rounds = [replace(was, nodes=list(map(_with_numbers, was.nodes, made.nodes))) for was, made in pairs]
    trace = replace(recorded, version=VERSION, rounds=rounds)
    return None if errors(check(trace)) else trace


def _with_numbers(was: Node, made: Node) -> Node:
    return replace(was, rank=made.rank, agreement=made.agreement, agreement_raw=made.agreement_raw)


def _same(was: Round, made: Round) -> bool:
    same_end = (was.judged.path, was.judged.token) == (made.judged.path, made.judged.token)
    return same_end and len(was.nodes) == len(made.nodes) and all(map(_same_node, was.nodes, made.nodes))


def _same_node(was: Node, made: Node) -> bool:
    same = (was.token, was.parent, was.kind, was.source) == (made.token, made.parent, made.kind, made.source)
    return same and _near(was.target_prob, made.target_prob) and _near(was.draft_prob, made.draft_prob)


def _near(was: float | None, made: float | None) -> bool:
    return was == made if was is None or made is None else abs(was - made) <= NEAR

"""Small models of six depths at equally many parameters: trained twice, distilled and by plain cross entropy; timed,
replayed on what the target wrote, and run in turns with plain decoding.

Interrupted, the training goes on from its folder. Of the distilled weights the shallowest and the deepest network's
are kept among the shipped modules.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transformers.utils.logging import disable_progress_bar

from specviz.bench.core.contest import first_prompts
from specviz.bench.core.report import machine_load, origin_here
from specviz.drafters.small_model import EXTREMES
from specviz.errors import BenchError
from specviz.lm.base import LanguageModel
from specviz.lm.load import LoadedModel
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.resources import ROOT
from specviz.studies.depth_width.compare import (
    ComparePlan,
    Trained,
    compare,
    matched_by_gamma,
    networks,
    run_short,
    text_networks,
    untrained,
)
from specviz.studies.depth_width.networks import DepthWidths, TextSet
from specviz.studies.depth_width.result import STUDY
from specviz.studies.depth_width.runs import (
    RecordedText,
    of_traces,
    time_passes,
    written,
)
from specviz.studies.depth_width.training import DepthStudy, by_family, folder_of, training_of
from specviz.studies.study import Table, Workplace
from specviz.trace import codec

MODULES = ROOT / "modules"
TARGET = "target"
FIRST, SECOND = "networks", "networks_text"
"""folders of weights in the work folder; those of the second set are not shipped"""
GAMMAS = range(1, 9)
MOST = 64
"""tokens of a text"""


def measure(workplace: Workplace) -> DepthWidths | None:
    """The whole study; or the part that the flags ask for, of which only the second set has a result."""
    args = workplace.args
    if args.replay is not None:
        _replay(workplace, args.replay)
        return None
    if args.train:
        _train(workplace)
        return None
    if args.second_set or args.times:
        assert STUDY.codec is not None, "the study keeps its result."
        kept = STUDY.codec.read(STUDY.path)
        return _with_second(workplace, kept) if args.second_set else _timed_anew(workplace, kept)
    return _run(workplace)


def _train(workplace: Workplace) -> None:
    """The first set alone, with `--write` among the shipped modules."""
    first = _first(workplace)
    workplace.show(f"Each network learnt from {first.train(_lines(workplace)):,} tokens.")
    if workplace.args.write is not None:
        _ship(first)


def _ship(first: DepthStudy) -> None:
    for name in map(folder_of, EXTREMES):
        shutil.copytree(first.out / name, MODULES / name, dirs_exist_ok=True)


def _run(workplace: Workplace) -> DepthWidths:
    first = _first(workplace)
    tokens = first.train(_lines(workplace))
    second = first.from_the_text(workplace.args.work_dir / SECOND)
    second.train(_lines(workplace))
    trained = _trained(workplace, first)
    here = _at_hand(workplace)
    plan = ComparePlan(repeats=workplace.args.repeats)
    found = compare(here.target.model, here.source, trained, here.prompts, here.request, plan, workplace.say)
    if workplace.args.write is not None:
        _ship(first)
    origin = origin_here(here.target)
    command = f"specviz study depth-width --minutes {workplace.args.minutes:g} --write"
    return DepthWidths(
        found.networks,
        round(first.target_perplexity(), 3),
        found.timed.passes,
        found.plain,
        found.measured,
        tokens,
        first.training.loss,
        len(found.texts),
        found.replayed_tokens,
        plan.timed,
        machine_load(),
        origin.weights,
        command,
        str(origin),
        _text_set(workplace, second, here, found.texts, command),
    )


def _with_second(workplace: Workplace, kept: DepthWidths) -> DepthWidths:
    """The kept result with a second set added, replayed on the texts of the first."""
    first = _first(workplace)
    if first.tokens != kept.tokens:
        raise BenchError(
            f"{workplace.args.work_dir} holds a training of {first.tokens:,} tokens, but the networks of the kept "
            f"result learnt from {kept.tokens:,}; give the work folder of that training, or leave out --second-set to "
            "do all anew."
        )
    here = _at_hand(workplace)
    _check_target(kept, here.target.model)
    texts = written(here.source, here.prompts, here.request, workplace.say)
    tokens = sum(len(text.tokens) - text.start for text in texts)
    if (len(texts), tokens) != (kept.replayed_prompts, kept.replayed_tokens):
        raise BenchError(
            f"the target wrote {tokens:,} tokens after {len(texts)} prompts, but the first set was replayed on "
            f"{kept.replayed_tokens:,} after {kept.replayed_prompts}; leave out --second-set to do all anew."
        )
    second = first.from_the_text(workplace.args.work_dir / SECOND)
    second.train(_lines(workplace))
    return replace(
        kept, text_set=_text_set(workplace, second, here, texts, "specviz study depth-width --second-set --write")
    )


def _timed_anew(workplace: Workplace, kept: DepthWidths) -> DepthWidths:
    """The kept result with steps, passes and runs of today. Shapes are timed untrained: a pass takes as long whatever
    its weights say. The shipped networks are run in the engine."""
    here = _at_hand(workplace)
    target = here.target.model
    _check_target(kept, target)
    plan = ComparePlan(repeats=workplace.args.repeats)
    timed = time_passes(target, untrained(target, [network.name for network in kept.networks]), plan.gammas, plan.timed)
    workplace.say("timed every network and the target")
    folders = {name: MODULES / folder_of(name) for name in EXTREMES}
    texts = written(here.source, here.prompts, here.request, workplace.say)
    ran = run_short(here.source, folders, here.prompts, texts, here.request, plan, workplace.say)
    return replace(
        kept,
        networks=tuple(replace(network, step=timed.steps[network.name]) for network in kept.networks),
        passes=timed.passes,
        plain_tokens_per_s=ran.plain(),
        measured=tuple(ran.measured()),
        repeats=plan.timed,
        load=machine_load(),
        times_origin=str(origin_here(here.target)),
    )


def _check_target(kept: DepthWidths, target: LanguageModel) -> None:
    if target.info.weights_sha256 not in kept.models.values():
        raise BenchError("the kept result is of another target; do all of the study anew.")


def _text_set(
    workplace: Workplace, second: DepthStudy, here: _AtHand, texts: Sequence[RecordedText], command: str
) -> TextSet:
    networks = text_networks(here.target.model, _trained(workplace, second), texts, GAMMAS, here.request.max_new_tokens)
    return TextSet(
        networks,
        second.tokens,
        second.training.loss,
        round(second.written_share, 4),
        command,
        str(origin_here(here.target)),
    )


def _first(workplace: Workplace) -> DepthStudy:
    """The distilled set: begun, under way or finished."""
    args = workplace.args
    disable_progress_bar()
    workplace.make_way()
    return DepthStudy(training_of(args.minutes, args.tokens, TARGET, args.work_dir), args.work_dir / FIRST)


@dataclass(frozen=True)
class _AtHand:
    """The target that writes and runs, and what it is asked."""

    target: LoadedModel
    source: TraceSource
    prompts: Sequence[PromptCard]
    request: RunRequest


def _at_hand(workplace: Workplace) -> _AtHand:
    source = workplace.source()
    return _AtHand(
        workplace.model(TARGET),
        source,
        first_prompts(source.catalog(), workplace.args.prompts),
        RunRequest("", max_new_tokens=MOST, dtype="float32", device="cpu", record=False),
    )


def _trained(workplace: Workplace, study: DepthStudy) -> list[Trained]:
    found = []
    for family, name, one in by_family(dict(study.qualities())):
        folder = study.out / folder_of(name)
        found.append(Trained(family, name, folder, one.parameters, one.perplexity, one.agreement, one.acceptance))
        workplace.say(f"{name}  perplexity {one.perplexity:.2f}  agreement {one.agreement:.3f}  α {one.acceptance:.3f}")
    return found


def _lines(workplace: Workplace) -> Callable[[dict[str, Any]], None]:
    """Training's rows, shortened: of each network its acceptance at depth 1."""

    def report(row: dict[str, Any]) -> None:
        line = {name: row[name] for name in ("step", "tokens", "elapsed_s")}
        if "held_out" in row:
            line |= {label: held["acceptance"][0] for label, held in row["held_out"].items()}
        if "held_out" in row or row["step"] % 50 == 0:
            workplace.row(line)

    return report


def _replay(workplace: Workplace, files: Sequence[Path]) -> None:
    """Matched tokens per round of the shipped networks on recorded texts, which need no pass of the target."""
    target = workplace.model(TARGET).model
    traces = (codec.read(file) for file in files or sorted((ROOT / "traces").glob("*.json.gz")))
    texts = of_traces(traces, target.info.weights_sha256)
    most = max(len(recorded_text.tokens) - recorded_text.start for recorded_text in texts)
    shipped = {name: MODULES / folder_of(name) for name in EXTREMES}
    rows = []
    for name, model in networks(target, shipped).items():
        matched = matched_by_gamma(model, texts, GAMMAS, most)
        rows.append(
            [f"`{name}`", *(f"{estimate.value:.2f} [{estimate.low:.2f}–{estimate.high:.2f}]" for estimate in matched)]
        )
    tokens = sum(len(recorded_text.tokens) - recorded_text.start for recorded_text in texts)
    workplace.show(
        f"Replayed on {tokens:,} tokens in {len(texts)} texts that the target wrote, with no pass of the target: "
        "drafted tokens matched per round, by layers x width and γ, greedy [95 % over resampled texts]."
    )
    workplace.show(Table(("network", *(f"γ = {gamma}" for gamma in GAMMAS)), rows).markdown())

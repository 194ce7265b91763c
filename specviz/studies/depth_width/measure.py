"""Small models of six depths at equally many parameters: trained twice, distilled and by plain cross entropy; timed,
replayed on what the target wrote, and run in turns with plain decoding.

Interrupted, the training goes on from its folder. Of the distilled weights the shallowest and the deepest network's
are kept among the shipped modules.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transformers.utils.logging import disable_progress_bar

from specviz.bench.core.contest import first_prompts
from specviz.bench.core.report import machine_load, origin_here
from specviz.drafters.learned.weights import read_module
from specviz.drafters.small_model import EXTREMES, SmallModelModule, block_parameters, running_parameters, shape_of
from specviz.errors import BenchError
from specviz.lm.base import GivesFeatures, LanguageModel
from specviz.lm.load import LoadedModel
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.intervals import Estimate, ratio_of_sums
from specviz.resources import ROOT
from specviz.studies.depth_width.networks import DepthWidths, Measured, Network, TextNetwork, TextSet
from specviz.studies.depth_width.result import STUDY
from specviz.studies.depth_width.runs import (
    RecordedText,
    TimedPasses,
    counted,
    hits,
    of_traces,
    run,
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
    if args.second_set:
        assert STUDY.codec is not None, "the study keeps its result."
        return _with_second(workplace, STUDY.codec.read(STUDY.path))
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
    if here.target.model.info.weights_sha256 not in kept.models.values():
        raise BenchError("the kept result is of another target; leave out --second-set to do all anew.")
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


@dataclass(frozen=True, slots=True)
class Trained:
    """A network of a family, and what is known of it from training."""

    family: str
    name: str
    folder: Path
    """of its weights"""
    parameters: int
    perplexity: float
    agreement: float
    acceptance: float


@dataclass(frozen=True, slots=True)
class ComparePlan:
    """How much is measured."""

    gammas: Sequence[int] = range(1, 9)
    run_gammas: tuple[int, ...] = (1, 2, 4)
    """that are run in the engine too"""
    timed: int = 40
    """rounds of everything that is timed"""
    run_prompts: int = 5
    repeats: int = 1
    """of every run"""
    run_tokens: int = 32


@dataclass(frozen=True, slots=True)
class Compared:
    networks: tuple[Network, ...]
    timed: TimedPasses
    plain: Estimate
    measured: tuple[Measured, ...]
    texts: tuple[RecordedText, ...]

    @property
    def replayed_tokens(self) -> int:
        return sum(len(text.tokens) - text.start for text in self.texts)


def compare(
    target: LanguageModel,
    source: TraceSource,
    trained: Sequence[Trained],
    prompts: Sequence[PromptCard],
    request: RunRequest,
    plan: ComparePlan,
    report: Callable[[str], None] = lambda line: None,
) -> Compared:
    """`prompts` are all replayed on; some, of different families and with texts long enough, are run. `request`:
    target, length of the replayed texts, and dtype. Raises BenchError where all texts are too short."""
    folders = {one.name: one.folder for one in trained}
    models = networks(target, folders)
    timed = time_passes(target, models, plan.gammas, plan.timed)
    report("timed every network and the target")
    texts = written(source, prompts, request, report)
    matched = {
        name: matched_by_gamma(language_model, texts, plan.gammas, request.max_new_tokens)
        for name, language_model in models.items()
    }
    ways = [(name, gamma) for name in folders for gamma in plan.run_gammas]
    short = replace(request, max_new_tokens=plan.run_tokens)
    ran = run(source, _to_run(prompts, texts, plan), ways, folders, short, plan.repeats, report)
    found = tuple(_network(one, target, timed, matched[one.name]) for one in trained)
    return Compared(found, timed, ran.plain(), tuple(ran.measured()), tuple(texts))


def text_networks(
    target: LanguageModel, trained: Sequence[Trained], texts: Sequence[RecordedText], gammas: Sequence[int], most: int
) -> tuple[TextNetwork, ...]:
    """The networks of the second set, each once, replayed on the texts of the first; nothing is timed. `most` as in
    `matched_by_gamma`, whose errors it raises."""
    models = networks(target, {one.name: one.folder for one in trained})
    return tuple(
        TextNetwork(one.name, *_quality(one), matched_by_gamma(models[one.name], texts, gammas, most))
        for one in {one.name: one for one in trained}.values()
    )


def _to_run(prompts: Sequence[PromptCard], texts: Sequence[RecordedText], plan: ComparePlan) -> list[PromptCard]:
    """The first of each family whose text is as long as a run, spread over the families."""
    long_enough = {
        recorded_text.prompt
        for recorded_text in texts
        if len(recorded_text.tokens) - recorded_text.start >= plan.run_tokens
    }
    first = list(
        {prompt_card.family: prompt_card for prompt_card in reversed(prompts) if prompt_card.id in long_enough}.values()
    )[::-1]
    if not first:
        raise BenchError(f"no text of the target has {plan.run_tokens} tokens, too few to time; take other prompts.")
    wanted = min(plan.run_prompts, len(first))
    return [first[number * len(first) // wanted] for number in range(wanted)]


def networks(target: LanguageModel, folders: Mapping[str, Path]) -> dict[str, LanguageModel]:
    """Every network as the model it runs as. Raises ModelError where a folder holds none for this target."""
    assert isinstance(target, GivesFeatures), "this target gives no embedding."
    found: dict[str, LanguageModel] = {}
    for name, folder in folders.items():
        module = read_module(folder, target)
        assert isinstance(module, SmallModelModule), f"{folder.name} holds a '{module.name}'."
        found[name] = module.as_model()
    return found


def matched_by_gamma(
    drafter: LanguageModel, texts: Sequence[RecordedText], gammas: Sequence[int], most: int
) -> tuple[Estimate, ...]:
    """Drafted tokens kept per round at each γ, by replay; `most`: tokens that each text might have had. Raises
    BenchError where no text has room for a draft."""
    found = [hits(drafter, text) for text in texts]
    estimates = [ratio_of_sums([counted(one, gamma, most) for one in found]) for gamma in gammas]
    if not all(estimates):
        raise BenchError("these texts have one token each, so nothing was drafted; give longer ones.")
    return tuple(Estimate(*(round(value, 4) for value in estimate)) for estimate in estimates if estimate is not None)


def _network(trained: Trained, target: LanguageModel, timed: TimedPasses, matched: tuple[Estimate, ...]) -> Network:
    layers, size = shape_of(trained.name)
    return Network(
        trained.family,
        trained.name,
        layers,
        size,
        block_parameters(layers, size),
        running_parameters(layers, size, target.info.vocab_size),
        trained.parameters,
        *_quality(trained),
        matched,
        timed.steps[trained.name],
    )


def _quality(trained: Trained) -> tuple[float, float, float]:
    """Perplexity, agreement and acceptance as they are kept."""
    return round(trained.perplexity, 3), round(trained.agreement, 4), round(trained.acceptance, 4)

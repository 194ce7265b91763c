"""Networks held against one another: every one timed, replayed on what the target wrote, and run in the engine in turns
with plain decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from specviz.drafters.learned.module import TargetParts
from specviz.drafters.learned.weights import read_module
from specviz.drafters.small_model import (
    SmallModelModule,
    SmallModelShape,
    block_parameters,
    running_parameters,
    shape_of,
)
from specviz.errors import BenchError
from specviz.lm.base import GivesFeatures, LanguageModel
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.intervals import Estimate, ratio_of_sums
from specviz.studies.depth_width.networks import Measured, Network, TextNetwork
from specviz.studies.depth_width.runs import (
    RecordedText,
    Runs,
    TimedPasses,
    counted,
    hits,
    run,
    time_passes,
    written,
)


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
    ran = run_short(source, folders, prompts, texts, request, plan, report)
    found = tuple(_network(one, target, timed, matched[one.name]) for one in trained)
    return Compared(found, timed, ran.plain(), tuple(ran.measured()), tuple(texts))


def run_short(
    source: TraceSource,
    folders: Mapping[str, Path],
    prompts: Sequence[PromptCard],
    texts: Sequence[RecordedText],
    request: RunRequest,
    plan: ComparePlan,
    report: Callable[[str], None],
) -> Runs:
    """Networks by the folders of their weights, in the engine, on the prompts whose texts are long enough. Raises
    BenchError as `compare` does."""
    ways = [(name, gamma) for name in folders for gamma in plan.run_gammas]
    short = replace(request, max_new_tokens=plan.run_tokens)
    return run(source, _to_run(prompts, texts, plan), ways, folders, short, plan.repeats, report)


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


def untrained(target: LanguageModel, names: Iterable[str]) -> dict[str, LanguageModel]:
    """Networks of these shapes that learnt nothing, as the models they run as."""
    assert isinstance(target, GivesFeatures), "this target gives no embedding."
    parts = TargetParts.of(target)

    def model(layers: int, size: int) -> LanguageModel:
        return SmallModelModule(parts, SmallModelShape(size, layers)).as_model()

    return {name: model(*shape_of(name)) for name in names}


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

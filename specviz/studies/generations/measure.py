"""Every generation on the same prompts beside plain decoding, in turns, on the processor's clock.

Two sets of weights: those that `training` made with one budget for all, and those that are shipped, which learnt
unequally long. Place in the flow: `specviz study generations` hands in the models.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from specviz.bench.core.contest import first_prompts, interleaved
from specviz.bench.core.report import machine_load, now_utc, origin_here
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS, Drafter, DraftPolicies
from specviz.drafters.capabilities import UsesModel, with_model
from specviz.drafters.drafting.growing import GrowingDrafter
from specviz.drafters.learned.weights import keeping
from specviz.engine.session import Method, RoundRecord, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.errors import BenchError
from specviz.lm.load import LoadedModel
from specviz.options import Options
from specviz.protocol.runs import PromptCard
from specviz.protocol.sweeps.points import quartiles
from specviz.protocol.trainings import SHIPPED
from specviz.resources import ROOT
from specviz.studies.generations.native import NativeTraining, arms
from specviz.studies.generations.result import EQUAL, SHIPPED_AS, STUDY, GenerationRow, GenerationsFile
from specviz.studies.generations.training import NETWORKS, GenerationTraining, train, weights_of
from specviz.studies.study import Workplace
from specviz.theory.speedup import times_as_fast
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS

CHAINS = frozenset({"medusa", "markov", "hydra", "masked_block"})
"""drafters that would draft a tree of their drafting unless they are told not to"""
BUDGET = 12
"""candidates of a tree over a block"""
TOP, BLOCK = "model", "dflash"
"""of the labels: what others are compared with, and over whose block the tree grows"""
TREE = "ddtree"
PLAIN = ("", "plain")


@dataclass(frozen=True, slots=True)
class Way:
    """One generation with one set of weights; plain decoding has neither."""

    weights: str
    generation: str
    drafter: str
    options: Mapping[str, Any]
    tree_policy: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.weights, self.generation


@dataclass(frozen=True, slots=True)
class Text:
    """One text as one way wrote it; seconds are the processor's."""

    output: list[int]
    seconds: float
    draft_s: float
    records: list[RoundRecord]


def measure(workplace: Workplace) -> GenerationsFile:
    """Train what is not trained yet, then decode."""
    args, work = workplace.args, Path(workplace.args.work_dir)
    workplace.make_way()
    target, drafter = workplace.pair()
    cards = first_prompts(workplace.source().catalog(), args.prompts)
    models = {model.info.name: model.info.weights_sha256 for model in (target, drafter)}
    run = (args.gamma, BUDGET, len(cards), args.max_new_tokens)
    if args.shipped_only:
        kept = kept_result(run, models)
        taught, native, ways = kept.taught, kept.native, list(_shipped(args.gamma))
    else:
        kept = None
        taught = train(GenerationTraining(args.target, args.train_tokens, args.minutes, work), workplace.say)
        native = arms(NativeTraining(args.target, args.native_tokens, work), workplace.say)
        ways = [*_equal(work, args.gamma), *_shipped(args.gamma)]
    with keeping(len(NETWORKS)):
        rows = _rows(workplace, ways, target, drafter, cards)
    origin = str(origin_here(target, drafter))
    measured = GenerationsFile(rows, taught, native, *run, machine_load() or 0.0, now_utc(), models, origin)
    return measured if kept is None else beside(kept, measured)


def kept_result(run: tuple[int, ...], models: Mapping[str, str]) -> GenerationsFile:
    """The result whose equal training stays. Raises BenchError where it was measured otherwise: what does not stand
    side by side is not put there."""
    assert STUDY.codec is not None, "this study keeps its result."
    kept: GenerationsFile = STUDY.codec.read(STUDY.path)
    if (kept.gamma, kept.budget, kept.prompts, kept.max_new_tokens) != run or kept.models != models:
        raise BenchError(
            "the kept result was measured with other models, prompts or lengths, so its equal training cannot stay; "
            "give the same, or leave out --shipped-only."
        )
    return kept


def beside(kept: GenerationsFile, measured: GenerationsFile) -> GenerationsFile:
    """What was measured of the shipped weights, and all else as it was kept."""
    earlier = kept.earlier or f"{kept.load:.0f} programs wanted the processor. {kept.origin}"
    return replace(measured, rows=(*kept.of(EQUAL), *measured.rows), earlier=earlier)


def _rows(
    workplace: Workplace, ways: Sequence[Way], target: LoadedModel, drafter: LoadedModel, cards: Sequence[PromptCard]
) -> tuple[GenerationRow, ...]:
    """Every way on every prompt, in turns with plain decoding."""
    texts: defaultdict[tuple[str, str], list[Text]] = defaultdict(list)
    for _, card, order in interleaved([Way(*PLAIN, "none", {}), *ways], cards):
        for way in order:
            texts[way.key].append(_written(way, target, drafter, card, workplace.args.max_new_tokens))
        workplace.say(card.id)
    return tuple(_row(way, texts[way.key], texts[PLAIN]) for way in ways)


def _equal(work: Path, gamma: int) -> Iterator[Way]:
    """What `training` made: the tree grows over the block of `dflash`."""
    for label, (module, _) in NETWORKS.items():
        yield from _of(EQUAL, label, module, str(weights_of(work, label)), gamma)


def _shipped(gamma: int) -> Iterator[Way]:
    """All that there are weights for."""
    yield Way(SHIPPED_AS, TOP, "model", {"gamma": gamma})
    for label, (module, options) in NETWORKS.items():
        if label != TOP and not options:
            yield from _of(SHIPPED_AS, label, module, SHIPPED, gamma)


def _of(weights: str, label: str, drafter: str, folder: str, gamma: int) -> Iterator[Way]:
    options = {"weights": folder, "gamma": gamma, **({"nodes": 0} if drafter in CHAINS else {})}
    yield Way(weights, label, drafter, options)
    if label == BLOCK:
        yield Way(weights, TREE, drafter, options, TREE)


def _written(way: Way, target: LoadedModel, drafter: LoadedModel, card: PromptCard, most: int) -> Text:
    """Greedily. The pass over the prompt is not counted."""
    drafting: Drafter[Options] = DRAFTERS.get(way.drafter).of(dict(way.options))
    if isinstance(drafting, UsesModel):
        drafting = with_model(drafting, drafter.model)
    if way.tree_policy:
        assert isinstance(drafting, GrowingDrafter), f"'{drafting.name}' grows no tree."
        drafting.follow(DraftPolicies(TREE_POLICIES.get(way.tree_policy).of({"budget": BUDGET})))
    spent = list[float]()
    propose = drafting.propose

    def timed(context: Any) -> Any:
        began = time.process_time()
        proposal = propose(context)
        spent.append(time.process_time() - began)
        return proposal

    setattr(drafting, "propose", timed)  # noqa: B010  # of this one run, whose drafts are timed by the processor's clock
    method = Method(drafting, VERIFIERS.get("greedy").of({}), Sampling(0.0), SeededRandom(0))
    ids = target.tokenizer.encode(card.text)
    ending = Ending(Limits(most, frozenset(target.info.eos_ids)), lambda token: b"")
    session, records = Session(target.model, method, Start(ids), ending), list[RoundRecord]()
    session.begin()
    began = time.process_time()
    while session.finished is None:
        records.append(session.round())
    return Text(session.tokens[len(ids) :], time.process_time() - began, sum(spent), records)


def _row(way: Way, texts: Sequence[Text], plain: Sequence[Text]) -> GenerationRow:
    ratios = [
        times_as_fast(len(text.output) / text.seconds, len(base.output) / base.seconds)
        for text, base in zip(texts, plain, strict=True)
        if text.output and base.output
    ]
    if not ratios:
        raise BenchError("no text was written; give prompts that leave room for one.")
    rounds = sum(len(text.records) for text in texts)
    low, middle, high = quartiles(ratios)
    return GenerationRow(
        way.generation,
        way.weights,
        tokens_of(way) if way.weights == SHIPPED_AS else None,
        levels([record for text in texts for record in text.records]),
        sum(len(text.output) for text in texts),
        rounds,
        round(1000 * fmean(text.draft_s / max(1, len(text.records)) for text in texts), 3),
        round(1000 * fmean(text.seconds / max(1, len(text.records)) for text in texts), 3),
        round(low, 3),
        round(middle, 3),
        round(high, 3),
        sum(text.output == base.output for text, base in zip(texts, plain, strict=True)),
        len(texts),
    )


def levels(records: Sequence[RoundRecord]) -> tuple[tuple[int, int], ...]:
    """By position from 1 on: (rounds that asked the target about a candidate there, rounds that accepted one), each
    given that everything before it was accepted."""
    tested, accepted = defaultdict[int, int](int), defaultdict[int, int](int)
    for record in records:
        path = list(record.verdict.path)
        for depth in range(1, len(path) + 1):
            tested[depth] += 1
            accepted[depth] += 1
        last = path[-1] if path else 0
        if last in record.proposal.tree.parents[1:]:
            tested[len(path) + 1] += 1
    return tuple((tested[depth], accepted[depth]) for depth in sorted(tested))


def tokens_of(way: Way) -> int:
    """That shipped weights learnt from, with those of the weights they began with."""
    folder = ROOT / "models" / "drafter" if way.generation == TOP else ROOT / "modules" / way.drafter
    file = folder / ("training.json" if way.generation == TOP else "module.json")
    card = json.loads(file.read_text(encoding="utf-8"))
    training = card if way.generation == TOP else card["training"]
    total = 0
    while training:
        total, training = total + int(training["tokens"]), training.get("started_from")
    return total

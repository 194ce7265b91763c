"""The same texts, decoded plainly and speculatively in batches of several sizes, interleaved on one clock.

Place in the flow: `specviz study batches` hands in models and prompts; `result` makes numbers of what comes back.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from statistics import median

import numpy as np

from specviz.batch.budget import Budget, BudgetStopPolicy, Grants, Prices
from specviz.batch.pass_times import PassTimes, pass_times, switch_times
from specviz.batch.together import Clock, Decoded, Model, Seat, SessionOf, Turn, Written, decode_together
from specviz.bench.core.contest import rotated
from specviz.bench.core.passes import work_clock
from specviz.bench.core.report import machine_load, now_utc, origin_here
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS, DraftPolicies
from specviz.drafters.capabilities import with_model
from specviz.drafters.model import ModelDrafter
from specviz.engine.pairing import follow
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.errors import ModelError, OptionError
from specviz.lm.base import GivesBatches, LanguageModel
from specviz.lm.load import LoadedModel
from specviz.options import several_numbers
from specviz.protocol.runs import PromptCard
from specviz.stop_policies.base import LONGEST, StopOptions
from specviz.studies.batches.points import FORMAT, PLAIN, VERSION, BatchFile, BatchPoint, BatchText, Shape, by_budget
from specviz.studies.study import Workplace
from specviz.verifiers.base import VERIFIERS

Tokens = Sequence[int]
Key = tuple[Shape, int]
"""a way of decoding, and the size of its batches"""
HANDLED = 4
"""texts by which it is measured what a candidate costs outside the passes"""
HANDLINGS = 5
"""times that it is measured"""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What is compared."""

    prompts: Sequence[tuple[str, Tokens]]
    """id and tokens; as many as fill batches of every size"""
    sizes: tuple[int, ...]
    shapes: tuple[Shape, ...]
    """in addition to plain decoding"""
    sampling: Sampling
    seed: int
    """of the first prompt; the next has the next, in a batch of any size"""
    limits: Limits
    repeats: int

    def __post_init__(self) -> None:
        """Raises OptionError where the texts do not fill batches of every size."""
        for size in self.sizes:
            if len(self.prompts) % size:
                raise OptionError(
                    f"{len(self.prompts)} texts do not fill batches of {size}; every size is measured on the same "
                    "texts, so give a number of texts that all sizes divide."
                )


@dataclass(frozen=True, slots=True)
class Compared:
    clock: str
    points: tuple[BatchPoint, ...]
    texts: tuple[BatchText, ...]


def measure(workplace: Workplace) -> BatchFile:
    """Raises OptionError and ModelError for what cannot be measured, before a model has read the prompts."""
    args = workplace.args
    cards = _prompts(args, workplace.source().catalog().prompts)
    plan = _plan(args, cards)
    target, drafter = workplace.pair()
    compared = compare(_batching(target), _batching(drafter), _with_tokens(plan, cards, target), workplace.say)
    origin = origin_here(target, drafter)
    return BatchFile(
        FORMAT, VERSION, origin.machine, origin.target, origin.drafters[0], now_utc(), compared.clock, machine_load(),
        args.temperature, args.seed, args.max_new_tokens, compared.points, compared.texts,
    )  # fmt: skip


def compare(
    target: GivesBatches, drafter: GivesBatches, plan: BatchPlan, report: Callable[[str], None] = lambda line: None
) -> Compared:
    """Every size in every way, `repeats` times in orders that rotate, after every text was decoded alone, which warms
    everything up and is what texts are held against."""
    clock, name_of_clock = work_clock(target.device)
    levels = max(map(len, plan.shapes))
    times = {Turn.TARGET: pass_times(target, plan.sizes, levels, clock)}
    times[Turn.DRAFTER] = pass_times(drafter, plan.sizes, levels, clock)
    prices = _prices(target, drafter, plan, times, clock)
    ways = (PLAIN, *plan.shapes)
    alone = {
        shape: [_alone(target, drafter, make) for make in _sessions(plan, shape, Budget(prices))] for shape in ways
    }
    report("each text alone")
    points = list[BatchPoint]()
    last: dict[Key, list[Decoded]] = {}
    apart: defaultdict[Key, set[int]] = defaultdict(set)
    for repeat in range(plan.repeats):
        for size in rotated(plan.sizes, repeat):
            found: dict[Shape, list[Decoded]] = {shape: [] for shape in ways}
            for number, start in enumerate(range(0, len(plan.prompts), size)):
                for shape in rotated(ways, repeat + number):
                    budget = Budget(prices)
                    sessions = _sessions(plan, shape, budget)[start : start + size]
                    decoded = decode_together(_model(target), _model(drafter), sessions, clock, budget)
                    found[shape].append(decoded)
                    texts = enumerate(decoded.texts, start)
                    apart[shape, size] |= {index for index, one in texts if one.tokens != alone[shape][index]}
            points += (_point(shape, size, repeat, batches, times) for shape, batches in found.items())
            last |= {(shape, size): batches for shape, batches in found.items()}
            report(f"batches of {size}, repeat {repeat + 1} of {plan.repeats}")
    return Compared(name_of_clock, tuple(points), tuple(_texts(plan, last, apart)))


def _prices(
    target: GivesBatches, drafter: GivesBatches, plan: BatchPlan, times: dict[Turn, PassTimes], clock: Clock
) -> Prices:
    """Passes as they were measured, and what a candidate costs outside them, where it matters."""
    budgets = list(filter(by_budget, plan.shapes))
    seconds = times[Turn.TARGET].seconds, times[Turn.DRAFTER].seconds
    most = max(plan.sizes), max(map(len, plan.shapes))
    if not budgets:
        return Prices.of(*seconds, *most)
    switches = switch_times(target, drafter, sorted(plan.sizes), clock)
    return Prices.of(
        *seconds,
        *most,
        _handling_s(target, drafter, plan, max(budgets, key=len), clock),
        lambda texts: float(np.interp(texts, list(switches), list(switches.values()))),
    )


def _handling_s(target: GivesBatches, drafter: GivesBatches, plan: BatchPlan, longest: Shape, clock: Clock) -> float:
    """Seconds of a candidate outside the passes: the same few texts plainly, and with every candidate granted, in
    turns. The median, since a round that is disturbed once would keep the budget from drafting for the whole study."""
    free = Prices.of(lambda texts, rows: 1.0, lambda texts, rows: 0.0, HANDLED, len(longest))

    def outside(shape: Shape) -> tuple[float, list[Written]]:
        budget = Budget(free)
        sessions = _sessions(plan, shape, budget)[:HANDLED]
        decoded = decode_together(_model(target), _model(drafter), sessions, clock, budget)
        return decoded.seconds - decoded.pass_s, decoded.texts

    taken = list[float]()
    for _ in range(1 + HANDLINGS):  # the first warms up
        (plain_s, plain), (seconds, drafting) = outside(PLAIN), outside(longest)
        round_s = plain_s / sum(text.rounds for text in plain)
        drafted = sum(text.drafted for text in drafting)
        taken.append(max(0.0, seconds - round_s * sum(text.rounds for text in drafting)) / max(1, drafted))
    return median(taken[1:])


def _model(model: GivesBatches) -> Model:
    return Model(model, model.new_batch())


def _sessions(plan: BatchPlan, shape: Shape, budget: Budget) -> list[SessionOf]:
    return [_session(plan, shape, number, budget) for number in range(len(plan.prompts))]


def _session(plan: BatchPlan, shape: Shape, number: int, budget: Budget) -> SessionOf:
    def make(target: LanguageModel, drafter: LanguageModel) -> Session:
        options = {} if shape == PLAIN else {"branching": tuple(children or 1 for children in shape)}
        drafting = with_model(DRAFTERS.get("none" if shape == PLAIN else "model").of(options), drafter)
        if by_budget(shape):
            alone: Grants = lambda wish: budget.grant([wish])[0]  # noqa: E731
            grants = target.grants if isinstance(target, Seat) else alone
            tokens = plan.limits.max_new_tokens
            policy = BudgetStopPolicy(StopOptions(len(shape)), budget, grants, number, tokens)
            follow(drafting, DraftPolicies(stop_policy=policy))
        verifier = VERIFIERS.get("greedy" if plan.sampling.greedy else "sequential").of({})  # as `auto` chooses
        method = Method(drafting, verifier, plan.sampling, SeededRandom(plan.seed + number))
        return Session(target, method, Start(plan.prompts[number][1]), Ending(plan.limits, lambda token: b""))

    return make


def _alone(target: LanguageModel, drafter: LanguageModel, make: SessionOf) -> list[int]:
    """What the engine writes without a batch."""
    session = make(target, drafter)
    start = len(session.tokens)
    session.begin()
    while session.finished is None:
        session.round()
    return session.tokens[start:]


def _point(
    shape: Shape, size: int, repeat: int, batches: Sequence[Decoded], times: dict[Turn, PassTimes]
) -> BatchPoint:
    return BatchPoint(
        shape,
        size,
        repeat,
        seconds=sum(decoded.seconds for decoded in batches),
        pass_s=sum(decoded.pass_s for decoded in batches),
        tokens=sum(len(text.tokens) for decoded in batches for text in decoded.texts),
        target_passes=sum(decoded.passes[Turn.TARGET] for decoded in batches),
        shares=sum(decoded.shares for decoded in batches),
        drafter_passes=sum(decoded.passes[Turn.DRAFTER] for decoded in batches),
        full_tokens=sum(decoded.full_tokens for decoded in batches),
        modelled_s=sum(
            passes * times[turn].seconds(size, rows)
            for decoded in batches
            for turn, counts in decoded.full.items()
            for rows, passes in counts.items()
        ),
    )


def _texts(plan: BatchPlan, last: dict[Key, list[Decoded]], apart: dict[Key, set[int]]) -> list[BatchText]:
    return [
        BatchText(
            shape,
            size,
            plan.prompts[index][0],
            text.drafts,
            text.drafted,
            text.accepted,
            index not in apart[shape, size],
        )
        for (shape, size), batches in last.items()
        for index, text in enumerate(text for batch in batches for text in batch.texts)
    ]


def _sizes(args: argparse.Namespace) -> tuple[int, ...]:
    found = several_numbers("--batch", args.batch, int, "1,2,4,8,16")
    if not found or min(found) < 1 or len(set(found)) < len(found):
        raise OptionError(f"--batch is '{args.batch}', but must be different numbers of at least 1.")
    return tuple(sorted(found))


def _shapes(args: argparse.Namespace) -> tuple[Shape, ...]:
    """Chains, trees, then the budget. Raises OptionError where one cannot be, or is there twice."""
    trees = [part for part in args.branching.split(";") if part]
    parsed = [several_numbers("--branching", one, int, "3,2,1") for one in trees]
    for gamma in (gammas := several_numbers("--gamma", args.gamma, int, "1,2,4")):
        ModelDrafter.of({"gamma": gamma})
    for tree in parsed:
        ModelDrafter.of({"branching": tree})
    if not 0 <= args.budget <= LONGEST:
        raise OptionError(f"--budget is {args.budget}, but must be 0 to {LONGEST} levels.")
    budget = [(0,) * args.budget] if args.budget else []
    shapes = (*((1,) * gamma for gamma in gammas), *parsed, *budget)
    if not shapes or len(set(shapes)) < len(shapes):
        raise OptionError("there is nothing to compare with plain decoding; give different --gamma or --branching.")
    return shapes


def _prompts(args: argparse.Namespace, cards: Sequence[PromptCard]) -> list[PromptCard]:
    """One of each family in turn, so that a batch is mixed. Raises OptionError where there are too few."""
    wanted = tuple(filter(None, args.families.split(",")))
    families = {card.family for card in cards}
    unknown = [name for name in wanted if name not in families]
    if unknown:
        raise OptionError(f"there is no prompt family '{unknown[0]}'; known: {', '.join(sorted(families))}.")
    by_family = [[card for card in cards if card.family == name] for name in wanted or sorted(families)]
    found = [card for level in zip_longest(*by_family) for card in level if card is not None]
    count = max(_sizes(args)) if args.texts is None else args.texts
    if not 1 <= count <= len(found):
        raise OptionError(f"{count} texts are asked for, but there are 1 to {len(found)}; change --texts or --batch.")
    return found[:count]


def _plan(args: argparse.Namespace, cards: Sequence[PromptCard]) -> BatchPlan:
    """What is measured, before a model has read the prompts. Raises OptionError where it cannot be."""
    return BatchPlan(
        [(card.id, ()) for card in cards],
        _sizes(args),
        _shapes(args),
        Sampling(args.temperature),
        args.seed,
        Limits(args.max_new_tokens),
        args.repeats,
    )


def _with_tokens(plan: BatchPlan, cards: Sequence[PromptCard], target: LoadedModel) -> BatchPlan:
    """The same with the target's tokens, and its end of text."""
    prompts = [(card.id, target.tokenizer.encode(card.text)) for card in cards]
    return replace(plan, prompts=prompts, limits=replace(plan.limits, eos_ids=frozenset(target.info.eos_ids)))


def _batching(loaded: LoadedModel) -> GivesBatches:
    """Raises ModelError where several texts cost as many passes."""
    if isinstance(loaded.model, GivesBatches):
        return loaded.model
    raise ModelError(
        f"the adapter '{loaded.info.adapter}' of {loaded.info.name} computes one text at a time, so a batch of it "
        "would say nothing; give a Llama checkpoint, which the lean forward runs."
    )

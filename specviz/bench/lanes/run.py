"""Plain decoding, draft and verify in turn, PEARL and AMUSD on the same prompts, interleaved on one clock.

Place in the flow: `specviz bench asynchronous` hands in models and prompts; `table` makes a report of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from specviz.asynchronous.pair import AsyncPair, Job
from specviz.bench.core.contest import rotated
from specviz.bench.lanes.in_turn import in_turn
from specviz.core.sampling import Sampling
from specviz.lm.base import LanguageModel
from specviz.lm.origin import Origin
from specviz.protocol.lanes import DRAFT, TARGET, Lanes

METHODS = ("plain", "sd", "pearl", "amusd")


@dataclass(frozen=True, slots=True)
class LanesPlan:
    """What is compared."""

    prompts: Sequence[tuple[str, Sequence[int]]]
    """name and tokens"""
    max_new_tokens: int
    temperature: float
    seed: int
    gamma: int
    ahead: int
    widest: int
    repeats: int
    slowdown_s: float = 0.0
    """a sleep after each drafter pass: a drafter so much slower"""


@dataclass(frozen=True, slots=True)
class LanesRow:
    """One method over all prompts and repeats."""

    method: str
    tokens_per_s: float
    """median over prompts and repeats"""
    ratio: float
    """median of tokens per second over plain decoding's on the same prompt in the same repeat"""
    ratio_low: float
    ratio_high: float
    """first and third quartile of them"""
    drafter_busy: float
    target_busy: float
    """median shares of the time"""
    thrown: float
    """drafted tokens thrown away for each that became text"""
    same_text: int
    """texts that are plain decoding's, of `texts`"""
    texts: int


@dataclass(frozen=True, slots=True)
class Compared:
    """Rows over all prompts, and one prompt's lanes."""

    rows: list[LanesRow]
    first: dict[str, Lanes]
    """method → the run of the first prompt with the median time"""


def compare(
    target: LanguageModel,
    drafting: LanguageModel,
    origin: Origin,
    plan: LanesPlan,
    ends: Callable[[int], bool],
    report: Callable[[str], None] = lambda line: None,
) -> Compared:
    """Every method on every prompt, in an order that rotates; the drafter's process is started once."""
    found: dict[str, list[tuple[int, int, Lanes]]] = {method: [] for method in METHODS}
    with AsyncPair(target, origin, plan.slowdown_s) as pair:
        for repeat in range(plan.repeats):
            for number, (name, prompt) in enumerate(plan.prompts):
                length, sampling = len(prompt) + plan.max_new_tokens, Sampling(plan.temperature)
                seed = plan.seed + repeat
                job = Job("", tuple(prompt), length, sampling, seed, plan.ahead, plan.widest, plan.gamma)
                for method, lanes in _run(pair, target, drafting, plan, job, ends, repeat + number):
                    found[method].append((number, repeat, lanes))
                report(f"{name}, repeat {repeat + 1}")
    plain = {(number, repeat): lanes for number, repeat, lanes in found["plain"]}
    rows = [_row(method, lanes, plain, plan) for method, lanes in found.items()]
    return Compared(rows, {method: _middle(lanes) for method, lanes in found.items()})


def _middle(lanes: Sequence[tuple[int, int, Lanes]]) -> Lanes:
    """Of the first prompt's runs the one with the median time; of two in the middle the slower."""
    own = sorted((one for number, _, one in lanes if number == 0), key=lambda one: one.seconds)
    return own[len(own) // 2]


def _run(
    pair: AsyncPair, target: LanguageModel, drafting: LanguageModel, plan: LanesPlan, job: Job,
    ends: Callable[[int], bool], turn: int,
) -> Iterator[tuple[str, Lanes]]:  # fmt: skip
    for method in rotated(METHODS, turn):
        own = replace(job, method=method)
        if method == "plain":
            yield method, in_turn(target, None, own, ends)
        elif method == "sd":
            yield method, in_turn(target, drafting, own, ends, plan.slowdown_s)
        else:
            yield method, getattr(pair, method)(own, ends)


def _row(
    method: str, lanes: Sequence[tuple[int, int, Lanes]], plain: dict[tuple[int, int], Lanes], plan: LanesPlan
) -> LanesRow:
    speeds, ratios, same, drafted, accepted, written = [], list[float](), 0, 0, 0, 0
    for number, repeat, one in lanes:
        start, base = len(plan.prompts[number][1]), plain[number, repeat]
        speed = (len(one.text) - start) / one.seconds
        speeds.append(speed)
        ratios.append(speed / ((len(base.text) - start) / base.seconds))
        same += one.text == base.text
        drafted += sum(span.tokens for span in one.spans if span.what == "draft")
        accepted += sum(span.accepted for span in one.spans)
        written += len(one.text) - start
    ordered = sorted(ratios)
    return LanesRow(
        method, median(speeds), median(ratios), ordered[len(ordered) // 4], ordered[(3 * len(ordered)) // 4],
        median(one.busy(DRAFT) for *_, one in lanes), median(one.busy(TARGET) for *_, one in lanes),
        (drafted - accepted) / written, same, len(lanes),
    )  # fmt: skip

"""Plain decoding, draft and verify in turn, PEARL and AMUSD on the same prompts, interleaved on one clock.

DSI needs several targets at once, which one machine rarely has. Its simulation takes the pass times that were measured
in the same run, the target's own text, and what the drafter says at every place of that text. So does SSD's, and what
passes of the drafter over several branches cost more than one over a token, by the processor's clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from specviz.asynchronous.machines import judged
from specviz.asynchronous.process import AsyncPair, Job
from specviz.asynchronous.side import Draws, Reader, Speaker
from specviz.asynchronous.simulation import Clock, Foreseen, dsi, ssd
from specviz.bench.core.contest import first_prompts, rotated
from specviz.bench.core.passes import work_clock
from specviz.bench.core.report import origin_here
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.engine.header import model_card
from specviz.errors import OptionError, PromptError
from specviz.lm.base import LanguageModel
from specviz.lm.place import Origin
from specviz.lm.step_time import CACHED_ROWS, filled_cache, machine, pass_s
from specviz.protocol.lanes import DRAFT, TARGET, Lanes, Span
from specviz.protocol.runs import Catalog, PromptCard
from specviz.studies.lanes.foreseen import FanOut
from specviz.studies.lanes.result import FORMAT, VERSION, Comparison, LanesCase, LanesFile, LanesRow, LanesRun
from specviz.studies.study import Workplace
from specviz.theory.formulas import StepTimes
from specviz.theory.speedup import times_as_fast

METHODS = ("plain", "sd", "pearl", "amusd")


def measure(workplace: Workplace) -> LanesFile:
    """With the drafter as it is, and with one that sleeps after each pass."""
    args = workplace.args
    if args.slow < 0:
        raise OptionError(f"--slow is {args.slow:g} ms, but a sleep is 0 or longer.")
    target, drafter = workplace.pair()
    cards = _cards(workplace.source().catalog(), args.prompt_id, args.prompts)
    prompts = [(card.id, target.tokenizer.encode(card.text)) for card in cards]
    origin = Origin(args.drafter_model, args.device, args.dtype)
    eos, start = target.info.eos_ids, len(prompts[0][1])
    comparisons, cases = list[Comparison](), list[LanesCase]()
    for slow in (0.0, args.slow) if args.slow else (0.0,):
        plan = LanesPlan(
            prompts,
            args.max_new_tokens,
            args.temperature,
            args.seed,
            args.gamma,
            args.ahead,
            args.widest,
            args.repeats,
            slow / 1000,
        )
        compared = compare(target.model, drafter.model, origin, plan, lambda token: token in eos, workplace.say)
        comparisons.append(Comparison(plan.slowdown_s, tuple(compared.rows)))
        job = Job(
            "dsi",
            tuple(prompts[0][1]),
            start + plan.max_new_tokens,
            Sampling(plan.temperature),
            plan.seed,
            gamma=plan.gamma,
        )
        timing = Timing(clock_of(compared.first), wider(drafter.model, plan.slowdown_s))
        lanes = case(compared.first, drafter.model, job, plan.slowdown_s, timing)
        cases.append(replace(lanes, fan_outs=fan_outs(compared.plain, drafter.model, job, timing)))
    return LanesFile(
        FORMAT, VERSION, cards[0].text, target.tokenizer.decode(compared.first["plain"].text[start:]),
        machine(target.model.device, target.info.dtype), model_card(target.info), model_card(drafter.info),
        args.gamma, args.ahead, args.widest, args.temperature, args.seed, tuple(cases), tuple(comparisons),
        str(origin_here(target, drafter)),
    )  # fmt: skip


def _cards(catalog: Catalog, chosen: str | None, each: int) -> Sequence[PromptCard]:
    """The chosen prompt alone, or some of each family. Raises PromptError for an id that is none."""
    if chosen is None:
        return first_prompts(catalog, each)
    found = [card for card in catalog.prompts if card.id == chosen]
    if not found:
        raise PromptError(f"there is no prompt '{chosen}' in the set; `specviz list prompts` shows the ids.")
    return found


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
class Compared:
    """Rows over all prompts, and one prompt's lanes."""

    rows: list[LanesRow]
    first: dict[str, Lanes]
    """method → the run of the first prompt with the median time"""
    plain: Sequence[tuple[int, Sequence[int]]]
    """of each prompt its length and the target's text"""


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
    texts = [(len(prompt), plain[number, 0].text) for number, (_, prompt) in enumerate(plan.prompts)]
    return Compared(rows, {method: _middle(lanes) for method, lanes in found.items()}, texts)


def _middle(lanes: Sequence[tuple[int, int, Lanes]]) -> Lanes:
    """Of the first prompt's runs the one with the median time; of two in the middle the slower."""
    own = sorted((one for number, _, one in lanes if number == 0), key=lambda one: one.seconds)
    return own[len(own) // 2]


def _run(
    pair: AsyncPair,
    target: LanguageModel,
    drafting: LanguageModel,
    plan: LanesPlan,
    job: Job,
    ends: Callable[[int], bool],
    turn: int,
) -> Iterator[tuple[str, Lanes]]:
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
        ratios.append(times_as_fast(speed, (len(base.text) - start) / base.seconds))
        same += one.text == base.text
        drafted += sum(span.tokens for span in one.spans if span.what == "draft")
        accepted += sum(span.accepted for span in one.spans)
        written += len(one.text) - start
    ordered = sorted(ratios)
    return LanesRow(
        method,
        median(speeds),
        median(ratios),
        ordered[len(ordered) // 4],
        ordered[(3 * len(ordered)) // 4],
        median(one.busy(DRAFT) for *_, one in lanes),
        median(one.busy(TARGET) for *_, one in lanes),
        (drafted - accepted) / written,
        same,
        len(lanes),
    )


def in_turn(
    target: LanguageModel,
    drafting: LanguageModel | None,
    job: Job,
    ends: Callable[[int], bool],
    slowdown_s: float = 0.0,
) -> Lanes:
    """One text; without `drafting` plain decoding. `slowdown_s`: a sleep after each drafter pass, as in `AsyncPair`."""
    draws = Draws(job.sampling, SeededRandom(job.seed))
    reader, text, spans = Speaker(target, draws), list(job.prompt), list[Span]()
    guesser = Speaker(drafting, draws) if drafting is not None else None
    reader.answers(job.prompt, [])
    began = time.perf_counter()
    while len(text) < job.length and not (len(text) > len(job.prompt) and ends(text[-1])):
        tail, count = list[int](), min(job.gamma, job.length - len(text) - 1)
        start = time.perf_counter() - began
        if guesser is not None and count > 0:
            tail = guesser.next_tokens(text, count)
            time.sleep(slowdown_s * count)
            spans.append(Span(DRAFT, "draft", start, time.perf_counter() - began, count))
        start = time.perf_counter() - began
        said = reader.answers(text, tail)
        accepted, new = judged(tail, said, ends)
        end = time.perf_counter() - began
        spans.append(Span(TARGET, "verify", start, end, len(tail), len(new), min(accepted, len(new))))
        text += new
    return Lanes("sd" if drafting is not None else "plain", text, time.perf_counter() - began, spans)


SERVERS = 3
"""targets that DSI may use at once"""
WRONG = -1
"""a token that is never the target's: whatever a drafter says after its first error is thrown away"""


def case(measured: dict[str, Lanes], drafting: LanguageModel, job: Job, slowdown_s: float, timing: Timing) -> LanesCase:
    """All methods on one prompt; SSD and DSI last. `measured` holds `plain` and `sd`."""
    start, truth = len(job.prompt), measured["plain"].text
    simulated = (
        _foreseen(_ranks(drafting, job, start, truth), truth, start, job.gamma, SHOWN_FAN_OUT, timing).lanes,
        simulated_dsi(measured, drafting, job),
    )
    runs = [_kept(lanes, "measured", start) for lanes in measured.values()]
    return LanesCase(slowdown_s, (*runs, *(_kept(lanes, "simulated", start) for lanes in simulated)))


FAN_OUTS = (0, 1, 2, 4, 8)
SHOWN_FAN_OUT = 2
"""of the lanes"""
REPEATS = 25


@dataclass(frozen=True, slots=True)
class Timing:
    """Pass times of one case."""

    clock: Clock
    rows: Callable[[float, int], float]
    """(seconds of the drafter's pass over a token, n) → of one over n rows"""


def wider(drafting: LanguageModel, slowdown_s: float) -> Callable[[float, int], float]:
    """How much longer the drafter's pass is over several rows, measured now; a sleep after it stays what it is."""
    work, _ = work_clock(drafting.device)
    counts, context = (1, 2, 4, 8, 16, 32, 64), drafting.info.context_length
    cache = filled_cache(drafting, min(CACHED_ROWS, context - counts[-1]))
    for count in counts:
        pass_s(drafting, cache, count)  # the first pass of a shape sets up kernels and buffers
    taken = [median(pass_s(drafting, cache, count, work) for _ in range(REPEATS)) for count in counts]
    times = StepTimes(counts, tuple(taken))
    return lambda seconds, rows: slowdown_s + max(0.0, seconds - slowdown_s) * times.at(rows) / times.at(1)


def fan_outs(
    texts: Sequence[tuple[int, Sequence[int]]], drafting: LanguageModel, job: Job, timing: Timing
) -> tuple[FanOut, ...]:
    """Every fan-out on every text (length of its prompt, the target's text)."""
    ranks = [_ranks(drafting, job, start, truth) for start, truth in texts]
    written = sum(len(truth) - start for start, truth in texts)
    plain_s = written * timing.clock.target_s(1)
    rows = list[FanOut]()
    for fan_out in FAN_OUTS:
        runs = [
            _foreseen(ranked, truth, start, job.gamma, fan_out, timing)
            for ranked, (start, truth) in zip(ranks, texts, strict=True)
        ]
        seconds = sum(run.lanes.seconds for run in runs)
        hits, verdicts = (sum(getattr(run, name) for run in runs) for name in ("hits", "verdicts"))
        branches = max(run.branches for run in runs)
        ratio = times_as_fast(written / seconds, written / plain_s)
        rows.append(FanOut(fan_out, branches, hits, verdicts, round(ratio, 3)))
    return tuple(rows)


def _ranks(drafting: LanguageModel, job: Job, start: int, truth: Sequence[int]) -> dict[int, list[int]]:
    """Of the text's first so many tokens: what the drafter draws there, then what it holds likeliest."""
    rows = Reader(drafting).logits(truth[:start], truth[start:-1])  # [len(truth) - start, V]
    drawn = Draws(job.sampling, SeededRandom(job.seed)).tokens(rows, start)
    likely = rows.topk(min(max(FAN_OUTS) + 2, rows.shape[-1])).indices.tolist()
    return {
        start + index: [first, *(token for token in row if token != first)]
        for index, (first, row) in enumerate(zip(drawn, likely, strict=True))
    }


def _foreseen(
    ranks: dict[int, list[int]], truth: Sequence[int], start: int, gamma: int, fan_out: int, timing: Timing
) -> Foreseen:
    """Off the target's text nothing is foreseen that matters: only as many tokens as are."""
    nothing = [WRONG - 1 - index for index in range(max(FAN_OUTS) + 2)]

    def ranked(text: Sequence[int]) -> Sequence[int]:
        return ranks[len(text)] if len(text) in ranks and list(text) == list(truth[: len(text)]) else nothing

    def say(text: Sequence[int]) -> int:
        return truth[len(text)] if len(text) < len(truth) else WRONG

    draft_s, rows = timing.clock.draft_s, timing.rows
    return ssd(ranked, say, truth[:start], len(truth), gamma, fan_out, timing.clock, lambda count: rows(draft_s, count))


def simulated_dsi(measured: dict[str, Lanes], drafting: LanguageModel, job: Job) -> Lanes:
    """DSI with `SERVERS` targets, `job.gamma` tokens drafted for each verification."""
    truth = measured["plain"].text
    reader = Speaker(drafting, Draws(job.sampling, SeededRandom(job.seed)))
    guesses = {index: reader.next_tokens(truth[:index], 1)[0] for index in range(len(job.prompt), len(truth))}

    def guess(text: Sequence[int]) -> int:
        return guesses.get(len(text), WRONG) if list(text) == truth[: len(text)] else WRONG

    def say(text: Sequence[int]) -> int:
        return truth[len(text)] if len(text) < len(truth) else WRONG - 1

    return dsi(guess, say, job.prompt, len(truth), job.gamma, SERVERS, clock_of(measured))


def clock_of(measured: dict[str, Lanes]) -> Clock:
    """Median seconds of the drafter's pass over a token and of the target's over n rows."""
    spans = [span for method in ("plain", "sd") for span in measured[method].spans]
    drafts = [(span.end_s - span.start_s) / span.tokens for span in spans if span.what == "draft" and span.tokens]
    passes: dict[int, list[float]] = {}
    for span in spans:
        if span.what == "verify":
            passes.setdefault(span.tokens + 1, []).append(span.end_s - span.start_s)
    rows = sorted(passes)
    times = StepTimes(tuple(rows), tuple(median(passes[count]) for count in rows))
    return Clock(median(drafts), times.at)


def _kept(lanes: Lanes, source: str, start: int) -> LanesRun:
    """Without what a drafter was still at when the text was over."""
    spans = tuple(
        Span(span.lane, span.what, span.start_s, min(span.end_s, lanes.seconds), span.tokens, span.kept, span.accepted)
        for span in sorted(lanes.spans, key=lambda span: (span.start_s, span.end_s))
        if span.start_s <= lanes.seconds
    )
    return LanesRun(lanes.method, source, len(lanes.text) - start, lanes.seconds, spans)

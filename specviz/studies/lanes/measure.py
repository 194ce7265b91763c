"""Plain decoding, draft and verify in turn, PEARL, AMUSD and SSD on the same prompts, interleaved on one clock; SSD
with several fan-outs, and how often a draft was there when the verdict came.

DSI needs several targets at once, which one machine rarely has. Its simulation takes the pass times that were measured
in the same run, the target's own text, and what the drafter says at every place of that text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from specviz.asynchronous.machines import judged
from specviz.asynchronous.process import AsyncPair, Job
from specviz.asynchronous.side import Draws, Speaker
from specviz.asynchronous.simulation import Clock, dsi
from specviz.bench.core.contest import first_prompts, rotated
from specviz.bench.core.report import origin_here
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.engine.header import model_card
from specviz.errors import OptionError, PromptError
from specviz.lm.base import LanguageModel
from specviz.lm.place import Origin
from specviz.lm.step_time import machine
from specviz.protocol.lanes import DRAFT, TARGET, Lanes, Span
from specviz.protocol.runs import Catalog, PromptCard
from specviz.studies.lanes.foreseen import FanOut
from specviz.studies.lanes.result import FORMAT, VERSION, Comparison, LanesCase, LanesFile, LanesRow, LanesRun
from specviz.studies.study import Workplace
from specviz.theory.formulas import StepTimes
from specviz.theory.speedup import times_as_fast

FORESEES = "ssd"
"""drafts for verdicts to come"""
METHODS = ("plain", "sd", "pearl", "amusd", FORESEES)
FAN_OUTS = (0, 1, 2, 4, 8)
"""verdicts that SSD drafts for behind each count of accepted tokens"""


def measure(workplace: Workplace) -> LanesFile:
    """With the drafter as it is, and with one that sleeps after each pass."""
    args = workplace.args
    if args.slow < 0:
        raise OptionError(f"--slow is {args.slow:g} ms, but a sleep is 0 or longer.")
    cards = _cards(workplace.source().catalog(), args.prompt_id, args.prompts)
    target, drafter = workplace.pair()
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
            args.fan_out,
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
        lanes = case(compared.first, drafter.model, job, plan.slowdown_s)
        cases.append(replace(lanes, fan_outs=fan_outs(compared.fan_outs, plan)))
    return LanesFile(
        FORMAT, VERSION, cards[0].text, target.tokenizer.decode(compared.first["plain"].text[start:]),
        machine(target.model.device, target.info.dtype), model_card(target.info), model_card(drafter.info),
        args.gamma, args.ahead, args.widest, args.temperature, args.seed, tuple(cases), tuple(comparisons),
        args.fan_out, str(origin_here(target, drafter)),
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
    fan_out: int
    """of SSD among the methods; `FAN_OUTS` are compared beside it"""
    slowdown_s: float = 0.0
    """a sleep after each drafter pass: a drafter so much slower"""


@dataclass(frozen=True, slots=True)
class Compared:
    """Rows over all prompts, and one prompt's lanes."""

    rows: list[LanesRow]
    first: dict[str, Lanes]
    """method → the run of the first prompt with the median time"""
    fan_outs: dict[int, list[Timed]]
    """SSD's, all prompts and repeats with each"""


@dataclass(frozen=True, slots=True)
class Timed:
    """One text beside plain decoding's in the same repeat."""

    lanes: Lanes
    ratio: float
    """tokens per second over plain decoding's"""


def compare(
    target: LanguageModel,
    drafting: LanguageModel,
    origin: Origin,
    plan: LanesPlan,
    ends: Callable[[int], bool],
    report: Callable[[str], None] = lambda line: None,
) -> Compared:
    """Every method on every prompt, in an order that rotates; the drafter's process is started once."""
    ways = _ways(plan.fan_out)
    found: dict[Way, list[tuple[int, int, Lanes]]] = {way: [] for way in ways}
    with AsyncPair(target, origin, plan.slowdown_s) as pair:
        for repeat in range(plan.repeats):
            for number, (name, prompt) in enumerate(plan.prompts):
                length, sampling = len(prompt) + plan.max_new_tokens, Sampling(plan.temperature)
                seed = plan.seed + repeat
                job = Job("", tuple(prompt), length, sampling, seed, plan.ahead, plan.widest, plan.gamma)
                for way, lanes in _run(pair, target, drafting, plan, job, ends, rotated(ways, repeat + number)):
                    found[way].append((number, repeat, lanes))
                report(f"{name}, repeat {repeat + 1}")
    plain = {(number, repeat): lanes for number, repeat, lanes in found["plain", plan.fan_out]}
    chosen = {method: found[method, plan.fan_out] for method in METHODS}
    rows = [_row(method, lanes, plain, plan) for method, lanes in chosen.items()]
    foreseen = {
        fan_out: [Timed(lanes, _ratio(lanes, plain[number, repeat], plan, number)) for number, repeat, lanes in runs]
        for (method, fan_out), runs in found.items()
        if method == FORESEES
    }
    return Compared(rows, {method: _middle(lanes) for method, lanes in chosen.items()}, foreseen)


Way = tuple[str, int]
"""a method and SSD's fan-out"""


def _ways(fan_out: int) -> tuple[Way, ...]:
    others = [(FORESEES, other) for other in FAN_OUTS if other != fan_out]
    return (*((method, fan_out) for method in METHODS), *others)


def _ratio(lanes: Lanes, plain: Lanes, plan: LanesPlan, number: int) -> float:
    start = len(plan.prompts[number][1])
    return times_as_fast((len(lanes.text) - start) / lanes.seconds, (len(plain.text) - start) / plain.seconds)


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
    ways: Sequence[Way],
) -> Iterator[tuple[Way, Lanes]]:
    for method, fan_out in ways:
        asked = replace(job, method=method, fan_out=fan_out)
        if method == "plain":
            lanes = in_turn(target, None, asked, ends)
        elif method == "sd":
            lanes = in_turn(target, drafting, asked, ends, plan.slowdown_s)
        else:
            lanes = getattr(pair, method)(asked, ends)
        yield (method, fan_out), lanes


def _row(
    method: str, lanes: Sequence[tuple[int, int, Lanes]], plain: dict[tuple[int, int], Lanes], plan: LanesPlan
) -> LanesRow:
    speeds, ratios, same, drafted, accepted, written = [], list[float](), 0, 0, 0, 0
    for number, repeat, one in lanes:
        start, base = len(plan.prompts[number][1]), plain[number, repeat]
        speeds.append((len(one.text) - start) / one.seconds)
        ratios.append(_ratio(one, base, plan, number))
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


def case(measured: dict[str, Lanes], drafting: LanguageModel, job: Job, slowdown_s: float) -> LanesCase:
    """All methods on one prompt; DSI last. `measured` holds `plain` and `sd`."""
    start = len(job.prompt)
    runs = [_kept(lanes, "measured", start) for lanes in measured.values()]
    return LanesCase(slowdown_s, (*runs, _kept(simulated_dsi(measured, drafting, job), "simulated", start)))


def fan_outs(compared: Mapping[int, Sequence[Timed]], plan: LanesPlan) -> tuple[FanOut, ...]:
    """What every fan-out brought: fan-out → the runs with it."""
    return tuple(
        FanOut(
            fan_out,
            (plan.gamma + 1) * fan_out,
            sum(count > 0 for run in runs for count in run.lanes.ready),
            sum(len(run.lanes.ready) for run in runs),
            round(median(run.ratio for run in runs), 3),
            "measured",
            round(_share(sum(sum(run.lanes.ready) for run in runs), sum(map(_drafted, runs))), 3),
        )
        for fan_out, runs in sorted(compared.items())
    )


def _drafted(run: Timed) -> int:
    """Candidates of the drafts that followed a verdict."""
    read = [span.tokens for span in run.lanes.spans if span.what == "verify" and span.tokens]
    return sum(read[len(read) - len(run.lanes.ready) :])


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


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

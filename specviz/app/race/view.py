"""A race as plain data: when each runner drafted, verified and wrote which token, who wrote the same, who was faster;
and what is said about it: how fast, whether the outputs agree and why they may not, where and how it was run.

The clock is the engine's: a runner's rounds stand end to end from the moment its prompt was read, so nothing that the
recording, the page or another visitor took is in it. A drafter that works beside the target says itself when it
drafted; what its rounds spend before the target's pass is then the target waiting for it. Sentences are made of headers
and outputs alone. Used by the page and by the terminal; texts are untrusted and are escaped where they are drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, pairwise
from statistics import median

from specviz.protocol.races import Race, Runner, first_difference
from specviz.theory import metrics
from specviz.theory.rows import repetition
from specviz.trace.characters import display_pieces, token_bytes
from specviz.trace.events import Round, Trace
from specviz.trace.header import MethodCard, Started, in_role
from specviz.trace.summary import drafts_beside


def verdict(baseline: bool, ratio: float | None, spread: tuple[float, float] | None, repeats: int) -> str:
    """How fast, in words; a slower one is called slower."""
    if baseline:
        return "the baseline"
    if ratio is None:
        return "no ratio: these times are not measured"
    slower = ", slower" if ratio < 1 else ""
    over = f", median of {repeats} repeats ({spread[0]:.2f} to {spread[1]:.2f})" if spread else ""
    return f"{ratio:.2f}× plain decoding, engine time{slower}{over}"


def formula(trace: Trace, plain: Trace, repeats: int) -> str:
    """The division behind the ratio: tokens per second of the two runs shown."""

    def rate(run: Trace) -> str:
        return f"{run.summary.num_output_tokens} tokens / {run.finished.decode_s:.4f} s"

    several = f"the median of {repeats} repeats; of the runs shown " if repeats > 1 else ""
    return f"{several}({rate(trace)}) / ({rate(plain)}); decoding alone, without reading the prompt"


def output(trace: Trace, plain: Trace, differs_at: int | None) -> str:
    """Whether it wrote what plain decoding wrote; if not, from which token on and why that may be."""
    if differs_at is None:
        return f"same output, {len(plain.finished.output_ids)} tokens"
    return f"differs from plain decoding from token {differs_at + 1} on: {_why_different(trace, plain, differs_at)}"


def _why_different(trace: Trace, plain: Trace, differs_at: int) -> str:
    started = trace.started
    if found := lossy(started):
        return f"{found[0]} is lossy and may change the text."
    if started.sampling.temperature > 0:
        return (
            "texts are sampled, and drafting uses random numbers differently from plain decoding; both follow the "
            "target's distribution."
        )
    if differs_at == min(len(trace.finished.output_ids), len(plain.finished.output_ids)):
        return "one of the two ended earlier, which should not happen with a lossless method; please report it."
    if started.machine.dtype != "float32":
        return (
            f"in {started.machine.dtype} a pass over several tokens may round differently from one over a single "
            "token, and a near tie can fall the other way; `specviz prove greedy` shows how near it was."
        )
    return (
        "at temperature 0 in float32 only a tie within rounding excuses that; if it comes again, please report it with "
        "the prompt."
    )


def equality(tokens: int, drafters: Sequence[tuple[str, str, bool]]) -> str:
    """One sentence: `tokens` of plain decoding; of each drafter its label, its `output` and whether it agrees."""
    if not drafters:
        return "Plain decoding ran alone; there is nothing to compare."
    different = [f"{label} {said}" for label, said, same in drafters if not same]
    if not different:
        who = "Both outputs" if len(drafters) == 1 else f"All {len(drafters) + 1} outputs"
        return f"{who} are the same, token for token: {tokens} tokens."
    agree = len(drafters) - len(different)
    return f"{agree} of {len(drafters)} drafters gave plain decoding's output. {' '.join(different)}"


def lossy(started: Started) -> list[str]:
    """Its methods that may change the target's distribution."""
    return [card.name for card in _cards(started) if not card.lossless]


def _cards(started: Started) -> Iterator[MethodCard]:
    for card in (started.drafter, started.tree_policy, started.stop_policy, started.verifier):
        if card is not None:
            yield card


def methods(started: Started) -> list[str]:
    """Every method of a run with its options."""
    return [
        " ".join([card.name, *(f"{key}={value}" for key, value in card.options.items())]) for card in _cards(started)
    ]


def provenance(started: Started, repeats: int) -> str:
    """When, on which machine and with which settings; the same for every runner."""
    machine, sampling = started.machine, started.sampling
    threads = f"{machine.threads} thread{'' if machine.threads == 1 else 's'}"
    runs = f"median of {repeats} runs each" if repeats > 1 else "one run each"
    return " · ".join(
        [
            started.created[:10],
            f"{machine.processor or machine.device}, {threads}, {machine.dtype}",
            in_role("target", started.target.name),
            f"prompt {started.prompt_name or 'of your own'}",
            f"temperature {sampling.temperature:g}, seed {started.seed}",
            runs,
        ]
    )


# --- the race as data ------------------------------------------------------------------------------------------------


PROMPT_CHARS = 400


@dataclass(frozen=True, slots=True)
class Arrival:
    """One token, when its round was committed: the characters it completes, and where it came from."""

    time_s: float
    text: str
    origin: str


@dataclass(frozen=True, slots=True)
class RunnerView:
    label: str
    methods: str
    """drafter and verifier with their options"""
    lossless: bool
    segments: tuple[Segment, ...]
    lanes: tuple[Beside, ...]
    """of a drafter that works beside the target; then no segment is a draft"""
    arrivals: tuple[Arrival, ...]
    finish_s: float
    prefill_s: float
    tokens: int
    passes: int
    tokens_per_pass: float | None
    ratio: float | None
    """tokens per second over plain decoding's in the same repeat, of several the median; None for plain decoding and
    where no time counts"""
    spread: tuple[float, float] | None
    """lowest and highest ratio over the repeats, where there were several"""
    repeats: int
    differs_at: int | None
    """first token (from 0) that is not plain decoding's"""
    verdict: str
    """how fast, in words"""
    formula: str
    """the division behind the ratio; empty without one"""
    repetition: float
    """share of the output's 4-grams that came before in it"""
    output: str
    """same output as plain decoding, or from where not and why that may be"""


@dataclass(frozen=True, slots=True)
class RaceView:
    source: str
    """live, recorded or simulated, and where, if that is not here"""
    provenance: str
    """when, where, with what settings"""
    prompt: str
    """its end"""
    runners: tuple[RunnerView, ...]
    longest_s: float
    equality: str


def race_view(race: Race, where: str = "") -> RaceView:
    """Everything that a screen shows of a race. `where`: what made it, if not this machine."""
    plain = race.runners[0]
    runners = tuple(_runner(runner, plain) for runner in race.runners)
    started = plain.trace.started
    return RaceView(
        source=f"{started.source}, {where}" if where else started.source,
        provenance=provenance(started, len(plain.ratios)),
        prompt=_end_of(started.chat_message or started.prompt_text),
        runners=runners,
        longest_s=max(runner.finish_s for runner in runners),
        equality=equality(
            runners[0].tokens, [(runner.label, runner.output, runner.differs_at is None) for runner in runners[1:]]
        ),
    )


def race_json(view: RaceView) -> str:
    """For the page's script. Times in seconds, to the microsecond."""
    data = asdict(view)
    data["longest_s"] = round(view.longest_s, 6)
    for runner in data["runners"]:
        runner["finish_s"] = round(runner["finish_s"], 6)
        runner["segments"] = [
            [round(span["start_s"], 6), round(span["end_s"], 6), span["phase"], span["round"]]
            for span in runner["segments"]
        ]
        runner["lanes"] = [
            [round(span["start_s"], 6), round(span["end_s"], 6), span["phase"], span["round"], span["tokens"]]
            for span in runner["lanes"]
        ]
        runner["arrivals"] = [[round(span["time_s"], 6), span["text"], span["origin"]] for span in runner["arrivals"]]
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def arrivals(trace: Trace) -> tuple[Arrival, ...]:
    """Every output token at the moment at which its round ended."""
    ends = [edge[-1] for edge in edges(trace.rounds)]
    made = [(end, token) for end, this in zip(ends, trace.rounds, strict=True) for token in this.committed.tokens]
    before = [token_bytes(trace, token) for token in trace.started.prompt_ids]
    written = [token_bytes(trace, token.token) for _, token in made]
    pieces = display_pieces([*before, *written])[len(before) :]
    return tuple(Arrival(end, text, token.origin) for (end, token), text in zip(made, pieces, strict=True))


def _runner(runner: Runner, plain: Runner) -> RunnerView:
    trace, spans = runner.trace, segments(runner.trace.rounds)
    baseline = runner is plain
    ratio = median(runner.ratios) if runner.ratios and not baseline else None
    several = len(runner.ratios) > 1 and not baseline
    spread = (min(runner.ratios), max(runner.ratios)) if several else None
    differs_at = first_difference(trace, plain.trace)
    return RunnerView(
        label=runner.label,
        methods="; ".join(methods(trace.started)),
        lossless=not lossy(trace.started),
        segments=spans,
        lanes=lanes(trace.rounds),
        arrivals=arrivals(trace),
        finish_s=spans[-1].end_s if spans else 0.0,
        prefill_s=trace.finished.prefill_s,
        tokens=len(trace.finished.output_ids),
        passes=len(trace.rounds),
        tokens_per_pass=metrics.tokens_per_target_pass(trace.rounds),
        ratio=ratio,
        spread=spread,
        repeats=max(1, len(runner.ratios)),
        differs_at=differs_at,
        verdict=verdict(baseline, ratio, spread, len(runner.ratios)),
        formula="" if ratio is None else formula(trace, plain.trace, len(runner.ratios)),
        repetition=repetition(trace.finished.output_ids),
        output="" if baseline else output(trace, plain.trace, differs_at),
    )


def _end_of(prompt: str) -> str:
    return prompt if len(prompt) <= PROMPT_CHARS else f"…{prompt[-PROMPT_CHARS:]}"


PHASES = ("draft", "target", "judge", "commit")
"""the parts of a round, in the order of time"""


@dataclass(frozen=True, slots=True)
class Segment:
    """One stretch of work on the runner's engine clock."""

    start_s: float
    end_s: float
    phase: str
    round: int


@dataclass(frozen=True, slots=True)
class Beside:
    """What a drafter did on its own lane, on the same clock."""

    start_s: float
    end_s: float
    phase: str
    """`draft` or `roll back`, which takes no time"""
    round: int
    """that reported it"""
    tokens: int
    """drafted, or thrown away"""


def segments(rounds: Sequence[Round]) -> tuple[Segment, ...]:
    """The phases of all rounds; those that took no time are left out, and where the drafter has a lane of its own the
    first phase, in which the target waits for it."""
    work = PHASES[1:] if drafts_beside(rounds) else PHASES
    return tuple(
        Segment(start, end, phase, this.index)
        for this, ends in zip(rounds, edges(rounds), strict=True)
        for phase, (start, end) in zip(PHASES, pairwise(ends), strict=True)
        if end > start and phase in work
    )


def edges(rounds: Sequence[Round]) -> list[tuple[float, ...]]:
    """When each round began and each of its phases ended: rounds end to end from 0, or where the drafter has a lane of
    its own at the times that they say, which are on its clock."""
    apart, ends, now = drafts_beside(rounds), list[tuple[float, ...]](), 0.0
    for this in rounds:
        spent = (this.drafted.seconds, this.scored.seconds, this.judged.seconds, this.committed.seconds)
        ends.append(tuple(accumulate(spent, initial=this.start_s if apart else now)))
        now = ends[-1][-1]
    return ends


def lanes(rounds: Sequence[Round]) -> tuple[Beside, ...]:
    """What the drafter did beside the target, in the order in which it was reported."""
    return tuple(
        Beside(work.start_s, work.end_s, work.what, this.index, work.tokens)
        for this in rounds
        for work in this.drafted.lanes
    )


def lane(spans: Sequence[Segment] | Sequence[Beside], longest_s: float, columns: int) -> list[str]:
    """A lane's time in equal columns, each with what took most of it; empty where nothing is done: once the runner has
    finished, and while one of the two waits for the other."""
    marks = [longest_s * index / columns for index in range(columns + 1)]
    return [_most(spans, start, end) for start, end in pairwise(marks)]


def _most(spans: Sequence[Segment] | Sequence[Beside], start: float, end: float) -> str:
    spent: dict[str, float] = {}
    for span in spans:
        common = min(end, span.end_s) - max(start, span.start_s)
        if common > 0:
            spent[span.phase] = spent.get(span.phase, 0.0) + common
    return max(spent, key=lambda phase: spent[phase]) if spent else ""

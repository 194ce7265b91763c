"""Drafting while verifying: what each lane did and when, on one prompt by every method; all methods over all prompts.

Place in the flow: `measure` computes it; the page, the documentation's tables and `specviz study` follow from `STUDY`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specviz.errors import OptionError
from specviz.protocol.lanes import DRAFT, Span, busy_share
from specviz.studies.lanes import foreseen
from specviz.studies.lanes.foreseen import FanOut
from specviz.studies.study import STUDIES, Choice, Codec, Flag, Remade, Study, Table, View, count
from specviz.theory.speedup import times_as_fast
from specviz.trace.header import Machine, ModelCard

FORMAT = "specviz-lanes"
VERSION = "1.0"
WORK = ("draft", "verify", "roll back")
ROUNDING_S = 1e-6


@dataclass(frozen=True, slots=True)
class LanesRun:
    """One method on the prompt of the file."""

    method: str
    """one of `NAMES`"""
    source: str
    """`measured` or `simulated`"""
    tokens: int
    """of output"""
    seconds: float
    spans: tuple[Span, ...]

    def drafted(self) -> int:
        return sum(span.tokens for span in self.spans if span.what == "draft")

    def discarded(self) -> int:
        """Drafted tokens that did not become text: those rejected, and those that followed them."""
        return self.drafted() - self.accepted()

    def accepted(self) -> int:
        """Drafted tokens that became text."""
        return sum(span.accepted for span in self.spans)

    def lanes(self) -> list[str]:
        return list(dict.fromkeys([DRAFT, *sorted(span.lane for span in self.spans if span.lane != DRAFT)]))

    def busy(self, lane: str) -> float:
        """Share of the time in which a lane computes."""
        return busy_share(self.spans, lane, self.seconds)


@dataclass(frozen=True, slots=True)
class LanesCase:
    """All methods with one drafter, one after the other on the same machine."""

    slowdown_s: float
    """a sleep after each pass of the drafter, which makes it so much slower; 0: as it is"""
    runs: tuple[LanesRun, ...]
    """plain decoding first"""
    fan_outs: tuple[FanOut, ...] = ()
    """over all prompts, the smallest first; absent from files written before they were computed"""


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
    discarded: float
    """drafted tokens thrown away for each that became text"""
    same_text: int
    """texts that are plain decoding's, of `texts`"""
    texts: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """All measured methods over all prompts, with one drafter."""

    slowdown_s: float
    rows: tuple[LanesRow, ...]


@dataclass(frozen=True, slots=True)
class LanesFile:
    """One prompt."""

    format: str
    version: str
    prompt: str
    output: str
    machine: Machine
    target: ModelCard
    drafter: ModelCard
    gamma: int
    """tokens drafted in turn, and by PEARL and SSD in a round; and by DSI for each verification"""
    ahead: int
    widest: int
    temperature: float
    seed: int
    cases: tuple[LanesCase, ...]
    comparisons: tuple[Comparison, ...] = ()
    """absent from files written before they were kept"""
    fan_out: int | None = None
    """of SSD among the methods; absent from files written before it was measured"""
    origin: str = ""
    """of the comparisons: machine, versions, weights and date as a sentence"""


def problems(file: LanesFile) -> Iterator[str]:
    """What cannot be so."""
    if not file.cases:
        yield "there is no case"
    for case in file.cases:
        if not case.runs or case.runs[0].method != "plain":
            yield "plain decoding is not the first of a case"
        yield from foreseen.problems(case.fan_outs)
        for run in case.runs:
            yield from _of_run(run)


def _of_run(run: LanesRun) -> Iterator[str]:
    ends: dict[str, float] = {}
    for span in sorted(run.spans, key=lambda one: (one.start_s, one.end_s)):
        where = f"the {span.lane} of '{run.method}' at {span.start_s:.6f} s"
        if span.what not in WORK or run.source not in ("measured", "simulated"):
            yield f"{where} does something unknown"
        if not 0 <= span.start_s <= span.end_s <= run.seconds + ROUNDING_S or not 0 <= span.accepted <= min(
            span.kept, span.tokens
        ):
            yield f"{where} has impossible times or counts"
        if span.start_s < ends.get(span.lane, 0.0) - ROUNDING_S:
            yield f"{where} is busy with two things at once"
        ends[span.lane] = max(ends.get(span.lane, 0.0), span.end_s)
    if sum(span.kept for span in run.spans) < run.tokens:
        yield f"'{run.method}' has more text than its verifications gave"


NAMES = {
    "plain": "plain decoding",
    "sd": "draft, then verify",
    "pearl": "PEARL",
    "amusd": "AMUSD",
    "ssd": "SSD",
    "dsi": "DSI",
}
"""in the order in which they are shown"""
AHEAD = ": verdicts drafted for"
"""behind a drafter's name: the choice that shows fan-outs in place of lanes"""
AT_ONCE = (NAMES["pearl"], NAMES["amusd"], NAMES["ssd"])


@dataclass(frozen=True, slots=True)
class Lane:
    """One line of the chart."""

    method: str
    name: str
    source: str
    lane: str
    busy: float
    """share of the time"""
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One line of the table; shares of the method's own time."""

    name: str
    source: str
    ratio: float
    """tokens per second over plain decoding's"""
    tokens_per_s: float
    drafter_busy: float
    target_busy: float
    """of several targets the mean"""
    drafted: int
    discarded: int


@dataclass(frozen=True, slots=True)
class LanesChart:
    """Lanes on one clock, the first on top."""

    lanes: tuple[Lane, ...]
    seconds: float
    """of the slowest"""


def choices(file: LanesFile) -> tuple[Choice]:
    names = list(map(_case_name, file.cases))
    names += [f"{_case_name(case)}{AHEAD}" for case in file.cases if case.fan_outs]
    return (Choice("case", "drafter", list(zip(names, names, strict=True)), min_width=300),)


def view(file: LanesFile, case: str) -> View:
    """The case of that name. Raises OptionError where there is none."""
    name = case.removesuffix(AHEAD)
    chosen = next((one for one in file.cases if _case_name(one) == name), None)
    if chosen is None:
        names = ", ".join(map(_case_name, file.cases))
        raise OptionError(f"'{case[:40]}' is no drafter of this study; choose {names}.")
    if case != name and chosen.fan_outs:
        fan_outs = chosen.fan_outs
        return View(foreseen.sentence(fan_outs), foreseen.chart(fan_outs), (foreseen.table(fan_outs),), _origin(file))
    runs = sorted(chosen.runs, key=lambda run: list(NAMES).index(run.method))
    shown = tuple(
        Lane(
            run.method,
            NAMES[run.method],
            run.source,
            lane,
            run.busy(lane),
            tuple(span for span in run.spans if span.lane == lane),
        )
        for run in runs
        for lane in run.lanes()
        if lane != DRAFT or run.drafted()
    )
    rows = method_rows(chosen)
    chart = LanesChart(shown, max(run.seconds for run in runs))
    return View(_sentence(rows), chart, (Table(HEADS, list(map(_cells, rows))),), _origin(file))


def method_rows(case: LanesCase) -> list[MethodRow]:
    """In the order in which they are shown."""
    runs = sorted(case.runs, key=lambda run: list(NAMES).index(run.method))
    return [_row(run, case.runs[0]) for run in runs]


def _cells(row: MethodRow) -> tuple[str, ...]:
    return (
        row.name,
        row.source,
        f"{row.ratio:.2f}",
        f"{row.tokens_per_s:.0f}",
        f"{row.drafter_busy:.0%}" if row.drafted else "–",
        f"{row.target_busy:.0%}",
        str(row.drafted),
        str(row.discarded),
    )


def _case_name(case: LanesCase) -> str:
    if not case.slowdown_s:
        return "the drafter as it is"
    return f"a drafter that sleeps {1000 * case.slowdown_s:g} ms after each pass"


def _row(run: LanesRun, plain: LanesRun) -> MethodRow:
    speed, base = run.tokens / run.seconds, plain.tokens / plain.seconds
    targets = [run.busy(lane) for lane in run.lanes() if lane != DRAFT]
    return MethodRow(
        NAMES[run.method],
        run.source,
        times_as_fast(speed, base),
        speed,
        run.busy(DRAFT),
        sum(targets) / len(targets),
        run.drafted(),
        run.discarded(),
    )


def _sentence(rows: Sequence[MethodRow]) -> str:
    """What the measured runs say; a simulated one wins nothing."""
    measured = {row.name: row for row in rows if row.source == "measured"}
    turn = measured.get(NAMES["sd"])
    at_once = [row for name, row in measured.items() if name in AT_ONCE]
    if turn is None or not at_once:
        return ""
    best = max(at_once, key=lambda row: row.ratio)
    gain = best.ratio / turn.ratio
    if gain > 1:
        verdict = f"Drafting while verifying pays here: {best.name} is {gain:.2f}× as fast as drafting in turn."
    else:
        verdict = (
            f"Drafting while verifying does not pay here: {best.name}, the best of them, is {gain:.2f}× as fast "
            "as drafting in turn."
        )
    return (
        f"{verdict} It hides {turn.drafter_busy:.0%} of the time at most, what drafting takes in turn, and throws away "
        f"{best.discarded} of {best.drafted} drafted tokens, where in turn it is {turn.discarded} of {turn.drafted}."
    )


def _origin(file: LanesFile) -> str:
    return (
        f"Recorded on {file.machine.processor}, {file.machine.cores} cores, one thread each, {file.machine.dtype}; "
        f"{file.target.name} and {file.drafter.name}, temperature {file.temperature:g}, γ = {file.gamma}, AMUSD up to "
        f"{file.ahead} tokens ahead{_fan_out(file)}. Prompt: {file.prompt}"
    )


def markdown(file: LanesFile) -> str:
    """A table for each drafter under a sentence that says what was compared: all methods over all prompts, or, of a
    file that was written before those were kept, what each did once on its prompt."""
    compared = [_section(comparison, file) for comparison in file.comparisons]
    ahead = [part for case in file.cases if case.fan_outs for part in _drafted_for(case)]
    return "\n\n".join([*(compared or map(_on_its_prompt, file.cases)), *ahead, file.origin or _origin(file)])


def _on_its_prompt(case: LanesCase) -> str:
    rows = method_rows(case)
    said = f"With {_case_name(case)}, once, on one prompt. {_sentence(rows)}".rstrip()
    return f"{said}\n\n{Table(HEADS, list(map(_cells, rows))).markdown()}"


def _drafted_for(case: LanesCase) -> tuple[str, ...]:
    said = f"SSD, {_case_name(case)}. {foreseen.sentence(case.fan_outs)}"
    return said, foreseen.table(case.fan_outs).markdown()


def _section(comparison: Comparison, file: LanesFile) -> str:
    slow = 1000 * comparison.slowdown_s
    which = f"a drafter that sleeps {slow:g} ms after each pass" if slow else "the drafter as it is"
    body = [
        (row.method, f"{row.ratio:.2f}", f"{row.ratio_low:.2f} to {row.ratio_high:.2f}", f"{row.tokens_per_s:.0f}",
         f"{row.drafter_busy:.0%}", f"{row.target_busy:.0%}", f"{row.discarded:.2f}", f"{row.same_text}/{row.texts}")
        for row in comparison.rows
    ]  # fmt: skip
    said = (
        f"With {which}, temperature {file.temperature:g}, γ = {file.gamma}, AMUSD up to {file.ahead} tokens ahead and "
        f"{file.widest} in a pass{_fan_out(file)}:"
    )
    return f"{said}\n\n{Table(COMPARED, body).markdown()}"


def _fan_out(file: LanesFile) -> str:
    if file.fan_out is None:
        return ""
    return f", SSD drafting for {file.fan_out} verdicts behind each count of accepted tokens"


HEADS = ("method", "", "× plain", "tokens/s", "drafter busy", "target busy", "drafted", "thrown away")
COMPARED = ("method", "× plain", "quartiles", *HEADS[3:6], "thrown per token", "same text")
INTRO = (
    "Speculative decoding takes turns: the drafter drafts, the target verifies, the drafter waits. **AMUSD**, "
    "**PEARL** and **SSD** let both work at the same time, in two processes; SSD drafts for the target's likeliest "
    "verdicts. **DSI** uses several targets. All write the same text. **Recorded**: measured one after the other on "
    "one machine. What is marked so is **simulated** from the pass times measured there: DSI, with three targets. "
    "Where a lane is empty, it waits. Method: `docs/asynchronous.md`."
)
STUDY = STUDIES.add(
    Study(
        name="lanes",
        home=__package__,
        summary="draft while verifying: AMUSD, PEARL and SSD on two processes against drafting in turn",
        question="Draft while verifying?",
        order=10,
        link="asynchronous",
        formerly=("bench asynchronous",),
        intro=INTRO,
        codec=Codec(
            LanesFile, "file of lanes", 6, "specviz study lanes --result FILE", format=FORMAT, version=VERSION,
            problems=problems,
        ),
        file="lanes/opening.json.gz",
        page="asynchronous.md",
        section="bench asynchronous",
        choices=choices,
        view=view,
        tables=markdown,
        flags=(
            count("--prompts", 1, "prompts per family"),
            count("--max-new-tokens", 64, "tokens per text, where it does not end before"),
            count("--repeats", 3, "times each prompt is decoded by each method"),
            count("--gamma", 4, "tokens drafted in turn, and by PEARL and SSD in a round"),
            count("--fan-out", 2, "verdicts SSD drafts for behind each count of accepted tokens; others beside it"),
            count("--ahead", 8, "tokens AMUSD's drafter may be ahead"),
            count("--widest", 7, "tokens AMUSD verifies at most in a pass"),
            Flag("--temperature", "of the texts (default %(default)s)", 0.0, float, "T"),
            Flag(
                "--slow", "sleep after each pass of the slow drafter; 0: no such table (default %(default)s)", 6.0,
                float, "MS",
            ),
            Flag("--prompt-id", "this prompt alone; `specviz list prompts` shows them", None, str, "ID"),
        ),
        shared_flags="pair",
        result_flag="--lanes",
        remade=Remade("drafting while verifying", 6, ("--dtype", "float32")),
    )
)  # fmt: skip

"""A sweep as a page shows it: measured ratios with their intervals, the theory beside them, and where the numbers come
from; and the files a visitor can take away.

Reads sweep points; the measured numbers come from `bench`, the curves from `theory`. The two never share a name or a
style. Names in a result may come from strangers; they are escaped where they are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from statistics import median

from specviz.app.look import notices
from specviz.app.look.notices import SOURCES, Badge, blocks_table
from specviz.app.offered import offered
from specviz.app.runs.gallery import ShownSweep
from specviz.app.step.opening import BROWSER, BROWSER_ADAPTER, SERVER
from specviz.protocol.sweeps import store as sweep_store
from specviz.protocol.sweeps.definition import SweepDefinition
from specviz.protocol.sweeps.points import BASELINE, SweepPoint, title
from specviz.protocol.sweeps.result import points_of
from specviz.protocol.sweeps.store import sweep_csv, to_toml
from specviz.theory import formulas as theory
from specviz.theory import machines
from specviz.theory.rows import MOST, SweepRow, repeats_itself, round_times, summarise, varied
from specviz.trace.header import ModelCard, in_role

MANY = 40
"""settings, each temperature counted, up to which everything is drawn"""


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured speedup: the median over the prompts, with its interval from resampled prompts."""

    median: float
    low: float
    high: float
    """equal to the median where there is one prompt: then no interval follows"""
    explanation: str
    """formula, numerator and denominator"""


@dataclass(frozen=True, slots=True)
class MeasuredPoint(Measured):
    """One drafter at one speculation length."""

    gamma: int


@dataclass(frozen=True, slots=True)
class Level(Measured):
    """A case without a speculation length of its own: a tree, a node budget, a look-up."""

    label: str


@dataclass(frozen=True, slots=True)
class Curve:
    """The theory for one drafter, over every speculation length from 1 on."""

    gammas: tuple[int, ...]
    speedups: tuple[float, ...]
    explanation: str


@dataclass(frozen=True, slots=True)
class Series:
    label: str
    drafter: str
    """several series may be of one, with other settings or policies"""
    points: tuple[MeasuredPoint, ...]
    theory: Curve | None

    @property
    def lengths(self) -> int:
        """How many were measured."""
        return len(self.points)

    @property
    def best(self) -> float:
        """Median speedup at the fastest of them."""
        return max(point.median for point in self.points)


@dataclass(frozen=True, slots=True)
class SpeedupView:
    series: tuple[Series, ...]
    levels: tuple[Level, ...]
    rows: tuple[SweepRow, ...]
    verdict: str
    """what the measurement says, in one sentence"""


def speedup_view(points: Sequence[SweepPoint]) -> SpeedupView:
    """Everything the When-it-pays tab shows, from the points measured so far (none is fine); texts that repeat
    themselves are left out and counted."""
    held = varied(points)
    apart = len(
        {
            (sweep_point.prompt, sweep_point.repeat, sweep_point.temperature)
            for sweep_point in points
            if repeats_itself(sweep_point)
        }
    )
    rows = summarise(held) if held else []
    drafted = [row for row in rows if row.drafter != BASELINE]
    several = len({row.temperature for row in rows}) > 1
    labels = list(dict.fromkeys(_name(row, several) for row in drafted if row.gamma is not None))
    series = tuple(_series(label, drafted, held, several) for label in labels)
    levels = tuple(
        Level(row.ratio.value, row.ratio.low, row.ratio.high, _explain(row), _name(row, several))
        for row in drafted
        if row.gamma is None
    )
    return SpeedupView(series, levels, tuple(rows), f"{_verdict(drafted, several)}{_left_out(apart)}")


def _left_out(texts: int) -> str:
    """How many texts are in no number here."""
    if not texts:
        return ""
    return f" Left out, with more than {MOST:.0%} of their 4-grams repeated: {_count(texts, 'text')}."


def drawn(points: Sequence[SweepPoint]) -> Sequence[SweepPoint]:
    """The points that charts show: all of them, but of many settings at several temperatures those at the lowest,
    because each setting would be drawn once more per temperature. The table and the files have all."""
    cases = {(title(sweep_point), sweep_point.gamma, sweep_point.temperature) for sweep_point in points}
    if len(cases) <= MANY:
        return points
    lowest = min(sweep_point.temperature for sweep_point in points)
    return [sweep_point for sweep_point in points if sweep_point.temperature == lowest]


def drawn_note(points: Sequence[SweepPoint]) -> str:
    """A sentence where the charts do not show all temperatures; empty where they do."""
    shown = drawn(points)
    left = len({sweep_point.temperature for sweep_point in points}) > len({one.temperature for one in shown})
    return f" The charts show temperature {shown[0].temperature:g}; the table has all." if left else ""


def _name(one: SweepRow | SweepPoint, several: bool) -> str:
    """The case, and its temperature where the sweep has several."""
    return f"{title(one)} at T {one.temperature:g}" if several else title(one)


def _series(label: str, rows: Sequence[SweepRow], points: Sequence[SweepPoint], several: bool) -> Series:
    named = [row for row in rows if _name(row, several) == label and row.gamma is not None]
    own = sorted(named, key=lambda row: row.gamma or 0)
    measured = tuple(
        MeasuredPoint(row.ratio.value, row.ratio.low, row.ratio.high, _explain(row), row.gamma or 0) for row in own
    )
    same = [point for point in points if _name(point, several) == label]
    plain = [point for point in points if point.drafter == BASELINE and point.temperature == same[0].temperature]
    return Series(label, own[0].drafter, measured, _curve(same, plain, own))


def _curve(points: Sequence[SweepPoint], plain: Sequence[SweepPoint], rows: Sequence[SweepRow]) -> Curve | None:
    """Theory with this drafter's measured alpha, measured step times, and what passes took inside its rounds; None
    where one of them is missing, or where a policy may end drafts before γ, of which the formula knows nothing."""
    if any(str(row.policies) for row in rows):
        return None
    alphas = [row.alpha for row in rows if row.alpha is not None]
    timed = next((point for point in points if point.step_times), None)
    if not alphas or timed is None:
        return None
    alpha = median(alphas)
    gammas = tuple(range(1, max(row.gamma or 1 for row in rows) + 1))
    times = theory.StepTimes.of(timed.step_times)
    inside = round_times(points, plain, times)

    def expected(gamma: int) -> float:
        return theory.speedup(alpha, gamma, times, inside.step_s, (inside.widening - 1) * times.at(gamma + 1))

    explanation = (
        f"theory with measured acceptance α = {alpha:.2f} and pass times as measured inside rounds: a target pass "
        f"takes {inside.widening:.2f} times as long there as in a loop of its own"
    )
    return Curve(gammas, tuple(map(expected, gammas)), explanation)


def _explain(row: SweepRow) -> str:
    """What is divided by what, over how many runs, and how sure that is."""
    accepted, runs = row.statistics.acceptance_rate, _count(row.statistics.runs, "run")
    rate = "nothing drafted" if accepted is None else f"acceptance rate {accepted.value:.2f}"
    return (
        f"tokens per second ÷ plain decoding's, run by run: {row.tokens_per_s:.0f} ÷ "
        f"{row.baseline_tokens_per_s:.0f} (medians); {interval_words(row)}; {runs}; {rate}"
    )


def interval_words(row: SweepRow) -> str:
    """The interval of a row's ratio, or that there is none."""
    if row.statistics.prompts == 1:
        return "one prompt, so no interval"
    return f"median over {row.statistics.prompts} prompts, 95 % interval {row.ratio.low:.2f} to {row.ratio.high:.2f}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def is_slower(row: SweepRow) -> bool:
    """Slower than plain decoding by more than the second digit shows."""
    return row.ratio.value < 0.995


def _verdict(rows: Sequence[SweepRow], several: bool) -> str:
    if not rows:
        return "No drafter has been measured yet."
    best = max(rows, key=lambda row: row.ratio.value)
    length = f" with γ = {best.gamma}" if best.gamma is not None else ""
    found = f"{_name(best, several)}{length}: {best.ratio.value:.2f}× plain decoding ({interval_words(best)})"
    if is_slower(best):
        return f"Every setting measured here is slower than plain decoding. The least slow is {found}."
    slower = sum(map(is_slower, rows))
    tail = f" {slower} of {len(rows)} settings are slower than plain decoding." if slower else ""
    return f"Fastest measured: {found}.{tail}"


# --- two kinds of machine --------------------------------------------------------------------------------------------


def machines_table(shown: ShownSweep) -> str:
    """The recorded sweep beside what was kept of it on other kinds of machine, as HTML; empty where nothing was."""
    sweeps = machines.beside(shown.result, machines.kept())
    if len(sweeps) < 2:
        return ""
    heads, body = machines.table(sweeps)
    cells = [list(map(escape, row)) for row in body]
    commits = ", ".join(f"{sweep.machine.processor}: {sweep.commit}" for sweep in sweeps if sweep.commit)
    caption = f"Speedup over plain decoding, 95 % interval. SpecViz's commit, {commits}."
    return f"{blocks_table(heads, cells, caption)}{notices.note(machines.why(sweeps))}"


# --- where the numbers come from, and files --------------------------------------------------------------------------


def both_speeds(before: ShownSweep | None, now: ShownSweep) -> str:
    """How fast plain decoding was there and here, in a sentence and a space behind it, where the sweep that was shown
    before states the same and was made in the other place; else empty."""
    if before is None or not before.live or before.result.definition_sha256 != now.result.definition_sha256:
        return ""
    places = [BROWSER if _is_browsers(shown) else SERVER for shown in (before, now)]
    if places[0] == places[1]:
        return ""
    speeds = [median(point.baseline_tokens_per_s for point in shown.result.points) for shown in (before, now)]
    return (
        f"Plain decoding wrote {speeds[1]:.1f} tokens a second {places[1]}, {speeds[0]:.1f} {places[0]}, medians over "
        "all runs. "
    )


def _is_browsers(shown: ShownSweep) -> bool:
    """Whether the visitor's own browser has just made it."""
    return shown.live and shown.result.provenance.target.adapter == BROWSER_ADAPTER


def origin(shown: ShownSweep) -> list[Badge]:
    """Where the numbers come from, as badges."""
    result = shown.result
    about, machine, asked = result.provenance, result.provenance.machine, result.definition
    source = "live" if shown.live else "recorded"
    software = f"{machine.system}, Python {machine.python}, torch {machine.torch}, transformers {machine.transformers}"
    threads = f"{machine.threads} thread{'s' * (machine.threads != 1)}"
    badges = [
        Badge(
            f"{source}, {BROWSER}" if _is_browsers(shown) else source,
            "live" if shown.live else "recorded",
            SOURCES[source],
        ),
        Badge(about.created[:10], "plain", f"begun {about.created}, by {about.producer}: {about.command}"),
        Badge(f"{machine.processor}, {machine.cores} cores, {threads}, {machine.dtype}", "plain", software),
        _model("target", about.target),
    ]
    if about.workers:
        machines = sorted({f"{worker.host}: {worker.machine.processor}" for worker in about.workers})
        count = f"{len(about.workers)} worker{'s' * (len(about.workers) != 1)}"
        badges.append(Badge(count, "plain", f"each prompt on one of them; machines: {'; '.join(machines)}"))
    models = {card.weights_sha256: card for card in about.drafters.values()}
    badges += [_model("drafter", card) for card in models.values()]
    kept = len({point.prompt for point in result.points})
    badges.append(
        Badge(
            f"{kept} prompt{'s' * (kept != 1)} × {asked.repeats}, {asked.max_new_tokens} tokens",
            "plain",
            f"{len(result.points)} of {result.planned_runs} runs, plain decoding among them",
        )
    )
    badges += [Badge(f"left out: {one.name}", "plain", one.reason) for one in result.absent]
    return badges


def _model(role: str, card: ModelCard) -> Badge:
    explanation = f"{card.parameters:,} parameters, {card.dtype}, sha256 {card.weights_sha256}"
    return Badge(f"{in_role(role, card.name)} {card.weights_sha256[:8]}", "plain", explanation)


def offer_results(shown: ShownSweep) -> tuple[str, str]:
    """Where `sweep.json` and `sweep.csv` lie."""
    as_csv = sweep_csv(points_of(shown.result))
    return offered("sweep.json", sweep_store.dumps(shown.result)), offered("sweep.csv", as_csv)


def offer_settings(definition: SweepDefinition) -> str:
    """Where `sweep.toml` lies, which runs the same from `specviz bench sweep` and from here."""
    return offered("sweep.toml", to_toml(definition))

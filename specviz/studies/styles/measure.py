"""The same questions in every style, decoded plainly and by each drafter, interleaved on one clock.

Place in the flow: `specviz bench styles` hands in a trace source; `theory.styles` makes numbers of what comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from specviz.bench.core.contest import rotated
from specviz.bench.core.run import Collected, collect, first_run, never
from specviz.corpus.prompt_styles import followed, is_right, question, rendered
from specviz.errors import BenchError
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.protocol.styles import PLAIN, TITLES, Cell, StyleAnswer, StyleRun
from specviz.theory import metrics
from specviz.trace.header import Started

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class StylePlan:
    """What is compared."""

    requests: tuple[tuple[str, RunRequest], ...]
    """drafter → its request, the prompt left out; plain decoding is the first"""
    kinds: tuple[str, ...]
    asked: tuple[str, ...]
    questions: int
    """of each kind"""
    seed: int
    """of the questions"""
    repeats: int

    def cells(self) -> Iterator[Cell]:
        """Question by question in every style, so that what is cut short has measured all styles alike."""
        for number in range(self.questions):
            for kind in self.kinds:
                for asked in self.asked:
                    for style in TITLES:
                        yield Cell(kind, asked, style, number)

    def prompt(self, cell: Cell) -> str:
        return rendered(question(cell.kind, self.seed, cell.number), cell.style, cell.asked)


@dataclass(frozen=True, slots=True)
class Compared:
    answers: tuple[StyleAnswer, ...]
    runs: tuple[StyleRun, ...]
    headers: tuple[Started, ...]
    """one of each drafter"""

    def unequal(self) -> list[str]:
        """A sentence for each drafter that wrote another text than plain decoding."""
        apart: dict[str, list[str]] = {}
        for one in self.runs:
            if not one.same:
                cell = one.cell
                apart.setdefault(one.drafter, []).append(f"{cell.kind} {cell.number + 1} ({TITLES[cell.style]})")
        return [
            f"{name} wrote another text than plain decoding on {', '.join(dict.fromkeys(cells))}."
            for name, cells in apart.items()
        ]


def compare(
    source: TraceSource,
    plan: StylePlan,
    clock: Clock,
    cancelled: Callable[[], bool] = never,
    report: Callable[[str], None] = lambda line: None,
) -> Compared:
    """After a run of each drafter that warms it up; the drafters take turns in being first. A question that was not
    finished in every style and by every drafter is left out. Raises BenchError where a drafter cannot run here, and
    where no question was finished."""
    cells = list(plan.cells())
    headers = tuple(_warm(source, replace(request, prompt=plan.prompt(cells[0]))) for _, request in plan.requests)
    answers, runs = dict[Cell, StyleAnswer](), list[StyleRun]()
    for repeat in range(plan.repeats):
        for place, cell in enumerate(cells):
            found = _decoded(source, plan, cell, place + repeat, clock, cancelled)
            if len(found) < len(plan.requests):
                return _whole(plan, answers, runs, headers)
            truth = question(cell.kind, plan.seed, cell.number).truth
            plain, _ = found[PLAIN]
            if repeat == 0:
                text = plain.finished.text
                answers[cell] = StyleAnswer(cell, plan.prompt(cell), truth, text, followed(text, cell.style))
            runs += (_run(cell, name, repeat, found[name], plain, truth) for name, _ in plan.requests)
            if cell.style == cells[-1].style:
                report(f"{cell.kind} {cell.number + 1} of {plan.questions}, {cell.asked}, repeat {repeat + 1}")
    return _whole(plan, answers, runs, headers)


def _warm(source: TraceSource, request: RunRequest) -> Started:
    found = first_run(source, [request])
    if found is None or found.started is None:
        raise BenchError(f"'{request.drafter}' cannot run here: {'' if found is None else found.reason}")
    return found.started


def _decoded(
    source: TraceSource, plan: StylePlan, cell: Cell, turn: int, clock: Clock, cancelled: Callable[[], bool]
) -> dict[str, tuple[Collected, float]]:
    """Drafter → its run and seconds; fewer where cancelled."""
    found: dict[str, tuple[Collected, float]] = {}
    for name, request in rotated(plan.requests, turn):
        began = clock()
        run = collect(source, replace(request, prompt=plan.prompt(cell)), cancelled)
        took = clock() - began
        if run is None:
            break
        found[name] = (run, took)
    return found


def _run(cell: Cell, drafter: str, repeat: int, own: tuple[Collected, float], plain: Collected, truth: int) -> StyleRun:
    run, seconds = own
    rounds, ids = run.rounds, run.finished.output_ids
    levels = metrics.levels_by_depth(rounds)
    return StyleRun(
        cell, drafter, repeat, seconds, len(ids), metrics.num_spec_steps(rounds), metrics.num_draft_tokens(rounds),
        sum(kept for _, kept in levels), sum(asked for asked, _ in levels),
        is_right(run.finished.text, run.finished.reason != "length", truth), ids == plain.finished.output_ids,
    )  # fmt: skip


def _whole(
    plan: StylePlan, answers: dict[Cell, StyleAnswer], runs: Sequence[StyleRun], headers: tuple[Started, ...]
) -> Compared:
    """What is whole: of each repeat the questions that were asked in every style."""
    asked = len(plan.kinds) * len(plan.asked) * len(TITLES) * len(plan.requests)
    counted: dict[tuple[int, int], int] = {}
    for one in runs:
        key = (one.repeat, one.cell.number)
        counted[key] = counted.get(key, 0) + 1
    kept = tuple(one for one in runs if counted[one.repeat, one.cell.number] == asked)
    if not kept:
        raise BenchError("not a single question was finished in every style; give it more time.")
    cells = {one.cell for one in kept}
    return Compared(tuple(one for cell, one in answers.items() if cell in cells), kept, headers)

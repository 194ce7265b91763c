"""The same questions in every style, decoded plainly and by each drafter, interleaved on one clock.

Place in the flow: `specviz study styles` hands in a trace source; `numbers` makes numbers of what comes back.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from specviz.bench.core.contest import rotated
from specviz.bench.core.passes import work_clock
from specviz.bench.core.report import machine_load, now_utc, origin_of
from specviz.bench.core.run import Collected, collect, first_run, never
from specviz.corpus.prompt_styles import followed, is_right, question, rendered
from specviz.errors import BenchError, OptionError
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.studies.study import Workplace
from specviz.studies.styles.numbers import (
    ASKED,
    FORMAT,
    KINDS,
    PLAIN,
    TITLES,
    VERSION,
    Cell,
    StyleAnswer,
    StyleFile,
    StyleRun,
)
from specviz.theory import metrics
from specviz.trace.header import Started

Clock = Callable[[], float]
REQUEST = ("target", "drafter_model", "seed", "dtype", "device", "max_new_tokens")
"""flags that are fields of a request too"""


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


def measure(workplace: Workplace) -> StyleFile | None:
    """None with `--prompts`, which writes them. Raises OptionError for what cannot run here, before it does."""
    args = workplace.args
    plan = _plan(args)
    if args.prompts is not None:
        _write_prompts(args, workplace.show)
        return None
    source = workplace.source()
    first = next(plan.cells())
    for _, request in plan.requests:
        reason = source.explain(replace(request, prompt=plan.prompt(first)))
        if reason:
            raise OptionError(reason)
    clock, name = work_clock(workplace.model(args.target).model.device)
    with workplace.time_limit(args.max_minutes) as cancelled:
        found = compare(source, plan, clock, cancelled, workplace.say)
    origin = origin_of(found.headers)
    return StyleFile(
        FORMAT, VERSION, origin.machine, origin.target, origin.drafters, now_utc(), name, machine_load(),
        _command(args), args.seed, args.max_new_tokens, found.answers, found.runs,
    )  # fmt: skip


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
        for index, cell in enumerate(cells):
            found = _decoded(source, plan, cell, index + repeat, clock, cancelled)
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
        raise BenchError(f"'{request.drafter.name}' cannot run here: {'' if found is None else found.reason}")
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
    for style_run in runs:
        key = (style_run.repeat, style_run.cell.number)
        counted[key] = counted.get(key, 0) + 1
    kept = tuple(style_run for style_run in runs if counted[style_run.repeat, style_run.cell.number] == asked)
    if not kept:
        raise BenchError("not a single question was finished in every style; give it more time.")
    cells = {one.cell for one in kept}
    return Compared(tuple(style_answer for cell, style_answer in answers.items() if cell in cells), kept, headers)


def _write_prompts(args: argparse.Namespace, say: Callable[[str], None]) -> None:
    """One line a prompt. Its family names kind, way and style, so that whatever groups by family groups by style."""
    plan = _plan(args)
    lines = [
        json.dumps(
            {
                "id": f"{cell.kind}-{cell.number + 1}-{cell.asked}-{cell.style}",
                "family": f"{TITLES[cell.style]}, {KINDS[cell.kind]}, {ASKED[cell.asked]}",
                "text": plan.prompt(cell),
            }
        )
        for cell in plan.cells()
    ]
    try:
        args.prompts.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise OptionError(f"cannot write '{args.prompts}' ({error.strerror}); choose another place.") from None
    say(f"{len(lines)} prompts in {len(TITLES)} styles: {args.prompts}")


def _plan(args: argparse.Namespace) -> StylePlan:
    drafters = _names(args.drafters, "drafters", ())
    template = RunRequest(
        prompt="",
        chat=args.chat,
        record=False,
        **{name: getattr(args, name) for name in REQUEST},
    )
    requests = ((PLAIN, template.with_drafter("none")), *((name, template.with_drafter(name)) for name in drafters))
    kinds = _names(args.kinds, "kinds", KINDS)
    asked = ("message",) if args.chat else _names(args.asked, "asked", [one for one in ASKED if one != "message"])
    return StylePlan(requests, kinds, asked, args.questions, args.seed, args.repeats)


def _names(text: str, flag: str, known: object) -> tuple[str, ...]:
    """Raises OptionError for none, for one twice and for one that there is not."""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    choices = tuple(known) if isinstance(known, dict | list | tuple) else ()
    odd = next((one for one in found if choices and one not in choices), None)
    if odd is not None:
        raise OptionError(f"--{flag} has '{odd}', but there are: {', '.join(choices)}.")
    if not found or len(set(found)) < len(found) or {"none", PLAIN} & set(found):
        raise OptionError(f"--{flag} is '{text}', but must name different ones, none of them plain decoding.")
    return found


def _command(args: argparse.Namespace) -> str:
    """The words that measure this again."""
    words = ["specviz study styles"]
    if args.target != "target" or args.drafter_model != "drafter":
        words.append(f"--target {args.target} --drafter-model {args.drafter_model}")
    words.append(f"--drafters {args.drafters} --kinds {args.kinds}")
    words.append("--chat" if args.chat else f"--asked {args.asked}")
    words.append(f"--questions {args.questions} --max-new-tokens {args.max_new_tokens} --repeats {args.repeats}")
    return " ".join([*words, f"--dtype {args.dtype} --seed {args.seed}"])

"""A sweep of the page: the When-it-pays tab's controls as its definition, what this machine lets a visitor ask for, and
its measurement: warm-up and runs in a thread of their own, looked at now and then, and their traces in one zip where a
visitor asks for them.

Knows no method by name; what the definition means is `specviz.protocol.sweeps.definition`'s. The zip lies in the
visitor's own folder, goes with it, and the Analysis tab opens it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from gradio.components import Component

from specviz.app.analysis.library import MOST_TRACES
from specviz.app.form.request import Limits, check_models, check_named, within
from specviz.app.job import Background, Switch
from specviz.app.look import notices
from specviz.bench.sweep.runner import Keep, every_drafter, runnable, sweep, warm_up
from specviz.bench.sweep.workplace import trace_name
from specviz.errors import OptionError
from specviz.protocol.pairs import for_target
from specviz.protocol.runs import Catalog, MethodDescription, TraceSource
from specviz.protocol.sweeps.definition import DrafterEntry, SweepDefinition, SweepSpec, cases, nearest, run_count
from specviz.protocol.sweeps.points import BASELINE, Policies, SweepPoint
from specviz.protocol.sweeps.result import SweepResult, WarmUp, continued, introduce
from specviz.protocol.sweeps.store import checked
from specviz.trace import codec
from specviz.trace.events import Trace

MOST_LENGTHS = 12
MOST_LENGTH = 64
MOST_RUNS = 2000
"""of one sweep on the page"""


@dataclass(frozen=True, slots=True)
class SweepForm:
    """The tab's controls, as they stand."""

    drafters: list[str]
    families: list[str]
    gammas: str
    trees: str
    tree_policies: list[str]
    budgets: str
    stop_policies: list[str]
    temperatures: str
    per_family: int
    repeats: int
    tokens: int
    target: str
    drafter_model: str
    chat: bool


@dataclass(frozen=True, slots=True)
class SweepControls:
    """The tab's components by the form's field names."""

    fields: Mapping[str, Any]

    def form(self, given: Mapping[Component, Any]) -> SweepForm:
        return SweepForm(**{name: given[component] for name, component in self.fields.items()})

    def standing(self) -> SweepForm:
        """What the controls show before anybody touches them."""
        return SweepForm(**{name: component.value for name, component in self.fields.items()})


def sweepable(catalog: Catalog) -> list[MethodDescription]:
    """Every drafter but plain decoding, which is the baseline of them all."""
    return [method for method in catalog.drafters if method.name != BASELINE]


def measurable_tree_policies(catalog: Catalog) -> list[MethodDescription]:
    """The tree policies that the form's verifier, the automatic one, judges: a lossy one needs a lossy verifier,
    which a sweep file can name."""
    return [method for method in catalog.tree_policies if method.lossless]


def early_stop_policies(catalog: Catalog) -> list[MethodDescription]:
    """Every stop policy but the one that a sweep always measures, and those whose times are no speed."""
    return [
        method for method in catalog.stop_policies if method.name != Policies().stop_policy.name and method.deployable
    ]


def definition_of(form: SweepForm, catalog: Catalog, limits: Limits) -> SweepDefinition:
    """The controls as a definition. Raises OptionError with a sentence naming what is missing or not on offer."""
    if not form.drafters:
        raise OptionError("no drafter is chosen; tick at least one.")
    if not form.families:
        raise OptionError("no prompt family is chosen; tick at least one.")
    for chosen, offered, kind in (
        (form.drafters, sweepable(for_target(catalog, form.target)), "drafter"),
        (form.tree_policies, measurable_tree_policies(catalog), "tree policy"),
        (form.stop_policies, early_stop_policies(catalog), "stop policy"),
    ):
        for name in chosen:
            nearest(name, [method.name for method in offered], kind)
    return SweepDefinition(
        drafters=tuple(map(DrafterEntry, form.drafters)),
        gammas=whole_numbers(form.gammas, "speculation lengths", MOST_LENGTH),
        trees=tuple(
            tuple(whole_numbers(part, "children per level", 32, in_order=False))
            for part in form.trees.split(";")
            if part.strip()
        ),
        tree_policies=tuple(form.tree_policies),
        budgets=whole_numbers(form.budgets, "node budgets", limits.max_tree_nodes) if form.tree_policies else (16,),
        stop_policies=tuple(form.stop_policies),
        temperatures=_temperatures(form.temperatures),
        families=tuple(form.families),
        prompts_per_family=max(1, int(form.per_family)),
        repeats=max(1, int(form.repeats)),
        max_new_tokens=min(max(1, int(form.tokens)), limits.max_new_tokens),
        target=_model(form.target, "target model"),
        drafter_model=_model(form.drafter_model, "drafter's model"),
        chat=bool(form.chat),
    )


def check_limits(definition: SweepDefinition, spec: SweepSpec, catalog: Catalog, limits: Limits) -> None:
    """Raises OptionError where a sweep, perhaps from a file, asks this machine for too much; BenchError where a
    count makes no sense."""
    checked(definition)
    if definition.max_new_tokens > limits.max_new_tokens:
        raise OptionError(
            f"the sweep asks for {definition.max_new_tokens} tokens, but this machine takes {limits.max_new_tokens}."
        )
    if run_count(spec) > MOST_RUNS:
        raise OptionError(
            f"the sweep makes {run_count(spec)} runs, but at most {MOST_RUNS} are made here; leave some out."
        )
    longest = max((len(card.text) for card in definition.own_prompts), default=0)
    if longest > limits.prompt_chars:
        raise OptionError(
            f"one of the prompts has {longest:,} characters, but this machine takes {limits.prompt_chars:,}; "
            "shorten it."
        )
    check_models((definition.target, definition.drafter_model), catalog, limits)
    known = {
        kind: {method.name: method for method in listed}
        for kind, listed in (("d", catalog.drafters), ("g", catalog.tree_policies))
    }
    for case in cases(spec):
        check_models([case.drafter_model] if case.drafter_model else [], catalog, limits)
        check_named(case.options, catalog, limits)
        for method, options in (
            (known["d"].get(case.drafter), case.options),
            (known["g"].get(case.policies.tree_policy.name), case.policies.tree_policy.options),
        ):
            if method is not None:
                within(limits, method, {**{card.name: card.default for card in method.options}, **options})


def whole_numbers(text: str, what: str, most: int, in_order: bool = True) -> tuple[int, ...]:
    """`1,2,4` → (1, 2, 4), each once and in order unless told otherwise. Raises OptionError."""
    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise OptionError(
            f"the {what} are {text[:40]!r}, but must be whole numbers with commas, such as 1,2,4."
        ) from error
    if not numbers or min(numbers) < 1 or max(numbers) > most or len(numbers) > MOST_LENGTHS:
        raise OptionError(f"give 1 to {MOST_LENGTHS} {what} between 1 and {most}, such as 1,2,4.")
    return tuple(sorted(set(numbers))) if in_order else tuple(numbers)


def _model(name: str | None, what: str) -> str:
    """Raises OptionError for none; whether there is such a model is found out where it is looked for."""
    given = str(name or "").strip()
    if not given:
        raise OptionError(f"no {what} is chosen; choose one, or type a folder or a hub id.")
    return given


def _temperatures(text: str) -> tuple[float, ...]:
    try:
        numbers = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError as error:
        raise OptionError(
            f"the temperatures are {text[:40]!r}, but must be numbers with commas, such as 0,0.7."
        ) from error
    if not numbers or len(numbers) > MOST_LENGTHS or not all(0.0 <= number <= 10.0 for number in numbers):
        raise OptionError(f"give 1 to {MOST_LENGTHS} temperatures between 0 and 10, such as 0,0.7.")
    return tuple(numbers)


# --- measuring -------------------------------------------------------------------------------------------------------


PROGRESS_S = 0.25
CHART_S = 5.0
"""shortest time between two charts: drawing takes the same processor that is being measured"""
COMMAND = "the page's When-it-pays tab"


@dataclass(slots=True)
class RunningSweep:
    """A sweep in progress; a thread beside the page fills it."""

    definition: SweepDefinition
    kept: SweepResult | None = None
    """what it goes on with"""
    result: SweepResult | None = None
    """without its points; there once everyone has warmed up"""
    points: list[SweepPoint] = field(default_factory=list)
    keep: Keep | None = None
    """what becomes of the runs' traces; None: none are recorded"""


def measure(
    job: RunningSweep, source: TraceSource, spec: SweepSpec, stop: Switch, clock: Callable[[], float] = time.monotonic
) -> Iterator[tuple[str, bool]]:
    """Progress as HTML each quarter of a second, and whether it is time for another chart; the job's points grow on
    the way. Raises JobError where the sweep was ended before its end and not by the visitor."""
    done = tuple(job.points)
    settings, chart_at = len(every_drafter(spec)), clock()
    began: float | None = None
    for found in Background(_items(job, source, spec, stop), stop.set).look(PROGRESS_S):
        measured = [item for item in found if isinstance(item, SweepPoint)]
        if job.result is None or not measured:
            met = sum(isinstance(item, WarmUp) for item in found)
            began = clock() if began is None and job.result is not None else began
            yield notices.message(f"Warming up, {met} of {settings} settings…", "busy"), False
            continue
        now, fresh = clock(), len(done) + len(measured) > len(job.points)
        began = now if began is None else began
        job.points[:] = [*done, *measured]
        total = job.result.planned_runs
        left = (now - began) / len(measured) * (total - len(job.points)) if now > began else None
        drawn = fresh and now - chart_at >= CHART_S
        chart_at = now if drawn else chart_at
        yield notices.progress(len(job.points), total, left), drawn
    stop.check()


def _items(job: RunningSweep, source: TraceSource, spec: SweepSpec, stop: Switch) -> Iterator[WarmUp | SweepPoint]:
    """The warm-up and then the runs, in the thread beside the page."""
    done = tuple(job.points)
    warm_ups: list[WarmUp] = []
    for met in warm_up(source, spec, stop.is_set):
        warm_ups.append(met)
        yield met
    if stop.is_set():
        return
    spec = runnable(spec, warm_ups)
    fresh = introduce(source, job.definition, spec, warm_ups, COMMAND)
    job.result = fresh if job.kept is None else continued(job.kept, fresh)
    yield from sweep(source, spec, stop.is_set, done, job.keep)


ZIP = "traces.zip"


def check_count(runs: int) -> None:
    """Raises OptionError where a sweep makes more runs than the Analysis tab reads."""
    if runs > MOST_TRACES:
        raise OptionError(
            f"the sweep makes {runs} runs, but the traces of at most {MOST_TRACES} are kept; leave some runs out, or "
            "keep no traces."
        )


def zip_keeper(path: Path) -> Keep:
    """Adds each run to the zip at `path`; nothing once its folder is gone, because the visitor has left."""

    def keep(point: SweepPoint, trace: Trace) -> None:
        if path.parent.is_dir():
            with ZipFile(path, "a", ZIP_DEFLATED) as archive:
                archive.writestr(trace_name(point).removesuffix(".gz"), codec.dumps(trace))

    return keep

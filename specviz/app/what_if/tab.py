"""The What-if tab: sliders for acceptance, draft and clock; the modelled speedup, its arithmetic and its charts.

Works a setting out, fills in a preset, opens a simulated run in the player. Pure arithmetic, no engine: it answers
while a slider moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.form.kept import Kept
from specviz.app.look import notices
from specviz.app.look.events import CHOSEN, QUIET, latest
from specviz.app.look.notices import NO_CHOICE
from specviz.app.look.style import took
from specviz.app.runs.gallery import Gallery, labelled_files
from specviz.app.runs.stage import ending, stage_of
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.tab import WATCH, Page, Tab
from specviz.app.what_if.view import (
    LONGEST,
    Setting,
    WhatIfView,
    number_list,
    speedup_by_alpha_and_gamma,
    speedup_by_gamma,
    what_if_view,
)
from specviz.errors import OptionError, SpecVizError
from specviz.theory import metrics, what_if
from specviz.theory import roofline as hardware
from specviz.theory.formulas import LEVIATHAN_SPEEDUPS, StepTimes
from specviz.theory.reclock import draft_pass_s
from specviz.theory.simulation import Simulation, rates_of, simulate
from specviz.theory.what_if import Clock, Shape
from specviz.trace.events import Trace
from specviz.trace.files import MAX_INTEGER

Given = Mapping[Component, Any]
Updates = tuple[object, ...]
SLIDER, FLAT, OWN = "", "", "run"
"""acceptance from the slider; passes that cost the same at any width; the recorded run's own step times"""
START = {"alpha": 0.7, "gamma": 4, "cost_ratio": 0.05, "slower": 2.0, "seed": 7}
OPENING = {**START, "acceptance": SLIDER, "clock": FLAT}
"""what the controls hold when the page opens"""
ROUNDS = 32
MOST_SEED = MAX_INTEGER
KEPT = 4
"""recorded runs held in memory: one is asked for again with every move of a slider"""


@dataclass(frozen=True, slots=True)
class WhatIfFields:
    """The tab's controls by name."""

    fields: Mapping[str, Component]

    def values(self, given: Given) -> dict[str, Any]:
        return {name: given.get(field) for name, field in self.fields.items()}


class WhatIfActions:
    """The tab's actions over the gallery of recorded runs and the shipped step-time curves."""

    def __init__(self, gallery: Gallery) -> None:
        self.gallery = gallery
        self._runs: dict[str, Trace] = {}

    # --- what can be chosen ----------------------------------------------------------------------------------------

    def acceptances(self) -> list[tuple[str, str]]:
        """The slider, or the rates by depth of a recorded run that drafted something."""
        runs = [
            (f"rates of {label}", file) for label, file in labelled_files([c for c in self.gallery.cards if c.length])
        ]
        return [("the slider α", SLIDER), *runs]

    def clocks(self) -> list[tuple[str, str]]:
        names = [(f"{name}, measured curve", name) for name in hardware.curves()]
        return [("a pass costs the same at any width", FLAT), ("step times of the recorded run", OWN), *names]

    def presets(self) -> list[tuple[str, str]]:
        """What the list is for; the gallery's first run that drafted, with rates and clock; the printed rows."""
        drafted = [card for card in self.gallery.cards if card.length]
        first = next((card for card in drafted if card.file == self.gallery.first), drafted[0] if drafted else None)
        own = [] if first is None else [(f"recorded here: {first.label}", first.file)]
        return [("choose one to fill in", notices.NO_CHOICE), *own] + [
            (f"Leviathan et al.: {row.label}", str(index)) for index, row in enumerate(LEVIATHAN_SPEEDUPS)
        ]

    def places(self, clock: str, place: str | None = None) -> Any:
        """The curve's contexts and batches, where one is chosen; `place` stays chosen where the curve has it."""
        curve = hardware.curves().get(clock)
        settings = () if curve is None else hardware.settings(curve)
        choices = [(f"context {context}, batch {batch}", f"{context},{batch}") for context, batch in settings]
        known = [value for _, value in choices]
        value = place if place in known else next(iter(known), None)
        return gr.Dropdown(choices=choices, value=value, visible=bool(choices))

    def fill(self, preset: str | None) -> Updates:
        """A recorded run or a printed row into acceptance, α, γ, tree, c and clock."""
        if not preset:
            return (gr.skip(),) * 6
        if preset.isdecimal():
            row = LEVIATHAN_SPEEDUPS[int(preset)]
            return SLIDER, row.alpha, row.gamma, "", row.cost_ratio, FLAT
        depth = max(map(metrics.drafted_depth, self._run(preset).rounds))
        return preset, gr.skip(), min(depth, LONGEST), "", gr.skip(), OWN

    # --- working it out --------------------------------------------------------------------------------------------

    def show(self, controls: WhatIfFields) -> Callable[[Given], Updates]:
        """Updates of (sentence, notes, numbers, chart by γ, chart by α and γ)."""

        def work_out(given: Given) -> Updates:
            try:
                return shown(what_if_view(self.setting(controls.values(given))))
            except SpecVizError as error:
                return (notices.message(str(error), "error"), *(gr.skip(),) * 4)

        return work_out

    def setting(self, values: Mapping[str, Any]) -> Setting:
        """The controls as a setting. Raises OptionError or TraceError with a sentence."""
        file = str(values.get("acceptance") or "")
        run = self._run(file) if file else None
        alpha, gamma = _number(values, "alpha", 0, 1), _whole(values, "gamma", 0, LONGEST)
        alphas = rates_of(run) if run is not None else (alpha,)
        tree, cost = str(values.get("tree") or "").strip(), _number(values, "cost_ratio", 0, 10)
        shape = Shape(_branching(tree)) if tree else Shape.chain(gamma)
        which = str(values.get("clock") or "")
        clock, name, batch = self._clock(which, values.get("place"), cost, run)
        paper = next(
            (row for row in LEVIATHAN_SPEEDUPS if (row.alpha, row.gamma, row.cost_ratio) == (alpha, gamma, cost)), None
        )
        as_printed = run is None and not tree and clock.unit
        slower = _number(values, "slower", 0, 100)
        return Setting(alphas, shape, clock, name, batch, slower, run, which == OWN, paper if as_printed else None)

    def _clock(self, chosen: str, place: object, cost: float, run: Trace | None) -> tuple[Clock, str, int]:
        if chosen == FLAT:
            return Clock.of_ratio(cost), f"counted in target passes: every one costs 1, a drafter pass {cost:g}", 1
        if chosen == OWN:
            run = run if run is not None else self._run(self.gallery.first or "")
            if not run.started.step_times:
                raise OptionError("this recorded run has no step times in its header; choose another run or clock.")
            times = StepTimes.of(run.started.step_times)
            step = draft_pass_s(run)
            return Clock(times, step), f"measured step times of the recorded run, drafter pass {took(step)}", 1
        curve = hardware.curves().get(chosen)
        if curve is None:
            raise OptionError(f"there is no curve '{chosen[:40]}' here; choose one from the list.")
        there = hardware.settings(curve)
        context, batch = next((one for one in there if f"{one[0]},{one[1]}" == place), there[0])
        times = hardware.step_times(curve, context, batch)
        name = f"measured curve of {curve.model.name} on {curve.name}, context {context}, batch {batch}, c {cost:g}"
        return Clock(times, cost * times.at(1)), name, batch

    def _run(self, file: str) -> Trace:
        if file not in self._runs:
            found = self.gallery.read(file)
            while len(self._runs) >= KEPT:
                self._runs.pop(next(iter(self._runs)))
            self._runs[file] = found
        return self._runs[file]

    # --- a simulated run -------------------------------------------------------------------------------------------

    def step_through(self, controls: WhatIfFields) -> Callable[[Given], Updates]:
        """Updates of (tabs, player, badges, panels, message of the Watch tab, sentence here)."""

        def open_run(given: Given) -> Updates:
            try:
                stage = self.simulated(controls.values(given))
            except SpecVizError as error:
                return (*(gr.skip(),) * 5, notices.message(str(error), "error"))
            return (gr.Tabs(selected=WATCH), *stage, gr.skip())

        return open_run

    def simulated(self, values: Mapping[str, Any]) -> Updates:
        """What shows the simulated run of these values; those of the opening where one is missing. The same values give
        the same run. Raises OptionError or TraceError with a sentence."""
        values = {**OPENING, **values}
        one = self.setting(values)
        seed = _whole(values, "seed", 0, MOST_SEED)
        trace = simulate(Simulation(one.alphas, one.shape, one.clock, one.clock_name, ROUNDS, seed))
        said = f"Showing a simulated run, no model ran: {ending(trace)} {_against_formula(one, trace)}"
        return tuple(stage_of(trace, said))


def _against_formula(setting: Setting, trace: Trace) -> str:
    """Why one run of some rounds need not show the formula's number."""
    low, high = what_if.spread_of_runs(setting.alphas, setting.shape, ROUNDS)
    found = metrics.tokens_per_target_pass(trace.rounds)
    return (
        f"Its {len(trace.rounds)} rounds brought {found:.2f} tokens each, the formula says "
        f"{what_if.tokens_per_round(setting.alphas, setting.shape):.2f}; by chance alone 95 % of such runs lie between "
        f"{low:.2f} and {high:.2f}. Another seed gives another one."
    )


def shown(view: WhatIfView) -> Updates:
    notes = "".join(notices.note(note) for note in view.notes)
    charts = speedup_by_gamma(view), speedup_by_alpha_and_gamma(view)
    return (notices.message(view.verdict, "good"), notes, number_list(view.numbers), *charts)


def _number(values: Mapping[str, Any], name: str, low: float, high: float) -> float:
    try:
        value = float(values.get(name) or 0)
    except (TypeError, ValueError):
        value = float("nan")
    if not low <= value <= high:
        raise OptionError(f"{name.replace('_', ' ')} is {values.get(name)!r}, but must be from {low:g} to {high:g}.")
    return value


def _whole(values: Mapping[str, Any], name: str, low: int, high: int) -> int:
    return int(_number(values, name, low, high))


def _branching(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise OptionError(
            f"the tree is '{text[:40]}', but takes children per level with commas, such as 3,2,1."
        ) from None


# --- the tab ---------------------------------------------------------------------------------------------------------


INTRO = (
    "How fast would it be? Choose how often a candidate is accepted, the draft's shape and the cost of passes. "
    "Every number here is **modelled**: computed from formulas, not measured. "
    "*Step through a simulated run* plays such a run in the player, marked **simulated**."
)


def what_if_tab(actions: WhatIfActions, tabs: gr.Tabs, stage: Sequence[Component]) -> Kept:
    """Build the tab's content inside the current Blocks. `stage`: the Watch tab's player, badges, panels and message.
    Returns what a link holds of it: the controls that make up a setting."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    fields = _controls(actions)
    controls = WhatIfFields(fields)
    opening = shown(what_if_view(actions.setting(OPENING)))
    sentence = gr.HTML(opening[0], elem_id="sv-what-if-verdict")
    notes = gr.HTML(opening[1], elem_id="sv-what-if-notes")
    with gr.Row(elem_classes="sv-actions"):
        play = gr.Button("Step through a simulated run", variant="primary", min_width=240, elem_id="sv-what-if-play")
    numbers = gr.HTML(opening[2], elem_id="sv-what-if-numbers")
    with gr.Row():
        by_gamma = gr.Plot(opening[3], show_label=False, elem_id="sv-what-if-plot", min_width=320)
        by_alpha = gr.Plot(opening[4], show_label=False, elem_id="sv-what-if-heat", min_width=320)

    inputs = set(fields.values())
    outputs = [sentence, notes, numbers, by_gamma, by_alpha]
    watched = [field.change for name, field in fields.items() if name not in ("preset", "seed")]
    gr.on(watched, actions.show(controls), inputs, outputs, **latest())
    # `input`, not `change`: a link fills in both, and must not have its context and batch replaced by the first ones.
    settings = actions.places, [fields["clock"], fields["place"]], fields["place"]
    fields["clock"].input(*settings, **QUIET)
    filled = [fields[name] for name in ("acceptance", "alpha", "gamma", "tree", "cost_ratio", "clock")]
    fields["preset"].input(actions.fill, fields["preset"], filled, **CHOSEN).then(*settings, **QUIET)
    play.click(actions.step_through(controls), inputs, [tabs, *stage, sentence], **QUIET)
    kept = {name: control for name, control in fields.items() if name != "preset"}

    def fill(values: Mapping[str, Any]) -> dict[Any, Any]:
        """Context and batch of the curve that a link chooses."""
        return {fields["place"]: actions.places(values["clock"], values.get("place"))} if "clock" in values else {}

    return Kept("what-if", kept, fill=fill, changing=frozenset({"place"}), simulated=actions.simulated)


def _controls(actions: WhatIfActions) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    with gr.Row():
        fields["preset"] = gr.Dropdown(
            actions.presets(), value=NO_CHOICE, label="preset: a recorded run, or a row of a paper", scale=2,
            min_width=240, elem_id="sv-what-if-preset",
        )  # fmt: skip
        fields["acceptance"] = gr.Dropdown(
            actions.acceptances(), value=SLIDER, label="acceptance from", scale=2, min_width=240,
            elem_id="sv-what-if-acceptance",
        )  # fmt: skip
        fields["clock"] = gr.Dropdown(
            actions.clocks(), value=FLAT, label="clock of the target", scale=2, min_width=240,
            elem_id="sv-what-if-clock",
        )  # fmt: skip
        fields["place"] = gr.Dropdown([], label="context and batch", visible=False, min_width=180)
    with gr.Row():
        fields["alpha"] = gr.Slider(
            0, 1, value=START["alpha"], step=0.01, label="α: probability that a candidate is accepted", min_width=220,
            elem_id="sv-what-if-alpha",
        )  # fmt: skip
        fields["gamma"] = gr.Slider(
            0, LONGEST, value=START["gamma"], step=1, label="γ: tokens drafted per round", min_width=220
        )
        fields["cost_ratio"] = gr.Slider(
            0, 1, value=START["cost_ratio"], step=0.01, label="c: drafter pass ÷ target pass", min_width=220
        )
    with gr.Row():
        fields["tree"] = gr.Textbox(
            "", label="or a tree", info="children per level, e.g. 3,2,1", max_lines=1, min_width=180,
            elem_id="sv-what-if-tree",
        )  # fmt: skip
        fields["slower"] = gr.Slider(
            0.25, 8, value=START["slower"], step=0.25, label="compare with a drafter this many times as slow",
            min_width=220,
        )  # fmt: skip
        fields["seed"] = gr.Number(START["seed"], label="seed of the simulated run", precision=0, min_width=160)
    return fields


def _build(page: Page, tab: gr.Tab, actions: WhatIfActions) -> None:
    page.kept.append(what_if_tab(actions, page.front, page.parts(WATCH_TAB).stage()))


TAB = Tab("what-if", "What if", "lab", 5, lambda page: WhatIfActions(page.gallery), _build)

"""The Race tab: a race recorded first and replayed side by side, and the form for one of the visitor's own: a prompt,
up to three drafters with their lengths, settings for all.

Nothing of a race is shown before all of it is recorded; a stop shows what was finished. An error becomes one sentence.
Knows no method by name: whether a drafter has a length is read off its option card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import gradio as gr
from gradio.components import Component

from specviz.app.components.framed import RaceStage
from specviz.app.form.fields import chip_label, families, next_prompt, own_prompts, wire_own_prompts
from specviz.app.form.kept import Kept
from specviz.app.form.methods import drafter_fold
from specviz.app.form.request import Limits, option_key, parse_option, read_options, request_from, within
from specviz.app.job import Background, Cancellable, Faults, idle, starts
from specviz.app.look import notices
from specviz.app.look.events import QUIET
from specviz.app.race.view import race_json, race_view
from specviz.app.runs.gallery import as_recorded
from specviz.app.tab import Page, Tab
from specviz.bench.race import MOST_DRAFTERS, Lap, Racer, RaceSpec, check, lap_count, progress, race, result
from specviz.errors import OptionError, TraceError
from specviz.protocol import races as race_file
from specviz.protocol.races import Race
from specviz.protocol.runs import Catalog, MethodDescription, OptionCard, RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE
from specviz.resources import ROOT, leave_out
from specviz.trace.events import Option

LENGTH = "gamma"
"""the option that is a speculation length, in every drafter that has one"""
NOBODY = ""
"""the choice that leaves a place empty"""
FIRST_CHOICE = ("ngram", "model", "amusd")
"""who stands at the start when the tab is opened, where the catalog has them"""
SETTINGS = ("temperature", "seed", "max_new_tokens")


def drafters(catalog: Catalog) -> list[MethodDescription]:
    """Everyone who can run against plain decoding."""
    return [method for method in catalog.drafters if method.name != BASELINE]


def length_card(catalog: Catalog, drafter: str) -> OptionCard | None:
    """The card of a drafter's speculation length; None: it has none."""
    cards = [card for method in catalog.drafters if method.name == drafter for card in method.options]
    return next((card for card in cards if card.name == LENGTH), None)


def first_choice(catalog: Catalog) -> list[str]:
    """One name per place."""
    known = [method.name for method in drafters(catalog)]
    chosen = [name for name in FIRST_CHOICE if name in known]
    return [*chosen, *(NOBODY,) * MOST_DRAFTERS][:MOST_DRAFTERS]


def place_key(place: int, what: str) -> str:
    """Name of one place's control among the form's values: `0.drafter`, `0.gamma`."""
    return f"{place}.{what}"


def race_spec(values: Mapping[str, Any], catalog: Catalog, limits: Limits) -> RaceSpec:
    """The controls as a race. Raises OptionError with a sentence naming what is missing or too much."""
    standard = RunRequest(prompt="")
    common = {
        "prompt": values.get("prompt"),
        "drafter": BASELINE,
        "target": standard.target,
        "drafter_model": standard.drafter_model,
        "top_k": standard.top_k,
        "top_p": standard.top_p,
        **{name: values.get(name) for name in SETTINGS},
    }
    chosen = [(index, str(values.get(place_key(index, "drafter")) or NOBODY)) for index in range(MOST_DRAFTERS)]
    racers = [
        _racer(name, values.get(place_key(place, LENGTH)), catalog, limits) for place, name in chosen if name != NOBODY
    ]
    if not racers:
        raise OptionError("no drafter is chosen; choose one to race against plain decoding.")
    return RaceSpec(request_from(common, catalog, limits), tuple(racers), max(1, int(values.get("repeats") or 1)))


def _racer(name: str, length: object, catalog: Catalog, limits: Limits) -> Racer:
    method = next((method for method in drafters(catalog) if method.name == name), None)
    if method is None:
        raise OptionError(f"there is no drafter '{name[:40]}' to race; choose one from the list.")
    card = length_card(catalog, name)
    options: dict[str, Option] = {}
    if card is not None and length not in (None, ""):
        wanted = parse_option(card, length)
        options = {} if wanted == card.default else {LENGTH: wanted}
    given = {option_key("drafter", name, key): value for key, value in options.items()}
    within(limits, method, read_options("drafter", method, given))
    return Racer(name, options)


# --- what the controls do --------------------------------------------------------------------------------------------


Given = Mapping[Component, Any]
Updates = tuple[object, ...]
OPENING = ROOT / "races" / "opening.json.gz"
PROGRESS_S = 0.25
NOTHING = "No race is recorded yet: choose a prompt and drafters, and press Run race."
IDLE = "A recorded race: press play. Run race records one of your own on this machine, then replays it."


class RaceActions(Cancellable):
    """The tab's actions over one source."""

    def __init__(self, source: TraceSource, limits: Limits, opening: Path = OPENING) -> None:
        super().__init__()
        self.source = source
        self.limits = limits
        self.catalog: Catalog = source.catalog()
        self._opening = opening

    # --- opening and the form ------------------------------------------------------------------------------------

    def opening(self) -> tuple[str, str, str]:
        """(race as JSON, sentence, prompt) before anybody touches the tab."""
        first = self.catalog.prompts[0].text if self.catalog.prompts else ""
        if not self._opening.is_file():
            return "", NOTHING, first
        try:
            stored = race_file.read(self._opening)
        except TraceError as error:
            leave_out(self._opening, error)
            return "", str(error), first
        runners = tuple(replace(runner, trace=as_recorded(runner.trace)) for runner in stored.runners)
        prompt = runners[0].trace.started.prompt_text
        known = any(card.text == prompt for card in self.catalog.prompts)
        return race_json(race_view(Race(runners))), IDLE, prompt if known else first

    def chip(self, family: str) -> Callable[[str], Updates]:
        def pick(current: str) -> Updates:
            card, line = next_prompt(self.catalog, family, current)
            return card.text, notices.message(line)

        return pick

    def choose(self, drafter: str, length: int | None = None) -> Any:
        """The length that belongs to the chosen drafter, its default unless `length` is given. Nothing where it
        has none."""
        card = length_card(self.catalog, drafter)
        if card is None:
            return gr.Number(value=None, visible=False)
        usual = card.default if isinstance(card.default, int) else None
        return gr.Number(value=usual if length is None else length, visible=True, info=card.help)

    def another(self, drafter: str, standing: int | None) -> Any:
        """The same for a visitor's choice. Where its default stands already the value is not sent: another may have
        been typed before the answer arrives."""
        card = length_card(self.catalog, drafter)
        if card is None or standing != card.default:
            return self.choose(drafter)
        return gr.Number(visible=True, info=card.help)

    def filled(self, fields: Mapping[str, Component]) -> Callable[[Mapping[str, Any]], dict[Any, Any]]:
        """What a link's values ask for beyond themselves: the length that belongs to each drafter it chooses."""

        def fill(values: Mapping[str, Any]) -> dict[Any, Any]:
            chosen = {index: values.get(place_key(index, "drafter")) for index in range(MOST_DRAFTERS)}
            return {
                fields[place_key(place, LENGTH)]: self.choose(drafter, values.get(place_key(place, LENGTH)))
                for place, drafter in chosen.items()
                if drafter is not None
            }

        return fill

    # --- running -------------------------------------------------------------------------------------------------

    def run(self, fields: Mapping[str, Component]) -> Callable[..., Iterator[Updates]]:
        """Updates of (stage, message, Run, Stop)."""

        def record(given: Given, visitor: gr.Request) -> Iterator[Updates]:
            stop = self.armed(visitor)
            laps: list[Lap] = []
            spec = None
            with Faults("race") as faults:
                spec = race_spec({name: given[field] for name, field in fields.items()}, self.catalog, self.limits)
                check(self.source, spec)
                yield self._line(spec, 0)
                done = -1
                for found in Background(race(self.source, spec, stop.is_set), stop.set).look(PROGRESS_S):
                    laps[:] = found
                    if len(laps) != done:
                        done = len(laps)
                        yield self._line(spec, done)
                stop.check()
            yield self._ending(spec, laps, faults.sentence)

        return record

    @staticmethod
    def _line(spec: RaceSpec, done: int) -> Updates:
        return gr.skip(), notices.message(progress(spec, done), "busy"), gr.skip(), gr.skip()

    @staticmethod
    def _ending(spec: RaceSpec | None, laps: list[Lap], problem: str | None) -> Updates:
        """The whole race, or as much of it as was finished."""
        done = result(spec, laps) if spec is not None else None
        if done is None:
            text = problem or "Stopped before plain decoding was done; nothing is shown."
            return (gr.skip(), notices.message(text, "error" if problem else "plain"), *idle())
        view = race_view(done)
        missing = "" if spec is None or len(laps) == lap_count(spec) else "Stopped; what was finished is shown. "
        line = notices.message(
            f"{problem} {missing}" if problem else f"{missing}{view.equality}", "error" if problem else "good"
        )
        return (race_json(view), line, *idle())


# --- the tab ---------------------------------------------------------------------------------------------------------


INTRO = (
    "Plain decoding and up to three drafters on one prompt. Each runs by itself, so the timing is clean; once all "
    "are recorded, they are **replayed** side by side. The replay keeps to the engine's own time; you can slow it "
    "down, and the page then says so."
)
CHIPS_NOTE = "Each button fills the prompt with the next one of its family."
MOST_REPEATS = 5
FILLED = "This link fills in a race; Run race records it here."


def race_tab(actions: RaceActions, table: str) -> Kept:
    """Build the tab's content inside the current Blocks. `table`: of all drafters, as HTML.

    Returns what a link holds of the tab."""
    value, sentence, prompt = actions.opening()
    gr.Markdown(INTRO, elem_classes="sv-intro")
    with gr.Row(elem_classes="sv-actions"):
        run = gr.Button("Run race", variant="primary", min_width=110, elem_id="sv-race-run")
        stop = gr.Button("Stop", variant="stop", min_width=80, interactive=False, elem_id="sv-race-stop")
        message = gr.HTML(notices.message(sentence), elem_id="sv-race-message", scale=1, min_width=200)
    stage = RaceStage(value, elem_id="sv-race")
    fields = _form(actions, prompt)
    drafter_fold(table)
    armed = [message, run, stop]
    starts(run.click, actions, armed, actions.run(fields), set(fields.values()), [stage, *armed])
    stop.click(actions.stop, None, None, **QUIET)
    return Kept("race", fields, fill=actions.filled(fields), message=message, said=FILLED)


def _form(actions: RaceActions, prompt: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    with gr.Row(elem_classes="sv-actions"):
        chips = [
            (family, gr.Button(chip_label(family), size="sm", min_width=60, elem_classes="sv-chip"))
            for family in families(actions.catalog)
        ]
        note = gr.HTML(notices.message(CHIPS_NOTE), elem_id="sv-race-note", scale=1, min_width=200)
    with gr.Row(elem_classes="sv-form"):
        with gr.Column(scale=5, min_width=300):
            fields["prompt"] = gr.Textbox(
                prompt,
                label="prompt",
                lines=5,
                max_lines=9,
                elem_id="sv-race-prompt",
                elem_classes="sv-mono",
                info=f"at most {actions.limits.prompt_chars:,} characters",
            )
            wire_own_prompts(own_prompts("race-"), fields["prompt"], actions.limits)
            _settings(actions, fields)
        with gr.Column(scale=5, min_width=300):
            for index, name in enumerate(first_choice(actions.catalog)):
                _place(actions, fields, index, name)
    for family, chip in chips:
        chip.click(actions.chip(family), fields["prompt"], [fields["prompt"], note], **QUIET)
    return fields


def _place(actions: RaceActions, fields: dict[str, Any], place: int, name: str) -> None:
    """One of the places beside plain decoding: who, and how far ahead."""
    names = [(method.name, method.name) for method in drafters(actions.catalog)]
    card = length_card(actions.catalog, name)
    with gr.Row():
        who = gr.Dropdown(
            [("nobody", NOBODY), *names],
            value=name,
            label=f"drafter {place + 1} of {MOST_DRAFTERS}",
            scale=2,
            min_width=150,
            elem_id=f"sv-race-drafter-{place + 1}",
        )
        length = gr.Number(
            None if card is None else cast(int, card.default),  # a speculation length is a whole number
            label="speculation length γ",
            precision=0,
            scale=2,
            min_width=120,
            info=None if card is None else card.help,
            visible=card is not None,
        )
    fields[place_key(place, "drafter")], fields[place_key(place, LENGTH)] = who, length
    who.input(actions.another, [who, length], length, **QUIET)


def _settings(actions: RaceActions, fields: dict[str, Any]) -> None:
    """What holds for everyone."""
    defaults, most = RunRequest(prompt=""), actions.limits.max_new_tokens
    with gr.Row():
        fields["max_new_tokens"] = gr.Slider(
            1, most, value=min(defaults.max_new_tokens, most), step=1, label="new tokens", min_width=150
        )
        fields["repeats"] = gr.Slider(
            1, MOST_REPEATS, value=1, step=1, label="repeats", info="the median run is shown", min_width=150
        )
    with gr.Row():
        fields["temperature"] = gr.Slider(
            0.0, 2.0, value=defaults.temperature, step=0.05, label="temperature", min_width=150
        )
        fields["seed"] = gr.Number(defaults.seed, label="seed", precision=0, minimum=0, min_width=100)


def _build(page: Page, tab: gr.Tab, actions: RaceActions) -> None:
    page.kept.append(race_tab(actions, page.table))


TAB = Tab("race", "Race", "front", 3, lambda page: RaceActions(page.source, page.limits), _build)

"""The Race tab: a race recorded first and replayed side by side, and the form for one of the visitor's own: a prompt,
up to three drafters with their lengths, settings for all.

Nothing of a race is shown before all of it is recorded; a stop shows what was finished. An error becomes one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import gradio as gr
from gradio.components import Component

from specviz.app.components.engine_files import megabytes
from specviz.app.components.framed import RaceStage, SeriesHere
from specviz.app.form.fields import chip_label, families, next_prompt, own_prompts, wire_own_prompts
from specviz.app.form.kept import Kept
from specviz.app.form.methods import drafter_fold
from specviz.app.form.request import Limits
from specviz.app.job import Background, Cancellable, Faults, idle, starts
from specviz.app.look import notices
from specviz.app.look.events import CHOSEN, QUIET, by_name
from specviz.app.race.asked import LENGTH, PAIR, first_choice, length_card, place_key, race_spec, racers
from specviz.app.race.here import RACE, RacesOfVisitors
from specviz.app.race.view import race_json, race_view
from specviz.app.runs.elsewhere import wire_series
from specviz.app.runs.gallery import SUFFIX, as_recorded
from specviz.app.step.opening import SERVER
from specviz.app.step.pairs import column_name
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.tab import Page, Tab
from specviz.bench.race import MOST_DRAFTERS, Lap, RaceSpec, check, lap_count, progress, race, result
from specviz.errors import TraceError
from specviz.protocol import races as race_file
from specviz.protocol.pairs import for_pair, pair_named
from specviz.protocol.races import Race
from specviz.protocol.runs import Catalog, ModelPair, RunRequest, TraceSource
from specviz.resources import ROOT, leave_out

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
        self.pair = next(iter(self.catalog.pairs), None)
        """that the tab opens with, and that a link means which names none"""
        self._opening = opening
        self.elsewhere = RacesOfVisitors(self.catalog, limits)

    def leave(self, visitor: gr.Request) -> None:
        super().leave(visitor)
        self.elsewhere.leave(visitor.session_hash or "")

    # --- opening and the form ------------------------------------------------------------------------------------

    def opening(self, pair: ModelPair | None = None) -> tuple[str, str, str]:
        """(race as JSON, sentence, prompt) of a pair before anybody touches the tab."""
        prompts = for_pair(self.catalog, pair).prompts
        first, recorded = prompts[0].text if prompts else "", self._recorded(pair)
        if not recorded.is_file():
            return "", NOTHING, first
        try:
            stored = race_file.read(recorded)
        except TraceError as error:
            leave_out(recorded, error)
            return "", str(error), first
        runners = tuple(replace(runner, trace=as_recorded(runner.trace)) for runner in stored.runners)
        started = runners[0].trace.started
        prompt = started.prompt_text if started.chat_message is None else started.chat_message
        known = any(card.text == prompt for card in prompts)
        return race_json(race_view(Race(runners))), IDLE, prompt if known else first

    def _recorded(self, pair: ModelPair | None) -> Path:
        """The race that opens the tab for the pair: the first pair's under its own name, another's under the pair's."""
        if pair is None or pair == self.catalog.pairs[0]:
            return self._opening
        return self._opening.with_name(f"{pair.name}{SUFFIX}")

    def follow(self, name: str | None) -> dict[str, object]:
        """Another pair: its recorded race, its prompts, and who drafts for it, by name."""
        pair = pair_named(self.catalog, name or "")
        if pair is None:
            return {}
        there = for_pair(self.catalog, pair)
        value, sentence, prompt = self.opening(pair)
        answer: dict[str, object] = {"stage": value, "message": notices.message(sentence), "prompt": prompt}
        answer |= {PAIR: pair.name, **self.rows(pair)}
        for index, drafter in enumerate(first_choice(there)):
            answer[place_key(index, "drafter")] = gr.Dropdown(racers(there), value=drafter)
            answer[place_key(index, LENGTH)] = self.choose(drafter)
        return answer

    def rows(self, pair: ModelPair) -> dict[str, object]:
        """The prompts of this pair in sight, by name."""
        return {column_name(other.name): gr.Row(visible=other == pair) for other in self.catalog.pairs}

    def chip(self, catalog: Catalog, family: str) -> Callable[[str], Updates]:
        """`catalog`: as it stands for the family's pair."""

        def pick(current: str) -> Updates:
            card, line = next_prompt(catalog, family, current)
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

    def another(self, drafter: str | None, standing: int | None) -> Any:
        """The same for a visitor's choice. Where its default stands already the value is not sent: another may have
        been typed before the answer arrives."""
        if drafter is None:
            return gr.skip()
        card = length_card(self.catalog, drafter)
        if card is None or standing != card.default:
            return self.choose(drafter)
        return gr.Number(visible=True, info=card.help)

    def filled(self, shown: Mapping[str, Component]) -> Callable[[Mapping[str, Any]], dict[Any, Any]]:
        """What a link's values ask for beyond themselves: the prompts of its pair, and the length that belongs to each
        drafter it chooses."""

        def fill(values: Mapping[str, Any]) -> dict[Any, Any]:
            pair = pair_named(self.catalog, values.get(PAIR, ""))
            beside = {} if pair is None else {shown[name]: row for name, row in self.rows(pair).items()}
            chosen = {index: values.get(place_key(index, "drafter")) for index in range(MOST_DRAFTERS)}
            return beside | {
                shown[place_key(place, LENGTH)]: self.choose(drafter, values.get(place_key(place, LENGTH)))
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
            yield self._ending(spec, laps, faults.sentence, visitor.session_hash or "")

        return record

    @staticmethod
    def _line(spec: RaceSpec, done: int) -> Updates:
        return gr.skip(), notices.message(progress(spec, done), "busy"), gr.skip(), gr.skip()

    def _ending(self, spec: RaceSpec | None, laps: list[Lap], problem: str | None, visitor: str) -> Updates:
        """The whole race, or as much of it as was finished."""
        done = result(spec, laps) if spec is not None else None
        if spec is None or done is None:
            text = problem or "Stopped before plain decoding was done; nothing is shown."
            return (gr.skip(), notices.message(text, "error" if problem else "plain"), *idle())
        view = race_view(done)
        missing = "" if len(laps) == lap_count(spec) else "Stopped; what was finished is shown. "
        said = f"{missing}{view.equality}{self.elsewhere.times(visitor, spec, SERVER, done)}"
        line = notices.message(f"{problem} {missing}" if problem else said, "error" if problem else "good")
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


@dataclass(frozen=True, slots=True)
class RaceParts:
    """What other parts of the page need of the tab."""

    kept: Kept
    """what a link holds"""
    shown: Mapping[str, Any]
    """what `RaceActions.follow` answers, by name"""


def race_tab(actions: RaceActions, table: str) -> RaceParts:
    """Build the tab's content inside the current Blocks. `table`: of all drafters, as HTML."""
    value, sentence, prompt = actions.opening(actions.pair)
    gr.Markdown(INTRO, elem_classes="sv-intro")
    with gr.Row(elem_classes="sv-actions"):
        run = gr.Button("Run race", variant="primary", min_width=110, elem_id="sv-race-run")
        stop = gr.Button("Stop", variant="stop", min_width=80, interactive=False, elem_id="sv-race-stop")
        here = SeriesHere(RACE, megabytes(), min_width=96, elem_id="sv-race-here")
        message = gr.HTML(notices.message(sentence), elem_id="sv-race-message", scale=1, min_width=200)
    stage = RaceStage(value, elem_id="sv-race")
    fields, rows = _form(actions, prompt)
    drafter_fold(table)
    shown = {"stage": stage, "message": message, **rows, **fields}
    if actions.pair is not None:
        fields[PAIR].input(by_name(actions.follow, shown), fields[PAIR], list(shown.values()), **CHOSEN)
    armed = [message, run, stop]
    starts(run.click, actions, armed, actions.run(fields), set(fields.values()), [stage, *armed])
    stop.click(actions.stop, None, None, **QUIET)
    browsers = actions.elsewhere
    wire_series(here, RACE, message, browsers.ask(fields), fields.values(), browsers.show, [stage, message])
    kept = Kept("race", fields, tuple(rows.values()), actions.filled(shown), message=message, said=FILLED)
    return RaceParts(kept, shown)


def _form(actions: RaceActions, prompt: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The controls of a race, and the chips of each pair, by name."""
    fields: dict[str, Any] = {}
    if actions.pair is not None:
        offered = [(pair.title, pair.name) for pair in actions.catalog.pairs]
        fields[PAIR] = gr.Dropdown(offered, value=actions.pair.name, label="models", elem_id="sv-race-models")
    rows, chips, note = _chips(actions)
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
            for index, name in enumerate(first_choice(for_pair(actions.catalog, actions.pair))):
                _place(actions, fields, index, name)
    for chip, work in chips:
        chip.click(work, fields["prompt"], [fields["prompt"], note], **QUIET)
    return fields, rows


def _chips(actions: RaceActions) -> tuple[dict[str, Any], list[tuple[gr.Button, Callable[[str], Updates]]], gr.HTML]:
    """A row of a pair's families for each pair, by name; each button with what it does; and where that is said."""
    rows: dict[str, Any] = {}
    chips = []
    for pair in actions.catalog.pairs or (None,):
        there = for_pair(actions.catalog, pair)
        with gr.Row(elem_classes="sv-actions", visible=pair == actions.pair) as row:
            for family in families(there):
                button = gr.Button(chip_label(family), size="sm", min_width=60, elem_classes="sv-chip")
                chips.append((button, actions.chip(there, family)))
        if pair is not None:
            rows[column_name(pair.name)] = row
    return rows, chips, gr.HTML(notices.message(CHIPS_NOTE), elem_id="sv-race-note")


def _place(actions: RaceActions, fields: dict[str, Any], place: int, name: str) -> None:
    """One of the places beside plain decoding: who, and how far ahead."""
    card = length_card(actions.catalog, name)
    with gr.Row():
        who = gr.Dropdown(
            racers(for_pair(actions.catalog, actions.pair)),
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
    who.input(actions.another, [who, length], length, **CHOSEN)


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
        fields["seed"] = gr.Number(defaults.seed, label="seed", precision=0, min_width=100)


def _build(page: Page, tab: gr.Tab, actions: RaceActions) -> RaceParts:
    parts = race_tab(actions, page.table)
    page.kept.append(parts.kept)
    return parts


def _connect(page: Page) -> None:
    """The pair that a visitor chooses in Watch is the race's too."""
    models, shown = page.parts(WATCH_TAB).bar.models.choice, page.parts(TAB).shown
    models.input(by_name(page.actions(TAB).follow, shown), models, list(shown.values()), **CHOSEN)


TAB = Tab("race", "Race", "front", 3, lambda page: RaceActions(page.source, page.limits), _build, _connect)

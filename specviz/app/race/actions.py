"""What the Race tab's controls do: show the recorded race, record one of the visitor's own, stop it.

Nothing of a race is shown before all of it is recorded; a stop shows what was finished. An error becomes one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.form.prompts import next_prompt
from specviz.app.form.request import Limits
from specviz.app.job import Background, Cancellable, Faults, idle
from specviz.app.look import notices
from specviz.app.race.form import LENGTH, length_card, place_key, race_spec
from specviz.app.race.view import race_json, race_view
from specviz.app.runs.gallery import as_recorded
from specviz.bench.race import MOST_DRAFTERS, Lap, RaceSpec, check, lap_count, progress, race, result
from specviz.errors import TraceError
from specviz.protocol import races as race_file
from specviz.protocol.races import Race
from specviz.protocol.runs import Catalog, TraceSource
from specviz.resources import ROOT, leave_out

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

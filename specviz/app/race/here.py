"""A race in the visitor's own browser: the same lanes, timed there and said to be, and the same race on the server with
its time, where both were run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.form.request import Limits
from specviz.app.look import notices
from specviz.app.look.events import sent
from specviz.app.race.asked import race_spec
from specviz.app.race.view import race_json, race_view
from specviz.app.runs.elsewhere import asked, left_out, read_runs, refused
from specviz.app.step.opening import BROWSER, SERVER
from specviz.bench.race import Lap, RaceSpec, planned, result
from specviz.errors import SpecVizError
from specviz.protocol.races import Race
from specviz.protocol.runs import Catalog

RACE = "race"
OTHER = {BROWSER: SERVER, SERVER: BROWSER}
STOPPED = "Stopped before plain decoding was done; nothing is shown."
Given = Mapping[Component, Any]


@dataclass(slots=True)
class RacesOfVisitors:
    """What each visitor (session hash) asked their browser for, and the times of their last races."""

    catalog: Catalog
    limits: Limits
    wanted: dict[str, RaceSpec] = field(default_factory=dict)
    plain_s: dict[str, dict[str, tuple[RaceSpec, float]]] = field(default_factory=dict)
    """visitor → where it ran → the race, and seconds of engine time"""

    def leave(self, visitor: str) -> None:
        self.wanted.pop(visitor, None)
        self.plain_s.pop(visitor, None)

    def times(self, visitor: str, spec: RaceSpec, where: str, race: Race) -> str:
        """Keep the time of a race that is over, and say it beside that of the same race elsewhere."""
        seconds = race.runners[0].trace.finished.decode_s
        kept = self.plain_s.setdefault(visitor, {})
        kept[where] = spec, seconds
        other = kept.get(OTHER[where])
        if other is None or other[0] != spec:
            return ""
        return f" Plain decoding took {seconds:.2f} s of engine time {where}, {other[1]:.2f} s {OTHER[where]}."

    def ask(self, fields: Mapping[str, Component]) -> Callable[..., str]:
        """What a press of Run here is answered."""

        def answer(given: Given, visitor: gr.Request) -> str:
            try:
                spec = race_spec({name: given[control] for name, control in fields.items()}, self.catalog, self.limits)
            except SpecVizError as error:
                return refused(RACE, str(error))
            self.wanted[visitor.session_hash or ""] = spec
            return asked(RACE, [lap.request for lap in planned(spec)])

        return answer

    def show(self, visitor: gr.Request, event: gr.EventData) -> tuple[object, ...]:
        """(stage, message) of the runs that the browser made."""
        key = visitor.session_hash or ""
        try:
            spec = self.wanted[key]
            plan = planned(spec)
            runs = read_runs(sent(event, "runs", str), [lap.request for lap in plan])
        except KeyError:
            return gr.skip(), notices.message("this page was loaded anew; press Run here again.", "error")
        except SpecVizError as error:
            return gr.skip(), notices.message(str(error), "error")
        pairs = zip(plan, runs, strict=True)
        race = result(spec, [Lap(lap.index, lap.repeat, run.trace) for lap, run in pairs if run.trace is not None])
        if race is None:
            return gr.skip(), notices.message(f"{STOPPED}{left_out(runs)}")
        view = race_view(race, BROWSER)
        said = f"Run in your browser: {view.equality}{self.times(key, spec, BROWSER, race)}{left_out(runs)}"
        return race_json(view), notices.message(said, "good")

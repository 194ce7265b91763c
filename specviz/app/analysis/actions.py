"""What the Analysis tab's controls do: read the chosen runs, count, show, compare, open an example.

Every action returns what the page should show; an error becomes one sentence, and what stands there stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from specviz.app.analysis.charts import chart
from specviz.app.analysis.library import MOST_NODES, ON_STAGE, ZIP, Library, Named, Place, table_files, tables_zip
from specviz.app.analysis.tables import (
    agreement_table,
    answer,
    comparison_table,
    drafters_table,
    pairs_table,
    plural,
    rounds_list,
)
from specviz.app.job import current
from specviz.app.look import notices
from specviz.app.look.events import Answer, carried, sent
from specviz.app.offered import offered
from specviz.app.runs.stage import pack
from specviz.errors import SpecVizError, TraceError
from specviz.protocol.runs import ModelPair
from specviz.theory.analysis.analyse import SURPRISING, Analysis, analyses, compare, matching
from specviz.theory.analysis.facts import RoundFacts, RunFacts, facts_of
from specviz.trace.events import Trace
from specviz.trace.exports.tables import term_columns

STAGE, RECORDED, SWEPT, FILES = "stage", "recorded", "sweep", "files"
WORDS = {
    STAGE: "the run in Watch",
    RECORDED: "all recorded runs",
    SWEPT: "a sweep of every drafter",
    FILES: "my traces",
}
SHARED = (RECORDED, SWEPT)
"""the same for every visitor: counted once"""
READING = "reading the runs…"
PACKING = "packing the tables…"


@dataclass(frozen=True, eq=False)
class Counted:
    """What is counted of the chosen runs, for a `gr.State`: tables, rounds and places, no trace."""

    of: str = ""
    stage: bytes = b""
    """the run on the stage, packed, where that was counted: another run there is counted anew"""
    named: Mapping[str, Named] = field(default_factory=dict)
    analyses: tuple[Analysis, ...] = ()
    rounds: Mapping[str, tuple[RoundFacts, ...]] = field(default_factory=dict)
    """by drafter"""
    terms: tuple[str, ...] = ()
    """columns of the trials' table for what these runs' verifiers name"""
    refused: tuple[str, ...] = ()
    """runs that could not be read, each as a sentence"""

    def of_drafter(self, name: str | None) -> Analysis | None:
        """The first where there is none of that name."""
        return next(
            (analysis for analysis in self.analyses if analysis.drafter == name),
            self.analyses[0] if self.analyses else None,
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """What a pressed button opens."""

    trace: Trace
    file: str | None
    """of the gallery, if it is from there"""
    moment: dict[str, Any]
    """for `SpecViz.openAt`: run, round, node, and the rounds found with it"""


class AnalysisActions:
    """The tab's actions; of visitors nothing is kept here, of the recordings what was counted once."""

    def __init__(self, library: Library, pairs: Sequence[ModelPair] = ()) -> None:
        """`pairs`: recorded runs are counted for each of them apart, because a drafter fails otherwise beside another
        target."""
        self.library = library
        self._pairs = {f"{RECORDED}-{pair.name}": pair for pair in pairs}
        self._shared: dict[str, Counted] = {}

    def choices(self) -> list[tuple[str, str]]:
        """What can be counted here, as (words, name)."""
        offered_here = []
        for name, words in WORDS.items():
            if name == RECORDED and self._pairs:
                offered_here += [(f"recorded runs, {pair.title}", pair_name) for pair_name, pair in self._pairs.items()]
            elif name == SWEPT and self.library.sweep is not None and self._pairs:
                first, *_ = self._pairs.values()
                offered_here.append((f"{words}, {first.title}", name))
            elif name != SWEPT or self.library.sweep is not None:
                offered_here.append((words, name))
        return offered_here

    # --- counting --------------------------------------------------------------------------------------------------

    def count(self, of: str, player: str, paths: Sequence[str] | None) -> Counted:
        """Raises TraceError where there is nothing to count."""
        if of in self._shared:
            return self._shared[of]
        if of == STAGE:
            named = self.library.stage(player)
        elif of in self._pairs:
            named = self.library.recorded(self._pairs[of].targets)
        elif of == RECORDED:
            named = self.library.recorded()
        else:
            named = self.library.swept() if of == SWEPT else self.library.files(paths or ())
        counted = self._counted(of, named)
        if of in SHARED or of in self._pairs:
            self._shared[of] = counted
        return counted

    def _counted(self, of: str, named: Sequence[Named]) -> Counted:
        facts, refused, read, left = list[RunFacts](), list[str](), list[Named](), MOST_NODES
        unread, job = self.library.limits.zip_bytes, current()
        terms: dict[str, None] = {}
        for index, one in enumerate(named):
            if left <= 0:
                refused.append(f"{plural(len(named) - index, 'trace')} left out: more than {MOST_NODES:,} candidates.")
                break
            if unread <= 0:
                most = self.library.limits.zip_bytes / 1e6
                refused.append(f"{plural(len(named) - index, 'trace')} left out: more than {most:.3g} MB, unpacked.")
                break
            job.check()
            try:
                trace, characters = self.library.measured(one.place)
            except TraceError as error:
                refused.append(f"{one.name}: {str(error).removeprefix(f'{one.name}: ')}")
                continue
            left -= sum(len(this.nodes) for this in trace.rounds)
            unread -= characters
            facts.append(facts_of(one.name, trace))
            terms |= dict.fromkeys(term_columns(trace))
            read.append(one)
        if not facts:
            raise TraceError(refused[0] if refused else "there is no run to count here.")
        rounds: dict[str, list[RoundFacts]] = {}
        for run in facts:
            rounds.setdefault(run.drafter, []).extend(run.rounds)
        return Counted(
            of,
            named[0].place.packed,
            {one.name: one for one in read},
            tuple(analyses(facts)),
            {name: tuple(some) for name, some in rounds.items()},
            tuple(terms),
            tuple(refused),
        )

    # --- showing ---------------------------------------------------------------------------------------------------

    def enter(self, shown: Counted, of: str, *controls: Any) -> Iterator[Answer]:
        """The tab was opened: the run on the stage is counted again where it is another one. Files are counted when
        they are handed in."""
        player = controls[0]
        if of == FILES or (shown.of == of and (of != STAGE or shown.stage == pack(player))):
            yield {}
            return
        yield from self.choose(shown, of, *controls)

    def choose(
        self,
        shown: Counted,
        of: str,
        player: str,
        paths: Sequence[str] | None,
        chart_name: str,
        pattern: str,
        bits: float | None,
    ) -> Iterator[Answer]:
        """Other runs were chosen: everything is counted and shown anew."""
        if of == FILES and not paths:
            ask = "Choose your traces, .json or .json.gz, or a zip of them: any number of runs of any drafters."
            yield {"message": notices.message(ask), "files": gr.File(visible=True)}
            return
        yield {"message": notices.message(READING, "busy"), "files": gr.File(visible=of == FILES)}
        try:
            counted = self.count(of, player, paths)
        except SpecVizError as error:
            yield {"message": notices.message(str(error), "error")}
            return
        names = [analysis.drafter for analysis in counted.analyses]
        first = max(counted.analyses, key=lambda analysis: analysis.rounds).drafter
        runs = list(counted.named)
        yield {
            "counted": counted,
            "drafter": gr.Dropdown(names, value=first, visible=len(names) > 1),
            **self.show(counted, first, chart_name, pattern, bits),
            "fold": gr.Accordion(visible=len(names) > 1, open=of == SWEPT),
            "everyone": drafters_table(counted.analyses),
            "first": gr.Dropdown(runs, value=None),
            "second": gr.Dropdown([*runs, *self._others(counted)], value=None),
            "message": notices.message(_said(counted)),
        }

    def _others(self, counted: Counted) -> list[str]:
        """Recorded runs, to lay beside the counted ones; beside those of a pair none of another pair."""
        recorded = () if counted.of in self._pairs else self.library.recorded()
        return [one.name for one in recorded if one.name not in counted.named]

    def show(self, counted: Counted, drafter: str | None, chart_name: str, pattern: str, bits: float | None) -> Answer:
        """All that is said of one drafter."""
        analysis = counted.of_drafter(drafter)
        if analysis is None:
            return {}
        missing = [*analysis.missing, *counted.refused]
        return {
            "answer": answer(analysis),
            **self.draw(counted, drafter, chart_name),
            "agreement": agreement_table(analysis),
            "pairs": pairs_table(analysis.pairs),
            "rounds": self.find(counted, drafter, pattern, bits),
            "missing": "".join(notices.note(text) for text in missing),
        }

    def draw(self, counted: Counted, drafter: str | None, chart_name: str) -> Answer:
        """The chart, and how it is read."""
        analysis, chosen = counted.of_drafter(drafter), chart(chart_name)
        return {"reading": notices.note(chosen.reading), **({"plot": chosen.draw(analysis)} if analysis else {})}

    def find(self, counted: Counted, drafter: str | None, pattern: str, bits: float | None) -> str:
        """The rounds of a pattern as HTML."""
        analysis = counted.of_drafter(drafter)
        rounds = () if analysis is None else counted.rounds[analysis.drafter]
        return rounds_list(matching(rounds, pattern, _bits(bits)), len(rounds), pattern)

    def compare(self, counted: Counted, first: str | None, second: str | None) -> str:
        """Two runs side by side as HTML; nothing until both are chosen."""
        if not first or not second:
            return notices.note("Choose two runs; of the same prompt they can be read line by line.")
        try:
            both = compare((first, self._trace(counted, first)), (second, self._trace(counted, second)))
        except SpecVizError as error:
            return notices.message(str(error), "error")
        return comparison_table(both)

    # --- taking away -----------------------------------------------------------------------------------------------

    def pack_tables(self, counted: Counted) -> Iterator[tuple[object, object]]:
        """(message, the zip) of the tables of all counted runs; no zip where one of them cannot be read any more."""
        if not counted.named:
            yield notices.message("Nothing is counted yet, so there are no tables to take away.", "error"), None
            return
        yield notices.message(PACKING, "busy"), gr.skip()
        job = current()

        def again(one: Named) -> tuple[str, Trace]:
            job.check()
            return one.name, self.library.read(one.place)

        read = map(again, counted.named.values())
        try:
            content = tables_zip(read, counted.terms)
        except SpecVizError as error:
            yield notices.message(str(error), "error"), None
            return
        packed = f"{plural(len(counted.named), 'run')}, {len(content) / 1000:,.0f} kB: {', '.join(table_files())}."
        yield notices.message(f"Tables of {packed}", "good"), offered(ZIP, content)

    # --- opening ---------------------------------------------------------------------------------------------------

    def asked(
        self, counted: Counted, drafter: str | None, pattern: str, bits: float | None, event: gr.EventData
    ) -> Asked:
        """What a pressed button opens. Raises TraceError where there is no such place."""
        name, at = sent(event, "run", str), sent(event, "round", int)
        place = self._place(counted, name)
        trace = self.library.read(place)
        if not 0 <= at < len(trace.rounds):
            raise TraceError(f"{name[:60]} has no round {at + 1}; count the runs again.")
        chosen = carried(event, "node")
        node = chosen if type(chosen) is int and 0 < chosen < len(trace.rounds[at].nodes) else None
        moment: dict[str, Any] = {"run": trace.started.run_id, "round": at, "node": node}
        analysis = counted.of_drafter(drafter)
        if carried(event, "found") and analysis is not None:
            found = matching(counted.rounds[analysis.drafter], pattern, _bits(bits))
            moment["found"] = {"words": pattern, "rounds": [this.index for this in found if this.run == name]}
        return Asked(trace, place.key if place.kind == RECORDED else None, moment)

    def _trace(self, counted: Counted, name: str) -> Trace:
        return self.library.read(self._place(counted, name))

    def _place(self, counted: Counted, name: str) -> Place:
        named = counted.named.get(name) or next((one for one in self.library.recorded() if one.name == name), None)
        if named is None:
            raise TraceError(f"there is no run '{name[:60]}' here; choose one from the list.")
        return named.place


def _bits(value: float | None) -> float:
    return SURPRISING if value is None else float(value)


def _said(counted: Counted) -> str:
    runs = sum(len(analysis.runs) for analysis in counted.analyses)
    what = ON_STAGE if counted.of == STAGE else plural(runs, "run")
    said = f"Counted: {what}, {plural(len(counted.analyses), 'drafter')}"
    if not counted.refused:
        return f"{said}."
    others = "; the others stand at the end of this page" if len(counted.refused) > 1 else ""
    refused = f"{plural(len(counted.refused), 'file')} could not be read{others}. {counted.refused[0]}"
    return f"{said}; {refused}"

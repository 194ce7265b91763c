"""What the Watch tab's controls do: show a recorded or imported run, run live, stop, branch, explain; and stop policies
that learn: what a visitor's page has run and what was learnt from it, forgotten when they leave.

Every action returns what the page should show; an error becomes one sentence beside the buttons and nothing typed is
lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from threading import Lock
from types import MappingProxyType
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.form.fields import next_prompt
from specviz.app.form.methods import (
    Kind,
    growing_title,
    grows,
    is_lossless,
    kinds,
    lossless_note,
    note,
    remembers,
    retrieves,
)
from specviz.app.form.request import Limits, check_models, model_of, models_of_run, request_from
from specviz.app.job import Cancellable, Faults, current, idle
from specviz.app.look import notices
from specviz.app.look.events import ENGINE, QUIET, carried, latest, sent
from specviz.app.runs.gallery import Gallery
from specviz.app.runs.stage import Frame, badges_of, frames, pack, panels_of, resume_at, token_text, unpack
from specviz.app.step import controls as form
from specviz.app.step.controls import SHIPPED, RetrainingControls, gamma_card, gamma_state
from specviz.app.step.fetching import FetchActions
from specviz.app.step.filling import values_of
from specviz.app.step.inquiries import AuditActions, cards
from specviz.app.step.opening import Pair, shown
from specviz.app.step.pairs import absence
from specviz.errors import OptionError, SpecVizError, TraceError, TrainingError
from specviz.protocol.counterfactual import Other, others
from specviz.protocol.runs import Catalog, Renders, Resume, RunRequest, TraceSource
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.files import UPLOAD

MOST_RUNS = 24
"""so many of a page's last runs are kept"""


@dataclass(slots=True)
class _Visit:
    runs: deque[bytes] = field(default_factory=lambda: deque(maxlen=MOST_RUNS))
    weights: dict[str, Mapping[str, Any]] = field(default_factory=dict)


class Retraining:
    """Runs and learnt weights."""

    def __init__(self) -> None:
        self._visits: dict[str, _Visit] = {}
        self._lock = Lock()

    def keep(self, visitor: str, trace: Trace) -> None:
        """A run of this page, for later training."""
        self._visit(visitor).runs.append(pack(codec.dumps(trace)))

    def learn(self, visitor: str, policy: str, source: TraceSource) -> str:
        """Train the policy on this page's runs and use what it learnt from now on; what came out, in a sentence.

        Raises SpecVizError where there is too little to learn from.
        """
        visit = self._visit(visitor)
        if not visit.runs:
            raise TrainingError("nothing was run on this page yet; press Run live a few times, then retrain.")
        learned = source.learn([codec.loads(unpack(run)) for run in visit.runs], policy)
        visit.weights[policy] = learned.weights
        return learned.sentence

    def forget(self, visitor: str, policy: str) -> None:
        """Back to the shipped weights."""
        self._visit(visitor).weights.pop(policy, None)

    def weights(self, visitor: str, policy: str) -> Mapping[str, Any] | None:
        """What the policy learnt on this page; None: nothing, the shipped weights hold."""
        with self._lock:
            visit = self._visits.get(visitor)
        return None if visit is None else visit.weights.get(policy)

    def leave(self, visitor: str) -> None:
        with self._lock:
            self._visits.pop(visitor, None)

    def _visit(self, visitor: str) -> _Visit:
        with self._lock:
            return self._visits.setdefault(visitor, _Visit())


class RetrainingActions:
    """Each answers with the line beside the buttons."""

    def __init__(self, source: TraceSource, retraining: Retraining) -> None:
        self._source = source
        self._retraining = retraining

    def retrain(self, policy: str, visitor: gr.Request) -> str:
        with Faults("training") as faults:
            said = self._retraining.learn(visitor.session_hash or "", policy, self._source)
        if faults.sentence:
            return notices.message(faults.sentence, "error")
        return notices.message(f"{said} Runs of this page use it from now on.", "good")

    def reset(self, policy: str, visitor: gr.Request) -> str:
        self._retraining.forget(visitor.session_hash or "", policy)
        return notices.note(SHIPPED)

    def choose(self, policy: str, visitor: gr.Request) -> str:
        """Which weights the policy goes by, when it is chosen."""
        own = self._retraining.weights(visitor.session_hash or "", policy) is not None
        return notices.note("It uses what it learnt from this page's runs." if own else SHIPPED)


def wire_retraining(
    actions: RetrainingActions, controls: RetrainingControls, stop_policy: Any, learners: Sequence[str]
) -> None:
    """The buttons appear with a stop policy that learns."""

    def offer(policy: str, visitor: gr.Request) -> tuple[object, str]:
        return gr.Group(visible=policy in learners), actions.choose(policy, visitor)

    stop_policy.change(offer, stop_policy, [controls.box, controls.line], **latest())
    controls.retrain.click(actions.retrain, stop_policy, controls.line, **ENGINE)
    controls.reset.click(actions.reset, stop_policy, controls.line, **QUIET)


# --- the tab's actions -----------------------------------------------------------------------------------------------


Given = Mapping[Component, Any]
Updates = tuple[object, ...]
READS = "What the target will read"
EMPTY_GALLERY = "No recorded run is in the gallery yet: choose a prompt and press Run live, or open a trace file."


@dataclass(frozen=True, slots=True)
class FirstView:
    """What the tab shows before anybody touches it."""

    player: str
    badges: str
    panels: str
    message: str
    values: Mapping[str, Any] = field(default_factory=dict)
    """what stands in the controls, by name"""
    pair: Pair = field(default_factory=Pair)


class StepActions(Cancellable):
    """The tab's actions over one source; of a visitor their cancellation switch, last runs and learnt weights are
    kept."""

    def __init__(self, source: TraceSource, gallery: Gallery, limits: Limits) -> None:
        super().__init__()
        self.source = source
        self.gallery = gallery
        self.limits = limits
        self.catalog: Catalog = source.catalog()
        self.retraining = Retraining()
        self.audits = AuditActions(source, limits)
        self.fetching = FetchActions(source)
        self._met = {RunRequest(prompt="").target}
        """targets that are loaded, the first when the page opens"""

    # --- opening -------------------------------------------------------------------------------------------------

    def opening(self) -> FirstView:
        """The gallery's first run; an empty stage with a sentence where there is none."""
        try:
            trace = None if self.gallery.first is None else self.gallery.read(self.gallery.first)
        except TraceError as error:
            return FirstView("", "", "", str(error))
        if trace is None:
            return FirstView("", "", "", EMPTY_GALLERY)
        values = values_of(trace.started, self.catalog, self.limits)
        said = self.gallery.comment(self.gallery.first)
        return FirstView(
            codec.dumps(trace), badges_of(trace.started), panels_of(trace), said, values, Pair(shown(trace))
        )

    @property
    def opening_target(self) -> str:
        """Of the run that the page opens on; that of a usual run where there is none."""
        cards = [card for card in self.gallery.cards if card.file == self.gallery.first]
        return cards[0].target if cards else RunRequest(prompt="").target

    # --- the form ------------------------------------------------------------------------------------------------

    def chip(self, catalog: Catalog, family: str) -> Callable[[str], Updates]:
        """`catalog`: as it stands for the family's pair."""

        def pick(current: str) -> Updates:
            card, line = next_prompt(catalog, family, current)
            return card.text, notices.message(line)

        return pick

    def choose(self, controls: form.Controls, kind: Kind) -> Callable[[str], Any]:
        """The line about the chosen method, and for a drafter what else belongs to it."""

        def show(chosen: str) -> Any:
            line = notices.note(note(kind, chosen), is_lossless(kind, chosen))
            updates: list[Any] = [line]
            if kind.group == "drafter" and controls.growing:
                updates.append(gr.Accordion(visible=grows(self.catalog, chosen)))
            if kind.group == "drafter" and "memory" in controls.fields:
                updates.append(gr.Radio(visible=remembers(self.catalog, chosen)))
            if kind.group == "drafter" and "datastore" in controls.fields:
                updates.append(self._datastores(retrieves(self.catalog, chosen)))
            return updates if len(updates) > 1 else line

        return show

    def _datastores(self, shown: bool) -> gr.Dropdown:
        """Those that lie in the cache by now: runs and commands may have built some."""
        if not shown:
            return gr.Dropdown(visible=False)
        self.catalog = replace(self.catalog, datastores=self.source.catalog().datastores)
        return gr.Dropdown(visible=True, **form.datastore_choice(self.catalog, self.limits))

    def name_growing(self, *chosen: str) -> gr.Accordion:
        """The folded policies say what is chosen in them."""
        return gr.Accordion(label=growing_title(chosen))

    def lossless(self, *chosen: str) -> str:
        """The mark for the methods chosen, in the order of their kinds."""
        by_kind = {kind.group: name for kind, name in zip(kinds(self.catalog), chosen, strict=True)}
        return notices.lossless_mark(*lossless_note(self.catalog, by_kind))

    def explain(self, controls: form.Controls, message: Component) -> Callable[[Given], object]:
        """Where it can run, only an error leaves the message: by then a later run may have answered."""

        def why_not(given: Given) -> object:
            try:
                reason = self._refusal(self.request(controls, given))
            except SpecVizError as error:
                reason = str(error)
            stays = not reason and not notices.is_error(str(given[message]))
            return gr.skip() if stays else notices.message(reason or "", "error" if reason else "plain")

        return why_not

    def _refusal(self, request: RunRequest) -> str | None:
        """Why it cannot run here, as one sentence; None: it can."""
        return absence(self.catalog, self.source, self.limits, request.target) or self.source.explain(request)

    def rendered(self, prompt: str, target: str, chat: bool) -> str:
        """What the target will read, as HTML in a fold; nothing where the prompt is no message."""
        if not chat or not isinstance(self.source, Renders):
            return ""
        try:
            if len(prompt or "") > self.limits.prompt_chars:
                raise OptionError(f"the prompt is longer than the {self.limits.prompt_chars:,} characters taken here.")
            name = model_of("target", {"target": target}, self.catalog, self.limits)
            text = self.source.rendered(RunRequest(prompt=prompt or "", target=name, chat=True))
        except SpecVizError as error:
            return notices.message(str(error), "error")
        summary = f"{READS} ({len(text):,} characters)"
        return f'<details class="sv-rendered"><summary>{summary}</summary><pre>{escape(text)}</pre></details>'

    def request(self, controls: form.Controls, given: Given) -> RunRequest:
        return request_from(controls.values(given), self.catalog, self.limits)

    # --- running -------------------------------------------------------------------------------------------------

    def leave(self, visitor: gr.Request) -> None:
        """The visitor closed the page: their run, if any, need not go on."""
        super().leave(visitor)
        self.retraining.leave(_name(visitor))
        self.audits.leave(visitor)
        self.fetching.leave(visitor)

    def run_live(
        self, controls: form.Controls, changes: Mapping[str, object] = MappingProxyType({})
    ) -> Callable[..., Iterator[Updates]]:
        """`changes`: values by name that the run has in place of what stands in the controls."""

        def run(given: Given, visitor: gr.Request) -> Iterator[Updates]:
            def start() -> Iterator[Frame]:
                values = {**controls.values(given), **changes}
                return self._frames(request_from(values, self.catalog, self.limits), None, visitor)

            yield from self._guarded(start)

        return run

    def gamma(self, controls: form.Controls) -> Callable[[Given], gr.Number]:
        """The bar's γ for the chosen drafter: whether it has any effect beside the other options."""

        def show(given: Given) -> gr.Number:
            return gr.Number(**gamma_state(controls.values(given), self.catalog))

        return show

    def first_gamma(self, drafter: str | None) -> object:
        """The γ that a newly chosen drafter begins with; None: the list was left as it was."""
        card = gamma_card(self.catalog, drafter)
        return gr.skip() if card is None else card.default

    def run_branch(
        self, controls: form.Controls, player: Component, state: Component
    ) -> Callable[..., Iterator[Updates]]:
        def run(given: Given, visitor: gr.Request) -> Iterator[Updates]:
            def start() -> Iterator[Frame]:
                resume = resume_at(given[player], given[state])
                # the text to continue is the trace's own, whatever the prompt box says by now
                values = {**controls.values(given), "prompt": resume.trace.started.prompt_text}
                limits = replace(self.limits, prompt_chars=len(str(values["prompt"])))
                return self._frames(request_from(values, self.catalog, limits), resume, visitor)

            yield from self._guarded(start)

        return run

    def run_again(self, request: RunRequest, visitor: gr.Request, said: Callable[[Frame], str]) -> Iterator[Updates]:
        """The run that a link asks for; `said` words the message of each frame."""
        yield from self._guarded(
            lambda: (replace(frame, message=said(frame)) for frame in self._frames(request, None, visitor))
        )

    def _frames(self, request: RunRequest, resume: Resume | None, visitor: gr.Request) -> Iterator[Frame]:
        weights = self.retraining.weights(_name(visitor), request.stop_policy.name)
        request = replace(request, stop_policy_weights=weights)
        reason = self._refusal(request)
        if reason:
            raise OptionError(reason)
        stop = self.armed(visitor)
        if request.target not in self._met:
            yield Frame("", f"Loading {request.target} and timing its passes, which is done once…")
        for frame in frames(self.source, request, stop.is_set, resume):
            self._met.add(request.target)
            if frame.trace is not None and not frame.failed and not self._cancellations.gone(_name(visitor)):
                self.retraining.keep(_name(visitor), frame.trace)
            yield frame
        stop.check()

    def _guarded(self, start: Callable[[], Iterator[Frame]]) -> Iterator[Updates]:
        """Frames to updates of (player, badges, panels, message, Run, Stop); any error of the program to its
        sentence."""
        with Faults("run", "Other settings may work.") as faults:
            for frame in start():
                yield (*_frame_updates(frame), *(idle() if frame.trace else (gr.skip(), gr.skip())))
        if faults.sentence:
            yield (gr.skip(), gr.skip(), gr.skip(), notices.message(faults.sentence, "error"), *idle())

    # --- branching, gallery and files ------------------------------------------------------------------------------

    def offer_branch(self, player: str, event: gr.EventData) -> Updates:
        """The player asked to continue from a round with a token of the visitor's choice."""
        round_index = sent(event, "round", int)
        token = None if carried(event, "token") is None else sent(event, "token", int)
        word = "the engine's own choice" if token is None else f"“{token_text(player, token)}”"
        text = f"Continue from round {round_index + 1} with {word} as its next token, using the settings in the bar."
        return gr.Row(visible=True), notices.message(text), (round_index, token)

    def drop_branch(self) -> Updates:
        return gr.Row(visible=False), "", None

    def ask_others(self, player: str, round_index: float) -> Iterator[str]:
        """What every other drafter would have drafted at the shown round, card by card; the run stays as it is."""
        found: list[Other] = []
        index = int(round_index or 0)
        try:
            trace = codec.loads(player or "", UPLOAD)
            if trace.started.target.weights_sha256:  # without, no model is asked, and `others` says why
                check_models(models_of_run(trace.started), self.catalog, self.limits)
            job = current()
            for other in others(self.source, trace, index, cancelled=job.is_over):
                found.append(other)
                yield cards(index, found, waiting=True)
            job.check()
            yield cards(index, found, waiting=False)
        except SpecVizError as error:
            yield (cards(index, found, waiting=False) if found else "") + notices.message(str(error), "error")


def _frame_updates(frame: Frame) -> Updates:
    badge = badges_of(frame.started) if frame.started else gr.skip()
    panels = panels_of(frame.trace) if frame.trace else gr.skip()
    tone = "busy" if frame.trace is None else "error" if frame.failed else "good"
    return frame.player or gr.skip(), badge, panels, notices.message(frame.message, tone)


def _name(visitor: gr.Request) -> str:
    return visitor.session_hash or ""

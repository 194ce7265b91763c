"""The Train tab: choose a module, text and minutes; watch loss and acceptance; step with it at any moment; use it.

Shows the recorded training, trains here and now, moves along its moments, keeps and hands over the weights. Of a
visitor nothing is kept but what their page holds: the training itself is the page's state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.components.framed import Player
from specviz.app.components.framed import held as held_options
from specviz.app.form.fields import offer_prompts, upload_button
from specviz.app.form.request import Limits, options_name
from specviz.app.job import Background, Cancellable, Faults, Job, Switch, current, idle, starts
from specviz.app.look import notices
from specviz.app.look.events import LATEST, QUIET, READING, TRAINING, Answer, by_name
from specviz.app.runs.stage import stage_of
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.tab import WATCH, Page, Tab
from specviz.app.train.view import acceptance_figure, loss_figure, moment, sentence, stage_at, texts
from specviz.errors import ModelError, OptionError, SpecVizError, TraceError
from specviz.protocol import trainings
from specviz.protocol.runs import TraceSource, trainable
from specviz.protocol.trainings import DATA, LOSSES, MINUTES, NO_ENGINE, WEIGHTS, Training, TrainingQuestion, Trains
from specviz.resources import ROOT, leave_out
from specviz.trace import codec

Updates = tuple[object, ...]
LOOK_S = 0.5
CHART_S = 2.0
"""shortest time between two charts: drawing takes the same processor that trains"""
MOST_FOLDERS = 40
"""of weights, of all visitors: megabytes each, and a page trains one after another for minutes"""
EMPTY = "No training is recorded; press Train if an engine is there."


class TrainActions(Cancellable):
    """The tab's actions over one source."""

    def __init__(
        self, source: TraceSource, limits: Limits, recorded: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`recorded`: the training that the tab opens with, where the file is there."""
        super().__init__()
        self._source = source
        self._limits = limits
        self._recorded = recorded
        self._clock = clock
        self._folders: dict[str, list[str]] = {}
        """visitor → where the weights of their page lie"""
        self._keeping = Lock()

    def leave(self, visitor: gr.Request) -> None:
        """The visitor closed the page: their training ends, and their weights go."""
        with self._keeping:
            super().leave(visitor)
            for folder in self._folders.pop(visitor.session_hash or "", []):
                if isinstance(self._source, Trains):
                    self._source.forget(folder)

    def _keep(self, visitor: gr.Request, folder: str, job: Job | None = None) -> None:
        """Until the visitor leaves; not at all where they have left meanwhile. The oldest of all go where there are
        too many."""
        assert isinstance(self._source, Trains)
        key = visitor.session_hash or ""
        with self._keeping:
            if self._cancellations.gone(key) or (job is not None and job.is_left()):
                return self._source.forget(folder)
            self._folders.setdefault(key, []).append(folder)
            if sum(map(len, self._folders.values())) > MOST_FOLDERS:
                oldest = next(iter(self._folders))
                self._source.forget(self._folders[oldest].pop(0))
                self._folders = {one: folders for one, folders in self._folders.items() if folders}

    def _states(self, question: TrainingQuestion, stop: Switch, visitor: gr.Request) -> Iterator[Training]:
        """The training's states. Its weights are seen to here, in the thread that trains: nobody may look any more."""
        assert isinstance(self._source, Trains)
        job = current()
        for state in self._source.train(question, stop.is_set):
            if state.folder:
                self._keep(visitor, state.folder, job)
            yield state

    @property
    def can_train(self) -> bool:
        """Recordings and simulations cannot."""
        return isinstance(self._source, Trains)

    def modules(self) -> list[str]:
        """What can be trained."""
        return trainable(self._source.catalog())

    def prompts(self) -> list[tuple[str, str]]:
        """(label, text) of the prompt set."""
        return [(f"{card.family}: {card.title}", card.text) for card in self._source.catalog().prompts]

    def own_prompts(self, path: str | None) -> tuple[object, object]:
        """(list of prompts, message) with a visitor's own before the bundled ones."""
        return offer_prompts(path, self._limits, self.prompts())

    # --- showing -------------------------------------------------------------------------------------------------

    def open(self, held: Training | None) -> Answer:
        """The page's own training, or the recorded one with the controls as they were for it."""
        if held is not None:
            return {}
        if not self._recorded.is_file():
            return {"held": None, "message": notices.message(EMPTY)}
        try:
            training = trainings.read(self._recorded)
        except TraceError as error:
            leave_out(self._recorded, error)
            return {"held": None, "message": notices.message(str(error), "error")}
        return {"held": training, **shown(training), **self._asked(training.question)}

    def _asked(self, question: TrainingQuestion) -> Answer:
        """What the controls say; a list that does not offer the value stays as it is."""
        asked: Answer = {"data": question.data, "aim": question.loss, "minutes": question.minutes}
        if question.module in self.modules():
            asked["module"] = question.module
        if question.prompt in [text for _, text in self.prompts()]:
            asked["prompt"] = question.prompt
        return asked

    def at(self, held: Training | None, place: float) -> Updates:
        """Updates of (player, line) for a place of the slider over training time."""
        if held is None or not held.stages:
            return gr.skip(), gr.skip()
        stage = stage_at(held.stages, place)
        return codec.dumps(stage.trace), notices.note(moment(stage))

    # --- training ------------------------------------------------------------------------------------------------

    def train(
        self,
        module: str,
        data: str,
        loss: str,
        minutes: float,
        prompt: str,
        held: Training | None,
        visitor: gr.Request,
    ) -> Iterator[Answer]:
        """How far it is, pictures on the way, and at the end the weights and what can be done with them."""
        stop = self.armed(visitor)
        last = None
        with Faults("training") as faults:
            if not isinstance(self._source, Trains):
                raise ModelError(NO_ENGINE)
            if len(prompt) > self._limits.prompt_chars:
                raise OptionError(
                    f"the prompt has {len(prompt):,} characters, but this machine takes {self._limits.prompt_chars:,}; "
                    "choose a shorter one."
                )
            question = TrainingQuestion(module, data, loss, float(minutes), prompt)
            trainings.check(question, self.modules())
            looks = Background(self._states(question, stop, visitor), stop.set).look(LOOK_S)
            drawn = self._clock()
            for found in looks:
                if not found or found[-1] is last:
                    continue
                last, now = found[-1], self._clock()
                fresh, drawn = (True, now) if now - drawn >= CHART_S else (False, drawn)
                yield shown(last) if fresh else {"message": _line(last, "busy")}
            stop.check()
        yield self._ending(last, faults.sentence)

    def _ending(self, training: Training | None, problem: str | None) -> Answer:
        ready = bool(training and training.folder)
        buttons = dict(zip(("run", "stop", "use"), (*idle(), gr.Button(interactive=ready)), strict=True))
        if training is None:
            text = problem or "Stopped before the first step; nothing is kept."
            line = notices.message(text, "error" if problem else "plain")
            return {"message": line, **buttons}
        said = f"{problem} What was learnt before is shown." if problem else sentence(training)
        line = notices.message(said, "error" if problem else "good")
        return {"held": training, **shown(training), "message": line, **buttons, "save": self._file(training)}

    def _file(self, training: Training) -> object:
        """The weights as one file to download."""
        if not training.folder or not isinstance(self._source, Trains):
            return gr.DownloadButton(interactive=False)
        return gr.DownloadButton(value=str(self._source.packed(training.folder)), interactive=True)

    # --- using it ------------------------------------------------------------------------------------------------

    def use(self, held: Training | None) -> Updates:
        """Its last run in the Watch tab, and the module in that tab's form. Updates of (tabs, stage…, prompt, drafter,
        the drafters' options)."""
        if held is None or not held.folder:
            raise gr.Error("there are no weights yet; train first.")
        module = held.question.module
        stage = stage_of(held.stages[-1].trace, f"{module} as it was just trained; Run goes on with it.")
        return (gr.Tabs(selected=WATCH), *stage, held.question.prompt, module, _with_weights(module, held.folder))

    def load(self, path: str | None, visitor: gr.Request) -> Updates:
        """Weights from a file into the Watch tab's form. Updates of (message, drafter, the drafters' options)."""
        try:
            if path is None or not isinstance(self._source, Trains):
                raise ModelError(NO_ENGINE if path else "no file arrived; choose one that Save wrote.")
            module, folder = self._source.unpacked(Path(path))
        except SpecVizError as error:
            return (notices.message(str(error), "error"), gr.skip(), gr.skip())
        self._keep(visitor, folder)
        line = notices.message(f"Loaded {module}: the Watch tab drafts with it now.", "good")
        return (line, module, _with_weights(module, folder))


def _with_weights(module: str, folder: str) -> str:
    """The drafters' options, with these weights for the module."""
    return held_options(module, {f"{module}.{WEIGHTS}": folder})


def _line(training: Training, tone: str) -> str:
    said = sentence(training)
    return notices.message(f"Recorded. {said}" if training.source == "recorded" else said, tone)


def shown(training: Training) -> Answer:
    """What a training fills."""
    last = len(training.stages) - 1
    return {
        "message": _line(training, "good" if training.source == "recorded" else "busy"),
        "acceptance": acceptance_figure(training),
        "loss": loss_figure(training),
        "written": texts(training),
        "slider": gr.Slider(maximum=max(1, last), value=max(0, last), interactive=last > 0),
        "player": codec.dumps(training.stages[-1].trace) if training.stages else gr.skip(),
    }


# --- the tab ---------------------------------------------------------------------------------------------------------


OPENING = ROOT / "trainings" / "opening.json.gz"
"""the training that the tab opens with"""
INTRO = (
    "A drafter need not be a whole language model: a small network that reads the target's own states learns in "
    "minutes. Acceptance is **measured** on held-out text while it trains; the player below steps with the network as "
    "it was at each moment."
)


def train_tab(
    actions: TrainActions, tab: gr.Tab, tabs: gr.Tabs, stage: Sequence[Component], form: Mapping[str, Any]
) -> None:
    """Build the tab's content inside the current Blocks. `stage`: the Watch tab's player, badges, panels and message;
    `form`: its controls, by the name of their value."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    usual = TrainingQuestion()
    names, prompts = actions.modules(), actions.prompts()
    with gr.Row():
        module = gr.Dropdown(
            names, value=usual.module if usual.module in names else next(iter(names), None), label="module",
            min_width=160, elem_id="sv-train-module",
        )  # fmt: skip
        data = gr.Dropdown([(line, name) for name, line in DATA.items()], value=usual.data, label="it learns from",
                           min_width=200)  # fmt: skip
        aim = gr.Dropdown([(f"{name} · {line}", name) for name, line in LOSSES.items()], value=usual.loss, label="loss",
                          min_width=200, elem_id="sv-train-loss")  # fmt: skip
        minutes = gr.Slider(*MINUTES, value=usual.minutes, step=1, label="minutes", min_width=140,
                            elem_id="sv-train-minutes")  # fmt: skip
        prompt = gr.Dropdown(prompts, value=prompts[0][1] if prompts else None, label="prompt it steps on",
                             min_width=200, elem_id="sv-train-prompt")  # fmt: skip
    with gr.Row(elem_classes="sv-actions"):
        run = gr.Button("Train", variant="primary", min_width=120, interactive=actions.can_train, elem_id="sv-train")
        stop = gr.Button("Stop", variant="stop", min_width=90, interactive=False, elem_id="sv-train-stop")
        use = gr.Button("Use it in Watch", min_width=130, interactive=False, elem_id="sv-train-use")
        save = gr.DownloadButton("Save weights", min_width=120, interactive=False, elem_id="sv-train-save")
        load = gr.UploadButton(
            "Load weights", min_width=120, file_types=[".safetensors"], interactive=actions.can_train
        )
        own = upload_button("train-")
    message = gr.HTML(notices.message(""), elem_id="sv-train-message")
    held = gr.State(None)
    with gr.Row():
        acceptance = gr.Plot(label="acceptance on held-out text", show_label=True, min_width=320)
        loss = gr.Plot(label="loss", show_label=True, min_width=320)
    written = gr.HTML("", elem_id="sv-train-texts")
    slider = gr.Slider(0, 1, value=0, step=1, label="training time: the network as it was then", interactive=False,
                      elem_id="sv-train-place")  # fmt: skip
    line = gr.HTML("", elem_id="sv-train-line")
    player = Player("", elem_id="sv-train-player")

    asked = {"module": module, "data": data, "aim": aim, "minutes": minutes, "prompt": prompt}
    parts: dict[str, Any] = {
        "held": held, "message": message, "acceptance": acceptance, "loss": loss, "written": written, "slider": slider,
        "player": player, "run": run, "stop": stop, "use": use, "save": save,
    }  # fmt: skip
    own.upload(actions.own_prompts, own, [prompt, message], **READING)
    opened = {**parts, **asked}
    tab.select(by_name(actions.open, opened), held, list(opened.values()), **QUIET)
    slider.change(actions.at, [held, slider], [player, line], **LATEST)
    stop.click(actions.stop, None, None, **QUIET)
    armed, given = [message, run, stop], [*asked.values(), held]
    starts(run.click, actions, armed, by_name(actions.train, parts), given, list(parts.values()), TRAINING)
    drafter = [form["drafter"], form[options_name("drafter")]]
    use.click(actions.use, held, [tabs, *stage, form["prompt"], *drafter], **QUIET)
    load.upload(actions.load, load, [message, *drafter], **READING)


def _build(page: Page, tab: gr.Tab, actions: TrainActions) -> None:
    watch = page.parts(WATCH_TAB)
    train_tab(actions, tab, page.front, watch.stage(), watch.form)


TAB = Tab("train", "Train", "lab", 3, lambda page: TrainActions(page.source, page.limits, OPENING), _build)

"""The Train tab: choose a module, text and minutes; watch loss and acceptance; step with it at any moment; use it.

Shows the recorded training, trains here and now, moves along its moments, keeps and hands over the weights. Of a
visitor nothing is kept but what their page holds: the training itself is the page's state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import gradio as gr

from specviz.app.components.framed import Player
from specviz.app.components.framed import held as held_options
from specviz.app.form.fields import model_choices, offer_prompts, upload_button
from specviz.app.form.request import Limits, model_of, options_name
from specviz.app.job import Background, Cancellable, Faults, Job, Switch, current, idle, starts
from specviz.app.look import notices
from specviz.app.look.events import QUIET, READING, TRAINING, Answer, by_name, latest
from specviz.app.runs.stage import STAGE, stage_of
from specviz.app.step.opening import OpeningActions
from specviz.app.step.tab import OPEN_AT, StepParts
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.tab import WATCH, Page, Tab
from specviz.app.train.view import acceptance_figure, loss_figure, moment, sentence, stage_at, takes, texts
from specviz.errors import ModelError, OptionError, SpecVizError, TraceError
from specviz.protocol import trainings
from specviz.protocol.pairs import for_target, pair_of
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

    def targets(self, named: str | None = None) -> list[tuple[str, str]]:
        """(label, name) of those that there are by now, behind them the one that is named in Settings."""
        listed = model_choices(self._source.catalog().models, "target")
        others = [(named, named)] if named and named not in [name for _, name in listed] else []
        return [*listed, *others]

    @property
    def any_target(self) -> bool:
        """Whether one that is not listed may be named."""
        return self._limits.any_model

    def prompts(self, target: str) -> list[tuple[str, str]]:
        """(label, text) of the prompts that go with this target."""
        there = for_target(self._source.catalog(), target)
        return [(f"{card.family}: {card.title}", card.text) for card in there.prompts]

    def own_prompts(self, path: str | None, target: str) -> tuple[object, object]:
        """(list of prompts, message) with a visitor's own before those of the target."""
        return offer_prompts(path, self._limits, self.prompts(target))

    def follow(self, target: str | None) -> Answer:
        """After another target was chosen: its prompts, and how long a training of it takes."""
        prompts = self.prompts(target or "")
        first = prompts[0][1] if prompts else None
        return {"prompt": gr.Dropdown(prompts, value=first), "takes": self.takes(target or "")}

    def takes(self, target: str) -> str:
        """See `view.takes`."""
        return notices.note(takes(self._source.catalog(), target))

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
        if question.target != TrainingQuestion().target and question.target in [name for _, name in self.targets()]:
            asked["target"] = question.target
        if question.module in self.modules():
            asked["module"] = question.module
        if question.prompt in [text for _, text in self.prompts(question.target)]:
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
        target: str,
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
            question = self._question(module, data, loss, minutes, prompt, target)
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

    def _question(
        self, module: str, data: str, loss: str, minutes: float, prompt: str, target: str
    ) -> TrainingQuestion:
        """Raises OptionError for what cannot be trained here."""
        catalog = self._source.catalog()
        name = model_of("target", {"target": target}, catalog, self._limits)
        pair = pair_of(catalog, name)
        chat = pair is not None and pair.chat
        question = TrainingQuestion(module, data, loss, float(minutes), prompt, target=name, chat=chat)
        trainings.check(question, self.modules())
        return question

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

    def use(self, opens: OpeningActions, held: Training | None) -> Answer:
        """Its last run in the Watch tab, as `opens` shows it there, and the module and its target in that tab's form.
        Answers by the names of `StepParts.opened`, and `tabs`."""
        if held is None or not held.folder:
            raise gr.Error("there are no weights yet; train first.")
        asked, trace = held.question, held.stages[-1].trace
        said = f"{asked.module} as it was just trained; Run goes on with it."
        stage = dict(zip(STAGE, stage_of(trace, said), strict=True))
        # A trace calls a folder by its last name, so what was asked for is filled in.
        form = {"prompt": asked.prompt, "target": asked.target, **_with_weights(asked.module, held.folder)}
        opened = {**opens.open_trace(trace), **opens.following(asked.target, form), **stage}
        return {"tabs": gr.Tabs(selected=WATCH), **opened}

    def load(self, opens: OpeningActions, path: str | None, target: str, visitor: gr.Request) -> Answer:
        """Weights from a file into the Watch tab's form, with the target that they were made for. Answers by the names
        of that form, and `said`."""
        catalog = self._source.catalog()
        try:
            if path is None or not isinstance(self._source, Trains):
                raise ModelError(NO_ENGINE if path else "no file arrived; choose one that Save wrote.")
            target = model_of("target", {"target": target}, catalog, self._limits)
            module, folder = self._source.unpacked(Path(path), target)
        except SpecVizError as error:
            return {"said": notices.message(str(error), "error")}
        self._keep(visitor, folder)
        line = notices.message(f"Loaded {module}: the Watch tab drafts with it now.", "good")
        pair = pair_of(catalog, target)
        form = {"target": target, **_with_weights(module, folder), **({"chat": pair.chat} if pair else {})}
        return {"said": line, **opens.following(target, form)}


def _with_weights(module: str, folder: str) -> Answer:
    """The drafter, and the drafters' options with these weights for it."""
    return {"drafter": module, options_name("drafter"): held_options(module, {f"{module}.{WEIGHTS}": folder})}


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


def _asked_for(actions: TrainActions) -> dict[str, Any]:
    """The controls of a training, inside the current Blocks, in the order in which `TrainActions.train` takes them."""
    usual = TrainingQuestion()
    names, prompts = actions.modules(), actions.prompts(usual.target)
    with gr.Row():
        target = gr.Dropdown(
            actions.targets(), value=usual.target, label="target, of the Llama family", min_width=200,
            allow_custom_value=actions.any_target, elem_id="sv-train-target",
        )  # fmt: skip
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
    return {
        "module": module, "data": data, "aim": aim, "minutes": minutes, "prompt": prompt, "target": target,
    }  # fmt: skip


def train_tab(actions: TrainActions, tab: gr.Tab, tabs: gr.Tabs, watch: StepParts, opens: OpeningActions) -> None:
    """Build the tab's content inside the current Blocks. `watch`: where the module is used, as `opens` fills it."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    asked = _asked_for(actions)
    target, prompt = asked["target"], asked["prompt"]
    takes = gr.HTML(actions.takes(TrainingQuestion().target), elem_id="sv-train-takes")
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

    parts: dict[str, Any] = {
        "held": held, "message": message, "acceptance": acceptance, "loss": loss, "written": written, "slider": slider,
        "player": player, "run": run, "stop": stop, "use": use, "save": save,
    }  # fmt: skip
    own.upload(actions.own_prompts, [own, target], [prompt, message], **READING)
    tab.select(lambda named: gr.Dropdown(actions.targets(named)), watch.form["target"], target, **QUIET)
    followed = {"prompt": prompt, "takes": takes}
    target.input(by_name(actions.follow, followed), target, list(followed.values()), **QUIET)
    opened = {**parts, **asked}
    tab.select(by_name(actions.open, opened), held, list(opened.values()), **QUIET)
    slider.change(actions.at, [held, slider], [player, line], **latest())
    stop.click(actions.stop, None, None, **QUIET)
    armed, given = [message, run, stop], [*asked.values(), held]
    starts(run.click, actions, armed, by_name(actions.train, parts), given, list(parts.values()), TRAINING)

    def take(path: str | None, target: str, visitor: gr.Request) -> Answer:
        return actions.load(opens, path, target, visitor)

    def show(held: Training | None) -> Answer:
        return actions.use(opens, held)

    used = {"tabs": tabs, **watch.opened()}
    there = use.click(by_name(show, used), held, list(used.values()), **QUIET)
    there.then(None, watch.moment, None, js=OPEN_AT, **QUIET)
    loaded = {"said": message, **watch.following(), **watch.form}
    load.upload(by_name(take, loaded), [load, target], list(loaded.values()), **READING)


def _build(page: Page, tab: gr.Tab, actions: TrainActions) -> None:
    watch = page.parts(WATCH_TAB)
    opens = OpeningActions(page.gallery, page.source.catalog(), page.limits, tuple(watch.form))
    train_tab(actions, tab, page.front, watch, opens)


TAB = Tab("train", "Train", "lab", 3, lambda page: TrainActions(page.source, page.limits, OPENING), _build)

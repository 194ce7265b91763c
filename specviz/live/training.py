"""Drafter modules trained for a screen: the loop in a thread of its own, taking turns with runs in the models' lane,
and the module at work on one prompt at several moments.

    question ─► Training (texts, held-out text, loop) ─► marks ─► stages ─► a folder of weights
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from queue import Queue
from tempfile import mkdtemp
from threading import Thread
from typing import TYPE_CHECKING, Any

from specviz.drafters.capabilities import reading
from specviz.drafters.learned import weights
from specviz.drafters.learned.module import MODULES
from specviz.drafters.learned.weights import write_module
from specviz.engine.decode import Cancelled
from specviz.errors import ModelError, SpecVizError
from specviz.live.models import Models
from specviz.lm.base import LanguageModel
from specviz.lm.step_time import machine
from specviz.options import to_mapping
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.protocol.trainings import SHIPPED, TRAINED, WEIGHTS, HeldOut, LossMark, Stage, Training, TrainingQuestion
from specviz.resources import ROOT
from specviz.scratch import scratch
from specviz.trace.events import Option, Trace

if TYPE_CHECKING:
    from specviz.training.modules.train import Training as Loop

Run = Callable[[RunRequest], Trace]
SHARES = {"both": 0.5, "english": 1.0, "python": 0.0}
"""name of the text → share of plain English in it"""
STAGES_S = (10.0, 30.0, 60.0, 120.0, 180.0, 240.0, 300.0)
"""seconds of training after which the module is put to work, beside beginning and end"""
USUAL = TrainingQuestion().target
DRAFT_TOKENS = 8192
"""that a module drafts for a target with a much larger vocabulary: reading out all of it is most of a draft"""
SHAPES: Mapping[str, Option] = {"wiring": "eagle3"}
"""of a module for another target than the bundled one, by option: EAGLE-1's wiring joins states as they are, and those
of targets are of any size (docs/training.md)"""
TRIMMED: Mapping[str, Option] = {"draft_tokens": DRAFT_TOKENS, "own_head": False}
YIELD_S = 0.0005
"""how long the lane is left to runs between two steps"""
MOST_MARKS = 600


class Trainer:
    """One training for one screen."""

    def __init__(self, models: Models, run: Run, question: TrainingQuestion, cancelled: Cancelled) -> None:
        self._models, self._run, self._question, self._cancelled = models, run, question, cancelled
        self._folder = Path(mkdtemp(prefix=TRAINED, dir=scratch()))
        self._news: Queue[Training | BaseException | None] = Queue()
        self._now: Training | None = None
        self._stages = list(STAGES_S)

    def states(self) -> Iterator[Training]:
        """The training so far, whenever something is new. Raises what the loop raised, and then leaves no folder."""
        thread = Thread(target=self._work, name="specviz-training", daemon=True)
        thread.start()
        while (news := self._news.get()) is not None:
            if isinstance(news, BaseException):
                shutil.rmtree(self._folder, ignore_errors=True)
                raise news
            yield news
        thread.join()

    def _work(self) -> None:
        try:
            self._train()
        except BaseException as error:  # handed to whoever looks, in their thread
            self._news.put(error)
        self._news.put(None)

    def _train(self) -> None:
        # Imported only here: with it comes what transformers generates with, half of all that a source imports.
        # In the lane, because an audit imports it too, and what two threads import of it at once is not all there.
        question, lane = self._question, self._models.lane
        target = self._models.get(question.target, RunRequest(question.prompt))
        with lane:
            from specviz.training.modules.train import ModuleTraining, Wanted
            from specviz.training.modules.train import Training as Loop

            loop = Loop(
                ModuleTraining(
                    (Wanted(question.module, shape(question, target.info.vocab_size)),),
                    target=question.target,
                    minutes=question.minutes,
                    seed=question.seed,
                    english=SHARES[question.data],
                    loss=question.loss,
                )
            )
        module = loop.modules[question.module]
        self._now = Training(
            question,
            module.parameter_count(),
            machine(target.model.device, target.info.dtype),
            target.info.name,
            target.info.weights_sha256,
            shipped=self._shipped(),
        )

        def report(row: dict[str, Any]) -> None:
            lane.release()
            try:
                self._mark(row, loop)
            finally:
                time.sleep(YIELD_S)
                lane.acquire()

        with lane:
            loop.loop.run(report, loop.measure, self._cancelled)
        write_module(module, self._folder, loop.card_of(question.module))
        seconds, tokens = loop.loop.progress.elapsed_s, loop.loop.progress.tokens
        stages = self._now.stages
        if not stages or stages[-1].tokens < tokens:  # it may have been put to work at this very step
            stages = (*stages, Stage(seconds, tokens, self._step(str(self._folder))))
        self._tell(replace(self._now, stages=stages, folder=str(self._folder)))

    def _mark(self, row: dict[str, Any], loop: Loop) -> None:
        """Take what a row of the loop says into the training so far."""
        now, name = self._now, self._question.module
        assert now is not None, "the loop reports before it begins."
        seconds, tokens = float(row["elapsed_s"]), int(row["tokens"])
        held = row.get("held_out", {}).get(name)
        if held is None:
            return
        mark = HeldOut(seconds, tokens, tuple(held["acceptance"]), tuple(held["agreement"]))
        losses = now.losses
        if terms := row["losses"].get(name):
            losses = (*losses, LossMark(seconds, tokens, dict(terms)))[-MOST_MARKS:]
        now = replace(now, held_out=(*now.held_out, mark)[-MOST_MARKS:], losses=losses)
        if not now.stages or (self._stages and seconds >= self._stages[0]):
            while self._stages and seconds >= self._stages[0]:
                self._stages.pop(0)
            write_module(loop.modules[name], self._folder, {})
            now = replace(now, stages=(*now.stages, Stage(seconds, tokens, self._step(str(self._folder)))))
        self._tell(now)

    def _tell(self, now: Training) -> None:
        self._now = now
        self._news.put(now)

    def _shipped(self) -> Stage | None:
        """The shipped module at work, where one is shipped for this target."""
        if not (ROOT / "modules" / self._question.module).is_dir():
            return None
        try:
            return Stage(0.0, 0, self._step(SHIPPED))
        except ModelError:
            return None  # made for another target: nothing to compare with

    def _step(self, weights: str) -> Trace:
        """The question's prompt with these weights."""
        question = self._question
        return self._run(
            RunRequest(
                question.prompt,
                target=question.target,
                chat=question.chat,
                drafter=Choice(question.module, {WEIGHTS: weights}),
                temperature=question.temperature,
                seed=question.seed,
                max_new_tokens=question.max_new_tokens,
            )
        )


def shape(question: TrainingQuestion, vocab_size: int) -> dict[str, Option]:
    """The options of the module that is trained, as far as its kind has them: the usual ones for the bundled target."""
    if question.target == USUAL:
        return {}
    wanted = {**SHAPES, **(TRIMMED if vocab_size > 2 * DRAFT_TOKENS else {})}
    known = to_mapping(MODULES.get(question.module).options_type())
    return {name: value for name, value in wanted.items() if name in known}


def own_folder(folder: str) -> Path:
    """Raises ModelError for a folder that no training of a page made: nothing else is read or deleted."""
    path = Path(folder)
    if path.parent != scratch() or not path.name.startswith(TRAINED):
        raise ModelError(f"{path.name} is no folder of weights that were trained here.")
    return path


def forget(folder: str) -> None:
    """See `Trains.forget`."""
    shutil.rmtree(own_folder(folder), ignore_errors=True)


def packed(folder: str) -> Path:
    """See `Trains.packed`."""
    return weights.pack(own_folder(folder))


def unpacked(path: Path, target: LanguageModel) -> tuple[str, str]:
    """See `Trains.unpacked`."""
    folder = Path(mkdtemp(prefix=TRAINED, dir=scratch()))
    try:
        card = weights.unpack(path, folder, reading(target, path.stem))
    except SpecVizError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return card.module, str(folder)

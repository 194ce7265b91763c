"""The training of a drafter module as plain data: what was asked, how loss and acceptance went, and the module at work
at several moments. Reads and writes.

A training file is JSON, `.json` or `.json.gz`; each trace in it passes the same guard and rules as one that stands
alone. Place in the flow: a trainer yields these, the Train page and its recording read nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import TypeAdapter, ValidationError

from specviz.errors import OptionError, TraceError, shown
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.files import STANDARD, Limits, read_file, write_file
from specviz.trace.guard import json_of, sentence_of, text_of
from specviz.trace.header import Machine

FORMAT = "specviz-training"
VERSION = "1.0"
MOST_STAGES = 16
MOST_MARKS = 5_000
DATA = {
    "both": "plain English and Python",
    "english": "plain English alone",
    "python": "Python alone",
}
"""name → what the module learns from: a third of it from the corpus, the rest as the target itself goes on with it"""
LOSSES = {
    "fkl": "KL(target ‖ drafter): cover all that the target may say",
    "tvd": "total variation: the rejection rate itself",
    "ce-hard": "the target's most likely token alone",
    "jsd": "Jensen-Shannon: between the two",
    "rkl": "KL(drafter ‖ target): say what the target is sure of",
}
"""what the module learns to make small; names as `specviz train module --loss` takes them"""
MINUTES = (1.0, 5.0)
WEIGHTS = "weights"
"""the option of a drafter that says which trained weights it takes: by name, or the folder they lie in"""
SHIPPED, UNTRAINED = "shipped", "untrained"
"""weights that have a name instead of a folder"""
NO_ENGINE = "there is no engine behind this page that could train; run `specviz train module` where there is one."
TRAINED = "specviz-training-"
"""how the folder of weights that a page trained begins, in the server's `scratch` folder"""


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """What to train, for which target and how long, and on which prompt to step with it."""

    module: str = "eagle"
    data: str = "both"
    loss: str = "fkl"
    minutes: float = 2.0
    prompt: str = ""
    """stepped with the module at every stage"""
    temperature: float = 0.0
    max_new_tokens: int = 40
    seed: int = 0
    target: str = "target"
    """whose states are read: bundled name, fetched model, folder, GGUF file or hub id, of the Llama family"""
    chat: bool = False
    """whether the prompt is a message, for a target with a chat template"""


@dataclass(frozen=True, slots=True)
class LossMark:
    """The loss of the steps since the mark before, averaged."""

    seconds: float
    tokens: int
    terms: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.terms.values())


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How the module drafts on held-out text: measured, not estimated."""

    seconds: float
    tokens: int
    acceptance: tuple[float, ...]
    """per depth from 1: mean Σ min(p, q), the probability that its token is accepted if those before it were"""
    agreement: tuple[float, ...]
    """per depth: share of places where its most probable token is the target's"""


@dataclass(frozen=True, slots=True)
class Stage:
    """The module as it was at one moment, at work on the question's prompt."""

    seconds: float
    tokens: int
    trace: Trace


@dataclass(frozen=True, slots=True)
class Training:
    """One training, whole or as far as it is."""

    question: TrainingQuestion
    parameters: int
    """numbers that training changes"""
    machine: Machine
    target_name: str
    target_sha256: str
    losses: tuple[LossMark, ...] = ()
    held_out: tuple[HeldOut, ...] = ()
    """the first before any step: the untrained module"""
    stages: tuple[Stage, ...] = ()
    """the first before any step"""
    shipped: Stage | None = None
    """the module that is shipped, on the same prompt"""
    shipped_held_out: HeldOut | None = None
    folder: str = ""
    """where the trained weights lie, on the machine that trained; empty in a file"""
    source: str = "live"
    """`live`, or `recorded` once it was written"""


@runtime_checkable
class Trains(Protocol):
    """A trace source that can train drafter modules; recordings and simulations cannot."""

    def train(self, question: TrainingQuestion, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Training]:
        """The training so far, again and again, and at last with the folder of its weights; stops early with what it
        has where cancelled. Raises SpecVizError where it cannot be trained."""
        ...

    def forget(self, folder: str) -> None:
        """Delete the weights that a training or `unpacked` left there."""
        ...

    def packed(self, folder: str) -> Path:
        """The weights of a training as one file to hand out. Raises SpecVizError where the folder holds none."""
        ...

    def unpacked(self, path: Path, target: str) -> tuple[str, str]:
        """(module, folder) of weights that `packed` wrote. Raises SpecVizError where they are damaged, or made for
        another target than the one of this name."""
        ...


def check(question: TrainingQuestion, modules: Sequence[str]) -> None:
    """Raises OptionError with one sentence for what cannot be trained."""
    if question.module not in modules:
        raise OptionError(f"there is no module {question.module[:40]!r} to train; choose {', '.join(modules)}.")
    if question.data not in DATA:
        raise OptionError(f"there is no text {question.data[:40]!r} to learn from; choose {', '.join(DATA)}.")
    if question.loss not in LOSSES:
        raise OptionError(f"there is no loss {question.loss[:40]!r} here; choose {', '.join(LOSSES)}.")
    if not 0 < question.minutes <= MINUTES[1]:
        raise OptionError(f"{question.minutes:g} minutes are asked for; choose {MINUTES[0]:g} to {MINUTES[1]:g}.")


@dataclass(frozen=True, slots=True)
class _StoredStage:
    seconds: float
    tokens: int
    trace: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Stored:
    """What of a training a file holds; traces are checked one by one."""

    format: str
    version: str
    question: TrainingQuestion
    parameters: int
    machine: Machine
    target_name: str
    target_sha256: str
    losses: tuple[LossMark, ...]
    held_out: tuple[HeldOut, ...]
    stages: tuple[_StoredStage, ...]
    shipped: _StoredStage | None = None
    shipped_held_out: HeldOut | None = None


_ADAPTER = TypeAdapter(_Stored)


def dumps(training: Training) -> str:
    """One line of ASCII JSON, the same for the same training; the folder of its weights stays behind."""
    stored = _Stored(
        FORMAT, VERSION, training.question, training.parameters, training.machine, training.target_name,
        training.target_sha256, training.losses, training.held_out, tuple(map(_stored, training.stages)),
        _stored(training.shipped) if training.shipped else None, training.shipped_held_out,
    )  # fmt: skip
    return json.dumps(asdict(stored), separators=(",", ":"), allow_nan=False)


def _stored(stage: Stage) -> _StoredStage:
    return _StoredStage(stage.seconds, stage.tokens, codec.to_data(stage.trace))


def loads(content: str | bytes, limits: Limits = STANDARD) -> Training:
    """Raises TraceError with one sentence for whatever is no training of this version."""
    text = content if isinstance(content, str) else text_of(content, limits)
    data = json_of(text, limits)
    if data.get("format") != FORMAT:
        raise TraceError(f"this is no training: its format is not '{FORMAT}'; `specviz record` writes one.")
    if data.get("version") != VERSION:
        raise TraceError(f"this training has the version {shown(data.get('version'))}, but {VERSION} is read.")
    try:
        stored = _ADAPTER.validate_json(text, strict=True)
    except ValidationError as error:
        raise TraceError(sentence_of(error, "training")) from None
    if not 1 <= len(stored.stages) <= MOST_STAGES or len(stored.losses) + len(stored.held_out) > MOST_MARKS:
        raise TraceError(f"a training has 1 to {MOST_STAGES} stages and at most {MOST_MARKS:,} marks; record it again.")
    stages = tuple(_read(stage, limits) for stage in stored.stages)
    if list(stages) != sorted(stages, key=lambda stage: stage.seconds):
        raise TraceError("the stages of this training are not in the order of their times; it was changed by hand.")
    return Training(
        stored.question, stored.parameters, stored.machine, stored.target_name, stored.target_sha256, stored.losses,
        stored.held_out, stages, _read(stored.shipped, limits) if stored.shipped else None, stored.shipped_held_out,
        source="recorded",
    )  # fmt: skip


def _read(stage: _StoredStage, limits: Limits) -> Stage:
    return Stage(stage.seconds, stage.tokens, codec.loads(json.dumps(stage.trace), limits))


def write(training: Training, path: Path) -> None:
    """Write `.json` or `.json.gz`, by the suffix; the same training always gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, dumps(training), "a training")


def read(path: Path, limits: Limits = STANDARD) -> Training:
    """A training file, gzip or not. Raises TraceError; the sentence begins with the file's name."""
    return read_file(path, lambda content: loads(content, limits), limits)

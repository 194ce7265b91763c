"""What is asked about two answers, what comes back, and who can be asked: all as plain data.

    Question ─► Consults (the live source) ─► Diagnosis ─► the terminal, the page

Without anybody to ask it still says where two answers part. Verdicts are `clinic`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from specviz.doctor.answers import Written
from specviz.doctor.broken_rules import Broken
from specviz.doctor.clinic import Answer, Verdict, parting
from specviz.errors import PromptError
from specviz.trace.events import Trace

NOBODY = (
    "there is no engine behind this page, so it cannot ask the target what the tokens cost: run `specviz clinic` where "
    "there is one."
)
FORMATS = ("bfloat16", "float16", "float32")
NOTHING_BROKEN = (
    "The trace shows no broken rule: it is true to itself and to the checkpoints, as far as its number format allows."
)


@dataclass(frozen=True, slots=True)
class Question:
    """Two answers of one target to one prompt."""

    target: str
    """bundled name, folder, GGUF file or hub id"""
    format: str
    """one of `FORMATS`: in which the engine computed"""
    answers: tuple[Written, Written]
    names: tuple[str, str] = ("A", "B")
    prompt: str | None = None
    prompt_ids: tuple[int, ...] | None = None
    """goes before `prompt`; with neither an answer has to tell"""
    chat: bool = False
    """`prompt` is a message to an instruct model"""
    trace: Trace | None = None
    """of the run that gave one of the answers"""
    places: Mapping[str, str] = field(default_factory=dict)
    """a model's name in the trace → where to take it from, where that is another"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one token of an answer costs."""

    name: str
    """of the answer"""
    written: str
    best: str
    """the target's choice there"""
    loss: float
    """nats below it in float32; 0 where the token is the choice"""
    loss_there: float
    """the same in the engine's format"""

    @property
    def is_choice(self) -> bool:
        return not self.loss


@dataclass(frozen=True, slots=True)
class Place:
    """One place of the answers."""

    index: int
    before: str
    """the end of the text before it"""
    costs: tuple[Cost, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Two answers, what the target says of them, and what it comes to."""

    target: str
    format: str
    prompt_tokens: int
    answers: tuple[Answer, Answer]
    verdict: Verdict
    parting: Place | None
    """where they differ first"""
    worst: Place | None
    """the guilty answer's worst token, where that is another place"""
    anew: tuple[str, ...] = ()
    """names of answers whose text was split into tokens anew"""
    traced: bool = False
    broken: Broken | None = None
    """the rule that the trace's run broke"""

    @property
    def rule(self) -> str:
        """A sentence on the trace; empty without one."""
        return (str(self.broken) if self.broken else NOTHING_BROKEN) if self.traced else ""


@runtime_checkable
class Consults(Protocol):
    """A trace source that has targets at hand; recordings and simulations have none."""

    def consult(self, question: Question, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Diagnosis]:
        """One diagnosis; none where cancelled. Raises SpecVizError where nothing can be said: an unknown target, an
        empty answer or prompt, ids outside the vocabulary, a trace of other weights."""
        ...


def check_answers(question: Question) -> None:
    """Raises PromptError for an answer with nothing in it."""
    for name, answer in zip(question.names, question.answers, strict=True):
        if not (answer.text.strip() if answer.tokens is None else answer.tokens):
            raise PromptError(f"answer {name} is empty, so there is nothing to compare; give what the engine wrote.")


def without_target(question: Question) -> str:
    """Where the answers part, in tokens if both name theirs, else in characters. Raises PromptError as above."""
    check_answers(question)
    (first, second), (a, b) = question.answers, question.names
    by_token = first.tokens is not None and second.tokens is not None
    left, right = (first.tokens or (), second.tokens or ()) if by_token else (first.text, second.text)
    unit = "token" if by_token else "character"
    if not by_token and not (first.text and second.text):
        return "One is a text and the other token ids: only the target's tokenizer can compare them."
    parts_at = parting(left, right)
    if parts_at is not None:
        before = "" if by_token else f", behind “{first.text[max(0, parts_at - 40) : parts_at]}”"
        return f"They part at {unit} {parts_at}{before}."
    if len(left) == len(right):
        return f"They are the same, {unit} by {unit}."
    short, long = (a, b) if len(left) < len(right) else (b, a)
    return f"{short} is the beginning of {long}."

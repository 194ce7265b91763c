"""Several questions to one document, answered greedily in three ways on one clock.

    read again      the document is read for each question, which is then answered alone
    document kept   it is read once; its rows stay in the cache while the questions come one after the other
    all at once     it is read once, and the questions are branches of one tree: a pass gives every answer a token

The last is the idea of Prompt-in-Decoder (2403.13112) in a model without an encoder. Nothing is drafted or verified.

Place in the flow: `specviz study questions` hands in the target, and shows what comes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from specviz.bench.core.contest import rotated
from specviz.bench.core.report import origin_here
from specviz.errors import OptionError
from specviz.lm.base import Cache, LanguageModel
from specviz.studies.questions.result import QuestionReport, WayRow
from specviz.studies.study import Workplace
from specviz.theory.speedup import times_as_fast

DOCUMENT = (
    "Text: On Friday, Mia went out. It was windy, and Mia went to the harbour. At the harbour, Mia found a red kite. "
    "The kite is in the garden. The sailor from Porto sold a heavy lamp. On Monday, Leo met a duck at the station. "
    "The duck ate the bread of Leo. In March, Mia and Leo went to Vienna. Later Mia told Leo about it."
)
QUESTIONS = (
    "\nIn short:",
    "\nSummary:",
    "\nWho was it?",
    "\nWho? Mia. What?",
    "\nCan you repeat that? Yes:",
    "\nThe next day",
    "\nWhat is the capital of France?",
    "\nHow many words are there? kite, lamp, duck.",
)
"""each continues the document, in forms that the bundled target knows"""
Ends = Callable[[int], bool]
Tokens = Sequence[int]


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked."""

    document: Tokens
    questions: Sequence[Tokens]
    """each continues the document; not empty"""
    most: int
    """tokens of an answer, where it does not end before"""


@dataclass(slots=True)
class Done:
    """All answers of one way."""

    answers: list[list[int]]
    passes: int = 0
    rows: int = 0
    """computed in all passes"""
    held: int = 0
    """most rows in a cache at a time"""
    seconds: float = 0.0


def read_again(model: LanguageModel, task: Task, ends: Ends) -> Done:
    done = Done([])
    for question in task.questions:
        cache = model.new_cache()
        _answer(model, cache, [*task.document, *question], task.most, ends, done)
    return done


def document_kept(model: LanguageModel, task: Task, ends: Ends) -> Done:
    done, cache = Done([], passes=1, rows=len(task.document)), model.new_cache()
    model.forward(task.document, cache, last_only=True)
    cache.keep(range(cache.length))
    for question in task.questions:
        _answer(model, cache, question, task.most, ends, done)
        cache.keep([])
    return done


def all_at_once(model: LanguageModel, task: Task, ends: Ends) -> Done:
    done, cache = Done([[] for _ in task.questions], passes=2), model.new_cache()
    model.forward(task.document, cache, last_only=True)
    cache.keep(range(cache.length))
    tokens, parents, lasts = list[int](), list[int](), list[int]()
    for question in task.questions:
        first = cache.length + len(tokens)
        tokens += question
        parents += [len(task.document) - 1, *range(first, first + len(question) - 1)]
        lasts.append(first + len(question) - 1)
    found = model.forward(tokens, cache, parents)[[last - len(task.document) for last in lasts]].argmax(-1).tolist()
    live = list(range(len(task.questions)))
    while True:
        for index, token in zip(live, found, strict=True):
            done.answers[index].append(token)
        live = [index for index in live if len(done.answers[index]) < task.most and not ends(done.answers[index][-1])]
        if not live:
            break
        start = cache.length
        logits = model.forward([done.answers[index][-1] for index in live], cache, [lasts[index] for index in live])
        for row, index in enumerate(live):
            lasts[index] = start + row
        found = logits.argmax(-1).tolist()
        done.passes += 1
    done.rows = done.held = cache.length
    return done


def _answer(model: LanguageModel, cache: Cache, tokens: Tokens, most: int, ends: Ends, done: Done) -> None:
    """One answer after `tokens`, which go behind what the cache holds."""
    answer, tokens = list[int](), list(tokens)
    while len(answer) < most and not (answer and ends(answer[-1])):
        answer += model.forward(tokens, cache, last_only=True).argmax(-1).tolist()
        done.passes, done.rows, tokens = done.passes + 1, done.rows + len(tokens), answer[-1:]
        done.held = max(done.held, cache.length)
    done.answers.append(answer)


WAYS = {"read again": read_again, "document kept": document_kept, "all at once": all_at_once}


def measure(workplace: Workplace) -> QuestionReport:
    """Raises OptionError for texts that cannot be read or have no tokens."""
    args = workplace.args
    document = _text(args.document) if args.document else DOCUMENT
    questions = _lines(args.questions) if args.questions else QUESTIONS
    target = workplace.model(args.target)
    text, eos = target.tokenizer, target.info.eos_ids
    task = Task(text.encode(document), [text.encode_rendered(one) for one in questions], args.max_new_tokens)
    _check(text.encode_rendered(document), "document")
    for question, tokens in zip(questions, task.questions, strict=True):
        _check(tokens, f"question '{question.strip()[:40]}'")
    rows = compare(target.model, task, lambda token: token in eos, args.repeats)
    return QuestionReport(rows, len(questions), len(task.document), task.most, args.repeats, str(origin_here(target)))


def compare(model: LanguageModel, task: Task, ends: Ends, repeats: int) -> list[WayRow]:
    """Every way, `repeats` times in an order that rotates, after one round that does not count."""
    found: dict[str, list[Done]] = {way: [] for way in WAYS}
    for repeat in range(repeats + 1):
        for way in rotated(list(WAYS), repeat):
            began = time.perf_counter()
            done = WAYS[way](model, task, ends)
            done.seconds = time.perf_counter() - began
            if repeat:
                found[way].append(done)
    base = found["read again"]
    return [_row(way, own, base) for way, own in found.items()]


def _row(way: str, own: Sequence[Done], base: Sequence[Done]) -> WayRow:
    ratios = sorted(times_as_fast(1 / done.seconds, 1 / plain.seconds) for done, plain in zip(own, base, strict=True))
    last = own[-1]
    return WayRow(
        way,
        median(ratios),
        ratios[len(ratios) // 4],
        ratios[(3 * len(ratios)) // 4],
        median(sum(map(len, one.answers)) / one.seconds for one in own),
        last.passes,
        last.rows,
        last.held,
        sum(answer == other for answer, other in zip(last.answers, base[-1].answers, strict=True)),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read '{path}' ({error}); give a file of UTF-8 text.") from None


def _lines(path: Path) -> tuple[str, ...]:
    found = tuple("\n" + line for line in _text(path).splitlines() if line.strip())
    if not found:
        raise OptionError(f"'{path}' holds no question; write one on each line.")
    return found


def _check(tokens: Sequence[int], what: str) -> None:
    if not tokens:
        raise OptionError(f"the {what} has no tokens; write some text.")

"""Several questions to one document, answered greedily in three ways on one clock.

    read again      the document is read for each question, which is then answered alone
    document kept   it is read once; its rows stay in the cache while the questions come one after the other
    all at once     it is read once, and the questions are branches of one tree: a pass gives every answer a token

The last is the idea of Prompt-in-Decoder (2403.13112) in a model without an encoder. Nothing is drafted or verified.

Place in the flow: `specviz bench questions` hands in a model and tokens, and prints what comes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from specviz.bench.core.contest import rotated
from specviz.lm.base import Cache, LanguageModel

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


@dataclass(frozen=True, slots=True)
class WayRow:
    """One way over all repeats."""

    way: str
    ratio: float
    """median of the time of `read again` in the same repeat over its own"""
    ratio_low: float
    ratio_high: float
    """first and third quartile"""
    tokens_per_s: float
    """median"""
    passes: int
    rows: int
    held: int
    same: int
    """answers that are those of `read again`"""


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
        for place, token in zip(live, found, strict=True):
            done.answers[place].append(token)
        live = [place for place in live if len(done.answers[place]) < task.most and not ends(done.answers[place][-1])]
        if not live:
            break
        start = cache.length
        logits = model.forward([done.answers[place][-1] for place in live], cache, [lasts[place] for place in live])
        for row, place in enumerate(live):
            lasts[place] = start + row
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
    ratios = sorted(other.seconds / one.seconds for one, other in zip(own, base, strict=True))
    last = own[-1]
    return WayRow(
        way, median(ratios), ratios[len(ratios) // 4], ratios[(3 * len(ratios)) // 4],
        median(sum(map(len, one.answers)) / one.seconds for one in own), last.passes, last.rows, last.held,
        sum(answer == other for answer, other in zip(last.answers, base[-1].answers, strict=True)),
    )  # fmt: skip

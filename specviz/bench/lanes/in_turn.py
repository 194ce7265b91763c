"""The two ways that need one process alone, timed as the others are: plain decoding, and draft and verify in turn."""

from __future__ import annotations

import time
from collections.abc import Callable

from specviz.asynchronous.machines import judged
from specviz.asynchronous.pair import Job
from specviz.asynchronous.reader import Draws, Speaker
from specviz.core.randomness import SeededRandom
from specviz.lm.base import LanguageModel
from specviz.protocol.lanes import DRAFT, TARGET, Lanes, Span


def in_turn(
    target: LanguageModel,
    drafting: LanguageModel | None,
    job: Job,
    ends: Callable[[int], bool],
    slowdown_s: float = 0.0,
) -> Lanes:
    """One text; without `drafting` plain decoding. `slowdown_s`: a sleep after each drafter pass, as in `AsyncPair`."""
    draws = Draws(job.sampling, SeededRandom(job.seed))
    reader, text, spans = Speaker(target, draws), list(job.prompt), list[Span]()
    guesser = Speaker(drafting, draws) if drafting is not None else None
    reader.answers(job.prompt, [])
    began = time.perf_counter()
    while len(text) < job.length and not (len(text) > len(job.prompt) and ends(text[-1])):
        tail, count = list[int](), min(job.gamma, job.length - len(text) - 1)
        start = time.perf_counter() - began
        if guesser is not None and count > 0:
            tail = guesser.next_tokens(text, count)
            time.sleep(slowdown_s * count)
            spans.append(Span(DRAFT, "draft", start, time.perf_counter() - began, count))
        start = time.perf_counter() - began
        said = reader.answers(text, tail)
        accepted, new = judged(tail, said, ends)
        end = time.perf_counter() - began
        spans.append(Span(TARGET, "verify", start, end, len(tail), len(new), min(accepted, len(new))))
        text += new
    return Lanes("sd" if drafting is not None else "plain", text, time.perf_counter() - began, spans)

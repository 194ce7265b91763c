"""Rules about the text: committed tokens spell it, it ends where something ended it, and nowhere later.

Called by `check` on a structurally sound trace.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate

from specviz.trace.events import Trace
from specviz.trace.replay import decoded, output_bytes, token_bytes
from specviz.trace.rules.run import room
from specviz.trace.rules.scene import producer_of
from specviz.trace.structure import Problem


def output(trace: Trace) -> Iterator[Problem]:
    """Committed tokens, joined, are the output, and its bytes spell the text."""
    finished, started = trace.finished, trace.started
    joined = [token.token for this in trace.rounds for token in this.committed.tokens]
    if joined != finished.output_ids:
        yield Problem("finished.output_ids", "is not what the rounds committed, joined in order")
        return
    if len(joined) > started.max_new_tokens:
        yield Problem(
            "finished.output_ids", f"has {len(joined)} ids, but at most {started.max_new_tokens} were asked for"
        )
    if finished.text != decoded(_until_stop(trace, output_bytes(trace))):
        yield Problem("finished.text", "is not what the bytes of the output ids decode to, up to the stop string")
    yield from _reason(trace)


def _reason(trace: Trace) -> Iterator[Problem]:
    """The reason to end is visible at the end of the output, and no other one before it."""
    finished, started, reason = trace.finished, trace.started, trace.finished.reason
    end, due = _first_end(trace)
    count = len(finished.output_ids)
    if end is not None and end < count - 1:
        told = f"goes on after token {end}, which ended the text ('{due}')"
        yield Problem("finished.output_ids", told)
    elif due is not None and reason != due:
        yield Problem("finished.reason", f"is '{reason}', but the output ends with what makes it '{due}'")
    elif reason == "eos" and due != "eos":
        yield Problem("finished.reason", "is 'eos', but the output does not end with an end-of-text id")
    elif reason == "stop" and due != "stop":
        yield Problem("finished.reason", "is 'stop', but no stop string occurs in the text")
    left = room(trace, len(started.prompt_ids) + count)
    if reason == "length" and left > 0:
        yield Problem("finished.reason", f"is 'length', but {left} more tokens were allowed")
    if reason in ("cancelled", "failed") and left <= 0 and producer_of(started) == "engine":
        yield Problem("finished.reason", f"is '{reason}', but the text has all the length that was allowed")
    if reason == "failed" and not finished.message:
        yield Problem("finished.message", "is empty, but a failed run says what happened", "warning")
    if reason != "failed" and finished.message:
        yield Problem("finished.message", f"is given, but the run ended with '{reason}'")
    trimmed = trace.rounds[-1].committed.trimmed if trace.rounds else None
    if trimmed not in (None, "open") and trimmed != reason:
        yield Problem("finished.reason", f"is '{reason}', but the last round was cut for '{trimmed}'")


def _first_end(trace: Trace) -> tuple[int | None, str | None]:
    """Index of the first output token that ends the text by itself, and why: an end-of-text id or a stop string."""
    ids, started = trace.finished.output_ids, trace.started
    special = set(started.tokenizer.special_ids)
    parts = [b"" if token in special else token_bytes(trace, token) for token in ids]
    ends = [(index, 0, "eos") for index, token in enumerate(ids) if token in started.eos_ids]
    whole = b"".join(parts)
    reached = list(accumulate(map(len, parts)))
    for stop in started.stop:
        if stop and (at := whole.find(stop.encode())) >= 0:
            done = at + len(stop.encode())
            ends.append((next(index for index, length in enumerate(reached) if length >= done), 1, "stop"))
    return (min(ends)[0], min(ends)[2]) if ends else (None, None)


def _until_stop(trace: Trace, output: bytes) -> bytes:
    """The output as far as it is text: a run that stopped ends where its first stop string ends."""
    if trace.finished.reason != "stop":
        return output
    stops = [stop.encode() for stop in trace.started.stop]
    ends = [at + len(stop) for stop in stops if (at := output.find(stop)) >= 0]
    return output[: min(ends, default=None)]


def prompt(trace: Trace) -> Iterator[Problem]:
    """The prompt's text is what its ids spell, spaces and letters' forms aside (tokenizers change those)."""
    started = trace.started
    special = set(started.tokenizer.special_ids)
    plain = [token for token in started.prompt_ids if token not in special]
    spelt = {_bare(_spelt(trace, ids)) for ids in (started.prompt_ids, plain)}
    is_special = [token in special for token in started.prompt_ids]
    unspelt = all(is_special) or any(is_special[1:-1])  # an unknown word's id has no text of its own
    if _bare(started.prompt_text) not in spelt and not unspelt:
        yield Problem("started.prompt_text", "is not what the bytes of the prompt ids decode to")
    if len(started.prompt_ids) > started.target.context_length:
        told = f"is {started.target.context_length}, but the prompt has {len(started.prompt_ids)} tokens"
        yield Problem("started.target.context_length", told)


def _spelt(trace: Trace, ids: Sequence[int]) -> str:
    return decoded(b"".join(token_bytes(trace, token) for token in ids))


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text)).casefold()

"""Rules across rounds: each begins where the last one ended, they spell the text, and the summary is true.

The text ends where something ended it, and nowhere later. Called by `check` on a structurally sound trace.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import fields
from itertools import accumulate, pairwise

from specviz.trace.characters import decoded, output_bytes, token_bytes
from specviz.trace.events import Round, Summary, Trace
from specviz.trace.rules.scene import EXACT, producer_of
from specviz.trace.structure import Problem
from specviz.trace.summary import summary as summarise


def vocabulary(trace: Trace) -> Iterator[Problem]:
    """Display text is the exact bytes, undecodable ones replaced: nothing can show as something else."""
    for key, entry in trace.vocab.items():
        if entry.text != decoded(base64.b64decode(entry.bytes)):
            yield Problem(f"vocab[{key}].text", "is not what its bytes decode to")


def chain(trace: Trace) -> Iterator[Problem]:
    """Base lengths, roots and cache rows continue from round to round; no draft reaches beyond the text's end."""
    text = list(trace.started.prompt_ids)
    for index, this in enumerate(trace.rounds):
        where = f"rounds[{index}]"
        if this.base_length != len(text):
            yield Problem(
                f"{where}.base_length", f"is {this.base_length}, but {len(text)} tokens were committed before it"
            )
        if this.nodes[0].token != text[-1]:
            yield Problem(
                f"{where}.nodes[0].token", f"is {this.nodes[0].token}, but the last committed token is {text[-1]}"
            )
        yield from _depth(trace, where, this, len(text))
        text += [token.token for token in this.committed.tokens]
        if this.committed.trimmed not in (None, "open") and index < len(trace.rounds) - 1:
            yield Problem(f"{where}.committed.trimmed", "is set, but only the last round can be cut")
        yield from _forced(trace, index, this)
    for index, (before, this) in enumerate(pairwise(trace.rounds)):
        if this.committed.cache_before != before.committed.cache_kept:
            stated = f"is {this.committed.cache_before}, but the round before kept {before.committed.cache_kept}"
            yield Problem(f"rounds[{index + 1}].committed.cache_before", stated)


def room(trace: Trace, length: int) -> int:
    """Tokens that may still be committed to a text of this length, prompt included."""
    started = trace.started
    return min(len(started.prompt_ids) + started.max_new_tokens, started.target.context_length) - length


def _depth(trace: Trace, where: str, this: Round, length: int) -> Iterator[Problem]:
    """With the token that ends the round, no path is longer than what may still be committed."""
    deepest, left = max(node.depth for node in this.nodes), room(trace, length)
    if left < 1:
        yield Problem(where, f"begins with {length} tokens, but the text had to end before it")
    elif deepest > left - 1 and producer_of(trace.started) == "engine":
        yield Problem(f"{where}.nodes", f"reach depth {deepest}, but only {left} tokens may still be committed")


def _forced(trace: Trace, index: int, this: Round) -> Iterator[Problem]:
    branch = trace.started.branch
    if this.judged.origin != "forced":
        if index == 0 and branch is not None and branch.forced_token is not None:
            stated = f"is '{this.judged.origin}', but this branch begins with the forced token {branch.forced_token}"
            yield Problem("rounds[0].judged.origin", stated)
        return
    if branch is None or branch.forced_token != this.judged.token or index > 0 or len(this.nodes) > 1:
        where = f"rounds[{index}].judged.origin"
        yield Problem(
            where, "is 'forced', but only a branch's first round, with nothing drafted, commits its forced token"
        )


def summary(trace: Trace) -> Iterator[Problem]:
    """The three integer identities, then every stored number against the recomputed one."""
    stored = trace.summary
    histogram = stored.acceptance_histogram
    if sum(histogram) != stored.num_spec_steps:
        yield Problem(
            "summary.acceptance_histogram",
            f"sums to {sum(histogram)}, but there are {stored.num_spec_steps} spec steps",
        )
    weighted = sum(length * count for length, count in enumerate(histogram))
    if weighted != stored.num_accepted_draft_tokens:
        stated = stored.num_accepted_draft_tokens
        yield Problem("summary.acceptance_histogram", f"holds {weighted} accepted tokens, but {stated} are reported")
    if stored.num_accepted_draft_tokens > stored.num_draft_tokens:
        yield Problem("summary.num_accepted_draft_tokens", "is larger than the number of drafted tokens")
    computed = summarise(trace.started, trace.rounds, trace.finished)
    for field in fields(Summary):
        stated, true = getattr(stored, field.name), getattr(computed, field.name)
        if not _equal(stated, true):
            yield Problem(f"summary.{field.name}", f"is {stated}, but the rounds give {true}")


def _equal(stated: object, true: object) -> bool:
    if isinstance(stated, float) and isinstance(true, float):
        return abs(stated - true) <= EXACT * max(1.0, abs(true))
    return stated == true


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
        stated = f"goes on after token {end}, which ended the text ('{due}')"
        yield Problem("finished.output_ids", stated)
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
    is_special = [token in special for token in started.prompt_ids]
    written = started.prompt_ids[is_special.index(False) if plain else 0 :]  # without what a tokenizer puts before it
    spelt = {
        _bare(decoded(b"".join(token_bytes(trace, token) for token in ids)))
        for ids in (started.prompt_ids, plain, written)
    }
    unspelt = all(is_special) or any(is_special[1:-1])  # an unknown word's id has no text of its own
    if _bare(started.prompt_text) not in spelt and not unspelt:
        yield Problem("started.prompt_text", "is not what the bytes of the prompt ids decode to")
    if len(started.prompt_ids) > started.target.context_length:
        stated = f"is {started.target.context_length}, but the prompt has {len(started.prompt_ids)} tokens"
        yield Problem("started.target.context_length", stated)


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text)).casefold()

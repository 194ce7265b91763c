"""Rules across rounds: each begins where the last one ended, and the summary is true.

Called by `check` on a structurally sound trace.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise

from specviz.trace.events import Round, Summary, Trace
from specviz.trace.replay import decoded
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
        place = f"rounds[{index}]"
        if this.base_length != len(text):
            yield Problem(
                f"{place}.base_length", f"is {this.base_length}, but {len(text)} tokens were committed before it"
            )
        if this.nodes[0].token != text[-1]:
            yield Problem(
                f"{place}.nodes[0].token", f"is {this.nodes[0].token}, but the last committed token is {text[-1]}"
            )
        yield from _depth(trace, place, this, len(text))
        text += [token.token for token in this.committed.tokens]
        if this.committed.trimmed not in (None, "open") and index < len(trace.rounds) - 1:
            yield Problem(f"{place}.committed.trimmed", "is set, but only the last round can be cut")
        yield from _forced(trace, index, this)
    for index, (before, this) in enumerate(pairwise(trace.rounds)):
        if this.committed.cache_before != before.committed.cache_kept:
            told = f"is {this.committed.cache_before}, but the round before kept {before.committed.cache_kept}"
            yield Problem(f"rounds[{index + 1}].committed.cache_before", told)


def room(trace: Trace, length: int) -> int:
    """Tokens that may still be committed to a text of this length, prompt included."""
    started = trace.started
    return min(len(started.prompt_ids) + started.max_new_tokens, started.target.context_length) - length


def _depth(trace: Trace, place: str, this: Round, length: int) -> Iterator[Problem]:
    """With the token that ends the round, no path is longer than what may still be committed."""
    deepest, left = max(node.depth for node in this.nodes), room(trace, length)
    if left < 1:
        yield Problem(place, f"begins with {length} tokens, but the text had to end before it")
    elif deepest > left - 1 and producer_of(trace.started) == "engine":
        yield Problem(f"{place}.nodes", f"reach depth {deepest}, but only {left} tokens may still be committed")


def _forced(trace: Trace, index: int, this: Round) -> Iterator[Problem]:
    branch = trace.started.branch
    if this.judged.origin != "forced":
        if index == 0 and branch is not None and branch.forced_token is not None:
            told = f"is '{this.judged.origin}', but this branch begins with the forced token {branch.forced_token}"
            yield Problem("rounds[0].judged.origin", told)
        return
    if branch is None or branch.forced_token != this.judged.token or index > 0 or len(this.nodes) > 1:
        place = f"rounds[{index}].judged.origin"
        yield Problem(
            place, "is 'forced', but only a branch's first round, with nothing drafted, commits its forced token"
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
        told = stored.num_accepted_draft_tokens
        yield Problem("summary.acceptance_histogram", f"holds {weighted} accepted tokens, but {told} are reported")
    if stored.num_accepted_draft_tokens > stored.num_draft_tokens:
        yield Problem("summary.num_accepted_draft_tokens", "is larger than the number of drafted tokens")
    computed = summarise(trace.started, trace.rounds, trace.finished)
    for field in fields(Summary):
        told, true = getattr(stored, field.name), getattr(computed, field.name)
        if not _equal(told, true):
            yield Problem(f"summary.{field.name}", f"is {told}, but the rounds give {true}")


def _equal(told: object, true: object) -> bool:
    if isinstance(told, float) and isinstance(true, float):
        return abs(told - true) <= EXACT * max(1.0, abs(true))
    return told == true

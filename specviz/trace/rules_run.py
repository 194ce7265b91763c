"""Rules across rounds: each begins where the last one ended, the whole spells the output, the summary is true.

Called by `check` on a structurally sound trace. Knows nothing about single verdicts.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise

from specviz.trace.events import Round, Summary, Trace
from specviz.trace.problems import Problem
from specviz.trace.replay import decoded, output_bytes
from specviz.trace.rules_tree import EXACT, ROUNDING
from specviz.trace.summary import summary as summarise


def vocabulary(trace: Trace) -> Iterator[Problem]:
    """Display text is the exact bytes, undecodable ones replaced: nothing can show as something else."""
    for key, entry in trace.vocab.items():
        if entry.text != decoded(base64.b64decode(entry.bytes)):
            yield Problem(f"vocab[{key}].text", "is not what its bytes decode to")


def chain(trace: Trace) -> Iterator[Problem]:
    """Base lengths, roots, cache rows and start times continue from round to round."""
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
        text += [token.token for token in this.committed.tokens]
        if this.committed.trimmed not in (None, "open") and index < len(trace.rounds) - 1:
            yield Problem(f"{place}.committed.trimmed", "is set, but only the last round can be cut")
        yield from _forced(trace, index, this)
    for index, (before, this) in enumerate(pairwise(trace.rounds)):
        yield from _after(f"rounds[{index + 1}]", before, this)


def _after(place: str, before: Round, this: Round) -> Iterator[Problem]:
    if this.committed.cache_before != before.committed.cache_kept:
        told = this.committed.cache_before
        yield Problem(
            f"{place}.committed.cache_before", f"is {told}, but the round before kept {before.committed.cache_kept}"
        )
    if this.start_s < before.start_s:
        yield Problem(f"{place}.start_s", f"is {this.start_s}, earlier than the round before it")
    elif this.start_s < before.start_s + before.seconds - ROUNDING:
        yield Problem(f"{place}.start_s", "lies inside the round before it", "warning")


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


def times(trace: Trace) -> Iterator[Problem]:
    """Passes fit into their phases; rounds add up to the decode time."""
    for index, this in enumerate(trace.rounds):
        if sum(one.seconds for one in this.drafted.passes) > this.drafted.seconds + ROUNDING:
            yield Problem(f"rounds[{index}].drafted.seconds", "is less than its passes took", "warning")
        if this.scored.target_pass.seconds > this.scored.seconds + ROUNDING:
            yield Problem(f"rounds[{index}].scored.seconds", "is less than its pass took", "warning")
    total = sum(this.seconds for this in trace.rounds)
    if abs(trace.finished.decode_s - total) > ROUNDING * (1 + total):
        yield Problem("finished.decode_s", f"is {trace.finished.decode_s:.6g}, but the rounds add up to {total:.6g}")


def output(trace: Trace) -> Iterator[Problem]:
    """Committed tokens, joined, are the output; its bytes spell the text; the reason to stop is visible in it."""
    finished, started = trace.finished, trace.started
    joined = [token.token for this in trace.rounds for token in this.committed.tokens]
    if joined != finished.output_ids:
        yield Problem("finished.output_ids", "is not what the rounds committed, joined in order")
    if len(finished.output_ids) > started.max_new_tokens:
        yield Problem(
            "finished.output_ids", f"has {len(joined)} ids, but at most {started.max_new_tokens} were asked for"
        )
    if finished.text != decoded(_until_stop(trace, output_bytes(trace))):
        yield Problem("finished.text", "is not what the bytes of the output ids decode to, up to the stop string")
    if finished.reason == "eos" and (not joined or joined[-1] not in started.eos_ids):
        yield Problem("finished.reason", "is 'eos', but the output does not end with an end-of-text id")
    if finished.reason == "stop" and not any(stop in finished.text for stop in started.stop):
        yield Problem("finished.reason", "is 'stop', but no stop string occurs in the text")
    if finished.reason == "failed" and not finished.message:
        yield Problem("finished.message", "is empty, but a failed run says what happened", "warning")
    trimmed = trace.rounds[-1].committed.trimmed if trace.rounds else None
    if trimmed not in (None, "open") and trimmed != finished.reason:
        yield Problem("finished.reason", f"is '{finished.reason}', but the last round was cut for '{trimmed}'")


def _until_stop(trace: Trace, output: bytes) -> bytes:
    """The output as far as it is text: a run that stopped ends where its first stop string ends."""
    if trace.finished.reason != "stop":
        return output
    stops = [stop.encode() for stop in trace.started.stop]
    ends = [at + len(stop) for stop in stops if (at := output.find(stop)) >= 0]
    return output[: min(ends, default=None)]


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

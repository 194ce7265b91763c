"""The rules a trace must keep for a reader to walk it safely: ids in range, lists of equal length, times finite.

`loads` applies them to every file; `check` begins with them. Meaning (who was accepted and why) is not judged here.
`Problem`, which every rule of a trace speaks in, stands here too.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, Literal

from specviz.errors import TraceError, shown
from specviz.trace.events import Agreement, Committed, Judged, Node, Round, TopK, Trace, VocabEntry
from specviz.trace.files import Limits
from specviz.trace.header import ExhibitRow, Started

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule. `str()` gives the whole sentence, place first."""

    place: str
    """where in the trace, e.g. `rounds[3].nodes[5].parent`"""
    sentence: str
    """what is there and what should be, e.g. `is 9, but only nodes 0 to 4 come before it`"""
    severity: Severity = "error"
    """`error`: the trace contradicts itself; `warning`: a number drifted, or a soft expectation failed"""

    def __str__(self) -> str:
        return f"{self.place} {self.sentence}."


TOPS = ("draft", "target", "draft_raw", "target_raw")
"""a node's distributions"""
COMPARED = tuple(field.name for field in fields(Agreement))


def bound_counts(data: dict[str, Any], limits: Limits) -> None:
    """Counts on bare JSON data, before any object is built from it. Raises TraceError; leaves types to the types."""
    rounds = _list(data.get("rounds"))
    _bound(len(rounds), limits.rounds, "rounds", "rounds")
    total = 0
    for index, item in enumerate(rounds):
        nodes = _list(item.get("nodes")) if isinstance(item, dict) else []
        _bound(len(nodes), limits.nodes_per_round, f"rounds[{index}].nodes", "nodes")
        total += len(nodes)
        for node in nodes:
            for name in TOPS:
                top = node.get(name) if isinstance(node, dict) else None
                tokens = _list(top.get("tokens")) if isinstance(top, dict) else []
                _bound(len(tokens), limits.top, f"rounds[{index}].nodes[…].{name}.tokens", "tokens")
    _bound(total, limits.nodes, "rounds", "nodes in all")
    vocab = data.get("vocab")
    _bound(len(vocab) if isinstance(vocab, dict) else 0, limits.vocab, "vocab", "entries")
    started = data.get("started")
    prompt = _list(started.get("prompt_ids")) if isinstance(started, dict) else []
    _bound(len(prompt), limits.prompt_ids, "started.prompt_ids", "ids")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _bound(count: int, ceiling: int, where: str, what: str) -> None:
    if count > ceiling:
        raise TraceError(f"{where} has {count:,} {what}, but at most {ceiling:,} are read.")


class _Vocabulary:
    """Which token ids may occur: below the target's vocabulary size and listed in the trace's table."""

    def __init__(self, trace: Trace) -> None:
        self.size = trace.started.target.vocab_size
        listed = {int(key) for key in trace.vocab if _is_id(key)}
        self.allowed = {token for token in listed if token < self.size}

    def wrong(self, where: str, tokens: Sequence[int]) -> Iterator[Problem]:
        if not self.allowed.issuperset(tokens):
            index = next(i for i, token in enumerate(tokens) if token not in self.allowed)
            yield from self.wrong_one(f"{where}[{index}]", tokens[index])

    def wrong_one(self, where: str, token: int) -> Iterator[Problem]:
        if not 0 <= token < self.size:
            yield Problem(where, f"is token {token}, but the vocabulary has ids 0 to {self.size - 1}")
        elif token not in self.allowed:
            yield Problem(where, f"is token {token}, but vocab has no entry for it")


def _is_id(key: str) -> bool:
    return key.isascii() and key.isdigit() and len(key) <= 16 and str(int(key)) == key


def structure(trace: Trace) -> Iterator[Problem]:
    """Every structural problem, in the order of the file. None: all indices and ids may be followed blindly."""
    vocabulary = _Vocabulary(trace)
    yield from _started(trace.started, vocabulary)
    for key, entry in trace.vocab.items():
        yield from _vocab_entry(key, entry)
    for index, this in enumerate(trace.rounds):
        yield from _round(f"rounds[{index}]", index, this, vocabulary)
    finished = trace.finished
    yield from vocabulary.wrong("finished.output_ids", finished.output_ids)
    yield from _times("finished", finished, ("prefill_s", "decode_s", "record_s"))
    if finished.plain is not None:
        yield from _times("finished.plain", finished.plain, ("decode_s",))
        if finished.plain.output_tokens < 0 or finished.plain.runs < 1:
            yield Problem("finished.plain", "must count 0 or more tokens and 1 or more runs")
        if not all(ratio > 0 and isfinite(ratio) for ratio in finished.plain.ratios):
            yield Problem("finished.plain.ratios", "must be ratios above 0")


def _started(started: Started, vocabulary: _Vocabulary) -> Iterator[Problem]:
    if not started.prompt_ids:
        yield Problem("started.prompt_ids", "is empty, but a draft tree needs a last committed token as its root")
    yield from vocabulary.wrong("started.prompt_ids", started.prompt_ids)
    if not (isfinite(started.sampling.temperature) and started.sampling.temperature >= 0):
        yield Problem("started.sampling.temperature", f"is {started.sampling.temperature}, but must be 0 or more")
    if started.sampling.top_k < 0:
        yield Problem("started.sampling.top_k", f"is {started.sampling.top_k}, but must be 0 (off) or more")
    if not 0 < started.sampling.top_p <= 1:
        yield Problem("started.sampling.top_p", f"is {started.sampling.top_p}, but must be above 0 and at most 1")
    if started.max_new_tokens < 0:
        yield Problem("started.max_new_tokens", f"is {started.max_new_tokens}, but must be 0 or more")
    for index, timing in enumerate(started.step_times):
        yield from _counts(f"started.step_times[{index}]", timing, ("rows", "cached_rows"))
        yield from _times(f"started.step_times[{index}]", timing, ("median_s", "low_s", "high_s"))
    if started.draft_step_s is not None:
        yield from _times("started", started, ("draft_step_s",))
    if started.branch is not None:
        yield from _counts("started.branch", started.branch, ("round",))
        forced = started.branch.forced_token
        if forced is not None and not 0 <= forced < vocabulary.size:  # in vocab only once a round commits it
            yield from vocabulary.wrong_one("started.branch.forced_token", forced)


def _vocab_entry(key: str, entry: VocabEntry) -> Iterator[Problem]:
    where = f"vocab[{shown(key)}]"
    if not _is_id(key):
        yield Problem(where, "is no token id; keys are ids in decimal, without sign or leading zeros")
    try:
        base64.b64decode(entry.bytes, validate=True)
    except (binascii.Error, ValueError):
        yield Problem(f"{where}.bytes", f"is {shown(entry.bytes)}, which is not base64")


def _round(where: str, index: int, this: Round, vocabulary: _Vocabulary) -> Iterator[Problem]:
    if this.index != index:
        yield Problem(f"{where}.index", f"is {this.index}, but this is round {index} of the list")
    yield from _counts(where, this, ("base_length",))
    yield from _times(where, this, ("start_s",))
    if not this.nodes:
        yield Problem(f"{where}.nodes", "is empty, but node 0, the root, is always there")
    for id_, node in enumerate(this.nodes):
        yield from _node(f"{where}.nodes[{id_}]", id_, node, this.nodes, vocabulary)
    yield from _drafted(f"{where}.drafted", this, vocabulary)
    yield from _counts(f"{where}.scored.target_pass", this.scored.target_pass, ("rows", "cached_rows"))
    yield from _times(f"{where}.scored.target_pass", this.scored.target_pass, ("seconds",))
    yield from _times(f"{where}.scored", this.scored, ("seconds",))
    yield from _judged(f"{where}.judged", this.judged, len(this.nodes), vocabulary)
    yield from _committed(f"{where}.committed", this.committed, len(this.nodes), vocabulary)


def _node(where: str, id_: int, node: Node, nodes: list[Node], vocabulary: _Vocabulary) -> Iterator[Problem]:
    if node.id != id_:
        yield Problem(f"{where}.id", f"is {node.id}, but ids count up from 0 and this is node {id_}")
    if id_ == 0:
        if (node.parent, node.depth, node.kind, node.fate) != (-1, 0, "root", "root"):
            yield Problem(where, "is node 0, but is not a root: parent -1, depth 0, kind and fate 'root'")
    elif not 0 <= node.parent < id_:
        yield Problem(f"{where}.parent", f"is {node.parent}, but only nodes 0 to {id_ - 1} come before it")
    elif node.depth != nodes[node.parent].depth + 1:
        yield Problem(f"{where}.depth", f"is {node.depth}, but its parent is at depth {nodes[node.parent].depth}")
    elif "root" in (node.kind, node.fate):
        yield Problem(where, "calls itself a root, but only node 0 is one")
    yield from vocabulary.wrong_one(f"{where}.token", node.token)
    for name in TOPS:
        top = getattr(node, name)
        if top is not None:
            yield from _top(f"{where}.{name}", top, vocabulary)
    for name, prob in (("draft_prob", node.draft_prob), ("target_prob", node.target_prob)):
        if prob is not None and not isfinite(prob):
            yield Problem(f"{where}.{name}", f"is {prob}, which is no number")
    for name, compared in (("agreement", node.agreement), ("agreement_raw", node.agreement_raw)):
        if compared is not None and not all(isfinite(getattr(compared, part) or 0.0) for part in COMPARED):
            yield Problem(f"{where}.{name}", "holds something that is no finite number")
    if not (isfinite(node.x) and isfinite(node.y)):
        yield Problem(where, f"is laid out at ({node.x}, {node.y}), which is nowhere")


def _top(where: str, top: TopK, vocabulary: _Vocabulary) -> Iterator[Problem]:
    if len(top.tokens) != len(top.probs):
        yield Problem(where, f"has {len(top.tokens)} tokens and {len(top.probs)} probabilities; each token has one")
    yield from vocabulary.wrong(f"{where}.tokens", top.tokens)
    if not all(map(isfinite, (*top.probs, top.rest))):
        yield Problem(where, "holds something that is no finite number")


def _drafted(where: str, this: Round, vocabulary: _Vocabulary) -> Iterator[Problem]:
    drafted = this.drafted
    yield from _times(where, drafted, ("seconds",))
    for index, pass_ in enumerate(drafted.passes):
        counted = ("rows", "cached_rows") if pass_.read is None else ("rows", "cached_rows", "read")
        yield from _counts(f"{where}.passes[{index}]", pass_, counted)
        yield from _times(f"{where}.passes[{index}]", pass_, ("seconds",))
    for index, span in enumerate(drafted.lanes):
        yield from _counts(f"{where}.lanes[{index}]", span, ("tokens",))
        yield from _times(f"{where}.lanes[{index}]", span, ("start_s", "end_s"))
    riding = set(drafted.riding)
    if len(riding) < len(drafted.riding) or not riding <= set(range(1, len(this.nodes))):
        yield Problem(f"{where}.riding", f"is {drafted.riding}, but names each node once, the root not among them")
    elif any(node.parent in riding and node.id not in riding for node in this.nodes):
        yield Problem(f"{where}.riding", "leaves out a node below one that rides along; a draft begins at the root")
    for name in ("knew", "learned"):
        for index, exhibit in enumerate(getattr(drafted, name)):
            for number, row in enumerate(exhibit.rows):
                yield from _exhibit_row(f"{where}.{name}[{index}].rows[{number}]", row, this, vocabulary)


def _exhibit_row(where: str, row: ExhibitRow, this: Round, vocabulary: _Vocabulary) -> Iterator[Problem]:
    yield from vocabulary.wrong(f"{where}.tokens", row.tokens)
    for index, mark in enumerate(row.marks):
        if not 0 <= mark < len(row.tokens):
            yield Problem(f"{where}.marks[{index}]", f"is {mark}, but the row has {len(row.tokens)} tokens")
    for index, node in enumerate(row.nodes):
        if not 0 <= node < len(this.nodes):
            yield _no_such_node(f"{where}.nodes[{index}]", node, 0, len(this.nodes))
    if row.position is not None and not 0 <= row.position < this.base_length:
        yield Problem(f"{where}.position", f"is {row.position}, but the text has {this.base_length} tokens so far")
    if row.scores and len(row.scores) != len(row.tokens):
        yield Problem(f"{where}.scores", f"has {len(row.scores)} numbers for {len(row.tokens)} tokens")
    if not all(map(isfinite, row.scores)):
        yield Problem(f"{where}.scores", "holds something that is no finite number")


def _judged(where: str, judged: Judged, nodes: int, vocabulary: _Vocabulary) -> Iterator[Problem]:
    for index, trial in enumerate(judged.trials):
        if not 0 < trial.node < nodes:
            yield _no_such_node(f"{where}.trials[{index}].node", trial.node, 1, nodes)
        numbers = (trial.target_prob, trial.draft_prob, trial.threshold, trial.u or 0.0, *trial.terms.values())
        if not all(map(isfinite, numbers)):
            yield Problem(f"{where}.trials[{index}]", "holds something that is no finite number")
    for index, node in enumerate(judged.path):
        if not 0 < node < nodes:
            yield _no_such_node(f"{where}.path[{index}]", node, 1, nodes)
    if not 0 <= judged.final_node < nodes:
        yield _no_such_node(f"{where}.final_node", judged.final_node, 0, nodes)
    if judged.residual is not None:
        yield from _top(f"{where}.residual", judged.residual, vocabulary)
    if not all(map(isfinite, (judged.residual_mass or 0.0, judged.u or 0.0))):
        yield Problem(where, "holds something that is no finite number")
    yield from vocabulary.wrong_one(f"{where}.token", judged.token)
    yield from _times(where, judged, ("seconds",))


def _committed(where: str, committed: Committed, nodes: int, vocabulary: _Vocabulary) -> Iterator[Problem]:
    yield from vocabulary.wrong(f"{where}.tokens", [token.token for token in committed.tokens])
    for index, token in enumerate(committed.tokens):
        if token.node is not None and not 0 < token.node < nodes:
            yield _no_such_node(f"{where}.tokens[{index}].node", token.node, 1, nodes)
    yield from _counts(where, committed, ("trimmed_tokens", "cache_before", "cache_kept", "cache_dropped"))
    yield from _times(where, committed, ("seconds",))


def _no_such_node(where: str, node: int, first: int, nodes: int) -> Problem:
    what = f"this round has nodes {first} to {nodes - 1}" if nodes > first else "this round has no such nodes"
    return Problem(where, f"is {node}, but {what}")


def _counts(where: str, record: object, names: tuple[str, ...]) -> Iterator[Problem]:
    for name in names:
        if getattr(record, name) < 0:
            yield Problem(f"{where}.{name}", f"is {getattr(record, name)}, but counts start at 0")


def _times(where: str, record: object, names: tuple[str, ...]) -> Iterator[Problem]:
    for name in names:
        value = getattr(record, name)
        if not (isfinite(value) and value >= 0):
            yield Problem(f"{where}.{name}", f"is {value}, but a time is finite and not negative")

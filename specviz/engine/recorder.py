"""From a round of the engine to events of the trace: top-k rows of distributions, fates, layout, vocabulary.

The only place where whole distributions meet the trace; it runs after the round's clock has stopped and times itself.
Knows nothing about how rounds come about.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

import torch
from torch import Tensor

from specviz.core.tree import DraftTree
from specviz.engine.measured import Beliefs, Measured, beliefs_of, measured_of
from specviz.engine.session import RoundRecord
from specviz.trace.events import (
    Committed,
    Drafted,
    Fate,
    Finished,
    Judged,
    Node,
    Pass,
    Round,
    Scored,
    Step,
    TopK,
    Trial,
    VocabEntry,
)
from specviz.trace.header import Started
from specviz.trace.tree_shape import tidy_layout
from specviz.verifiers.base import Verdict

DIGITS = 6
"""Decimals of recorded probabilities; numbers that verdicts were based on keep all theirs."""
UNITS = 10.0**DIGITS
NOTHING = TopK([], [], 1.0)


class TokenTexts(Protocol):
    """What the recorder needs of a tokenizer."""

    def token_bytes(self, token: int) -> bytes: ...


class Recorder:
    """Writes one run. With `keep_distributions` off, nodes carry no top-k rows and all else is the same."""

    def __init__(self, texts: TokenTexts, top: int = 10, keep_distributions: bool = True) -> None:
        self._texts = texts
        self._top = top
        self._keep = keep_distributions
        self._known: set[int] = set()
        self._layouts: dict[tuple[int, ...], list[tuple[float, float]]] = {}
        self.seconds = 0.0

    def started(self, event: Started) -> Step:
        return Step(event, self._new_entries(event.prompt_ids))

    def finished(self, event: Finished) -> Step:
        return Step(event, self._new_entries(event.output_ids))

    @torch.inference_mode()
    def round(self, record: RoundRecord) -> Step:
        """The round as an event, with the tokens it is the first to mention."""
        began = time.perf_counter()
        tree, times = record.proposal.tree, record.times
        judged = self._judged(record)
        nodes = self._nodes(record, judged)
        passes = [
            Pass(pass_.rows, pass_.cached_rows, pass_.seconds, pass_.depth, pass_.read)
            for pass_ in record.proposal.passes
        ]
        target_pass = Pass(1 + max(tree.rows()), record.commitment.cache_before, times.target)
        event = Round(
            index=record.index,
            base_length=record.base_length,
            start_s=record.start_s,
            nodes=nodes,
            drafted=_drafted(record, passes),
            scored=Scored(target_pass, times.target),
            judged=judged,
            committed=_committed(record),
        )
        entries = self._new_entries(_mentioned(event))
        self.seconds += time.perf_counter() - began
        return Step(event, entries)

    def _new_entries(self, tokens: Iterable[int]) -> dict[str, VocabEntry]:
        entries = {}
        for token in dict.fromkeys(tokens):
            if token not in self._known:
                self._known.add(token)
                entries[str(token)] = vocab_entry(self._texts.token_bytes(token))
        return entries

    def _judged(self, record: RoundRecord) -> Judged:
        verdict = record.verdict
        residual = verdict.residual if self._keep else None
        return Judged(
            rule=record.rule,
            trials=[
                Trial(
                    trial.node,
                    trial.target_prob,
                    trial.draft_prob,
                    trial.threshold,
                    trial.u,
                    trial.accepted,
                    dict(trial.terms),
                )
                for trial in verdict.trials
            ],
            path=verdict.path,
            final_node=verdict.path[-1] if verdict.path else 0,
            residual=None if residual is None else top_rows(residual.unsqueeze(0), self._top)[0],
            residual_mass=verdict.residual_mass,
            token=verdict.token,
            origin=verdict.origin,
            u=verdict.u,
            seconds=record.times.judge,
            order=verdict.order,
        )

    def _nodes(self, record: RoundRecord, judged: Judged) -> list[Node]:
        tree = record.proposal.tree
        targets, drafts = self._target_heads(record), self._draft_heads(tree)
        beliefs = beliefs_of(record) if self._keep else None
        raw_targets, raw_drafts = self._raw_heads(record, beliefs)
        measured = Measured([None] * len(tree), {}, {}) if beliefs is None else measured_of(record, beliefs)
        fates = _fates(tree, record.verdict)
        places = self._places(tree)
        nodes = []
        for i, token in enumerate(tree.tokens):
            nodes.append(
                Node(
                    id=i,
                    parent=tree.parents[i],
                    depth=tree.depths[i],
                    token=token,
                    kind=tree.kinds[i],
                    fate=fates[i],
                    source=tree.sources[i],
                    draft_prob=round(tree.proposal_prob(i), DIGITS) if i else None,
                    target_prob=round(record.scored.candidate_prob(i), DIGITS) if i else None,
                    draft=drafts.get(i),
                    target=targets[i],
                    x=places[i][0],
                    y=places[i][1],
                    draft_raw=raw_drafts.get(i),
                    target_raw=raw_targets.get(i),
                    rank=measured.ranks[i],
                    agreement=measured.judged.get(i),
                    agreement_raw=measured.raw.get(i),
                )
            )
        return nodes

    def _places(self, tree: DraftTree) -> list[tuple[float, float]]:
        key = tuple(tree.parents)
        places = self._layouts.get(key)
        if places is None:
            places = self._layouts[key] = tidy_layout(tree.parents, tree.depths)
        return places

    def _target_heads(self, record: RoundRecord) -> list[TopK]:
        tree, scored = record.proposal.tree, record.scored
        if not self._keep:
            return [NOTHING] * len(tree)
        if record.sampling.greedy:
            return [TopK([scored.argmax(i)], [1.0], 0.0) for i in range(len(tree))]
        return top_rows(scored.all_probs(), self._top)

    def _draft_heads(self, tree: DraftTree) -> dict[int, TopK]:
        """Per parent, the distribution its drawn children came from; a lone point mass is its own distribution."""
        if not self._keep:
            return {}
        rows: dict[int, Tensor] = {}
        points: dict[int, list[int]] = {}
        for i in range(1, len(tree)):
            proposal = tree.proposals[i]
            if proposal is None:
                points.setdefault(tree.parents[i], []).append(tree.tokens[i])
            else:
                rows.setdefault(tree.parents[i], proposal)
        found = {parent: TopK(tokens, [1.0], 0.0) for parent, tokens in points.items() if len(tokens) == 1}
        if rows:
            found |= dict(zip(rows, top_rows(torch.stack(list(rows.values())), self._top), strict=True))
        return found

    def _raw_heads(self, record: RoundRecord, beliefs: Beliefs | None) -> tuple[dict[int, TopK], dict[int, TopK]]:
        """Target and draft per node before the sampling transform, where that changes anything."""
        if beliefs is None or record.sampling.plain:
            return {}, {}
        top_ks, n = top_rows(beliefs.probs, self._top), len(record.proposal.tree)
        return dict(enumerate(top_ks[:n])), dict(zip(beliefs.asked, top_ks[n:], strict=True))


def top_rows(probs: Tensor, top: int) -> list[TopK]:
    """probs [n, V] → the `top` most probable tokens of each row and the mass outside; zeros are left out."""
    best = probs.topk(min(top, probs.shape[-1]), dim=-1)
    rounded = best.values.cpu().double().mul_(UNITS).round_().div_(UNITS)
    return [_top_row(tokens, values) for tokens, values in zip(best.indices.tolist(), rounded.tolist(), strict=True)]


def _top_row(tokens: list[int], values: list[float]) -> TopK:
    while values and values[-1] <= 0.0:
        values.pop()
    return TopK(tokens[: len(values)], values, round(max(0.0, 1.0 - sum(values)), DIGITS))


@lru_cache(maxsize=65_536)
def vocab_entry(data: bytes) -> VocabEntry:
    """A token's exact bytes, and how they show."""
    return VocabEntry(base64.b64encode(data).decode("ascii"), data.decode("utf-8", errors="replace"))


def _fates(tree: DraftTree, verdict: Verdict) -> list[Fate]:
    fates: list[Fate] = ["unreached"] * len(tree)
    fates[0] = "root"
    for trial in verdict.trials:
        fates[trial.node] = "rejected"
    for node in verdict.path:
        fates[node] = "accepted"
    return fates


def _drafted(record: RoundRecord, passes: list[Pass]) -> Drafted:
    made = record.proposal
    riding = sorted(made.riding)
    return Drafted(passes, record.times.draft, made.note, made.exhibits, record.learned, riding, record.lanes)


def _committed(record: RoundRecord) -> Committed:
    done = record.commitment
    return Committed(
        tokens=done.tokens,
        trimmed=done.trimmed,
        trimmed_tokens=done.trimmed_tokens,
        cache_before=done.cache_before,
        cache_kept=done.cache_kept,
        cache_dropped=done.cache_dropped,
        seconds=record.times.commit,
    )


def _mentioned(event: Round) -> list[int]:
    """Every token id that the event names."""
    tokens = []
    for node in event.nodes:
        tokens.append(node.token)
        tokens += node.target.tokens
        for head in (node.draft, node.draft_raw, node.target_raw):
            if head is not None:
                tokens += head.tokens
    if event.judged.residual is not None:
        tokens += event.judged.residual.tokens
    tokens.append(event.judged.token)
    for exhibit in (*event.drafted.knew, *event.drafted.learned):
        for row in exhibit.rows:
            tokens += row.tokens
    return tokens

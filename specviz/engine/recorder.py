"""From a round of the engine to events of the trace: top-k rows of distributions, fates, layout.

The only place where whole distributions meet the trace; it runs after the round's clock has stopped and times itself.
Knows nothing about how rounds come about.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from specviz.core.transfer import Fetch
from specviz.core.tree import DraftTree
from specviz.engine.forming import Asked, formed_together
from specviz.engine.measured import Sweep
from specviz.engine.session import RoundRecord
from specviz.engine.vocabulary import TokenTexts, Vocabulary
from specviz.engine.waiting import Rows, Swept
from specviz.trace.events import (
    Committed,
    Drafted,
    Finished,
    Judged,
    Node,
    Pass,
    Round,
    Scored,
    Step,
    TopK,
    VocabEntry,
)
from specviz.trace.header import Started

NO_ENTRIES: Mapping[str, VocabEntry] = {}
_Head = Callable[[], TopK]
_Swept = Callable[[], Swept]
NOTHING_DRAWN: Mapping[int, _Head] = {}


class Recorder:
    """Writes one run. With `keep_distributions` off, nodes carry no top-k rows and all else is the same."""

    def __init__(self, texts: TokenTexts, top: int = 10, keep_distributions: bool = True) -> None:
        vocabulary = Vocabulary(texts)
        self._first_named, self._entries = vocabulary.event, vocabulary.entries
        self._sweep = Sweep(top)
        self._keep = keep_distributions
        self.seconds = 0.0

    def started(self, event: Started) -> Step:
        return self._step_of(event, event.prompt_ids)

    def finished(self, event: Finished) -> Step:
        return self._step_of(event, event.output_ids)

    @torch.inference_mode()
    def rounds(self, waiting: list[RoundRecord]) -> list[Step]:
        """These rounds, in their order, as events, each with the tokens it is the first to mention; none waits any
        more. What all of them ask of whole distributions is asked before any of it is waited for, and the sweep is the
        last of that: it drives the rounds out of the processor's cache."""
        began, here = time.perf_counter(), Fetch()
        asked = [self._asked(record, record.scored.fetch or here) for record in waiting]
        nodes = formed_together(waiting, asked, self._keep)
        known = [(_drafted(record), _scored(record), _committed(record)) for record in waiting]
        self._sweep.settle()
        each = zip(waiting, asked, known, strict=True)
        steps = [self._step(*this, nodes, number) for number, this in enumerate(each)]
        waiting.clear()
        self.seconds += time.perf_counter() - began
        return steps

    def round(self, record: RoundRecord) -> Step:
        """The same of a single one."""
        return self.rounds([record])[0]

    def _step(
        self,
        record: RoundRecord,
        asked: Asked,
        known: tuple[Drafted, Scored, Committed],
        nodes: Callable[[int], list[Node]],
        number: int,
    ) -> Step:
        drafted, scored, committed = known
        event = Round(
            index=record.index,
            base_length=record.base_length,
            start_s=record.start_s,
            nodes=[],
            drafted=drafted,
            scored=scored,
            judged=_judged(record, asked.residual and asked.residual()),
            committed=committed,
        )
        event.form_later(nodes, number)
        fresh = asked.fresh() if asked.fresh else _tokens_of_heads(event)
        return self._step_of(event, [*record.proposal.tree.tokens, *fresh, *_mentioned(event)])

    def _step_of(self, event: Started | Round | Finished, tokens: Iterable[int]) -> Step:
        """With those of the tokens that no event before named."""
        step = Step(event, NO_ENTRIES)
        step.form_later(self._entries, self._first_named(tokens))
        return step

    def _asked(self, record: RoundRecord, fetch: Fetch) -> Asked:
        tree, scored, sampling = record.proposal.tree, record.scored, record.sampling
        if not self._keep:
            return Asked(None, None, None, {}, lambda: [None] * len(tree), list)
        mark, rest, walked, chain = self._sweep.mark(), record.verdict.residual, scored.walked, None
        if walked is not None and tree.block is not None and not sampling.plain:
            [drafted] = record.proposal.draft_logits
            chain = self._sweep.ask_chain(scored.logits, drafted, walked.room, tree.block, sampling.temperature, rest)
        raw, judged, residual, heads = self._row_by_row(record, fetch) if chain is None else (*chain, NOTHING_DRAWN)
        ranks = self._sweep.ask_ranks(fetch, scored.logits, tree)
        return Asked(raw, judged, residual, heads, ranks, self._sweep.since(mark))

    def _row_by_row(
        self, record: RoundRecord, fetch: Fetch
    ) -> tuple[_Swept | None, _Swept | None, _Head | None, Mapping[int, _Head]]:
        """`raw`, `judged`, `residual` and `drawn` of what is asked."""
        tree, scored, sampling = record.proposal.tree, record.scored, record.sampling
        ask, asked, rest = partial(self._sweep.ask, fetch), record.proposal.draft_logits, record.verdict.residual
        residual = None if rest is None else self._sweep.ask_head(fetch, rest)
        heads = NOTHING_DRAWN
        judged: _Swept | None = None
        raw = None if sampling.plain else ask(scored.logits, asked, logits=True)
        drawn = _drawn(tree) if tree.block is None else {}
        if sampling.greedy:
            heads = {parent: self._sweep.ask_head(fetch, q) for parent, q in drawn.items()}
        else:
            made_of = [scored.logits] if raw and sampling.uncut else []
            rows: list[Rows]
            if tree.block is None:
                rows = [((parent,), q) for parent, q in drawn.items()]
            else:  # a chain by one call, whose logits are known
                nodes, logits = asked[0]
                rows, made_of = [(nodes, tree.block.whole)], made_of and [*made_of, logits]
            judged = ask(scored.all_probs(), rows, made_of=made_of, temperature=sampling.temperature)
        if sampling.plain:
            raw = self._news(ask, record, drawn) if tree.block is None else None
        return raw, judged, residual, heads

    def _news(self, ask: Callable[..., _Swept], record: RoundRecord, drawn: Collection[int]) -> _Swept | None:
        """Where the transform changes nothing: only what was asked and not drawn from, if anything."""
        asked = record.proposal.draft_logits
        news = [([node], rows[i : i + 1]) for nodes, rows in asked for i, node in enumerate(nodes) if node not in drawn]
        if not news:
            return None
        whole, fresh = ask(record.scored.logits, news, logits=True, shown=False), {node for (node,), _ in news}
        return lambda: _only(whole(), fresh)


def _only(swept: Swept, nodes: Collection[int]) -> Swept:
    """With the agreements of these nodes alone."""
    return replace(swept, agreements=[it if node in nodes else None for node, it in enumerate(swept.agreements)])


def _drawn(tree: DraftTree) -> dict[int, Tensor]:
    """Per parent, the distribution its first drawn child came from [V]."""
    drawn: dict[int, Tensor] = {}
    for parent, q in zip(tree.parents, tree.proposals, strict=True):
        if q is not None:
            drawn.setdefault(parent, q)
    return drawn


def _judged(record: RoundRecord, residual: TopK | None) -> Judged:
    verdict = record.verdict
    return Judged(
        rule=record.rule,
        trials=verdict.trials,
        path=verdict.path,
        final_node=verdict.path[-1] if verdict.path else 0,
        residual=residual,
        residual_mass=verdict.residual_mass,
        token=verdict.token,
        origin=verdict.origin,
        u=verdict.u,
        seconds=record.times.judge,
        order=verdict.order,
    )


def _drafted(record: RoundRecord) -> Drafted:
    made = record.proposal
    riding, shown = sorted(made.riding), [*made.exhibits, *[draw_up() for draw_up in made.late_exhibits]]
    return Drafted(made.passes, record.times.draft, made.note, shown, record.learned, riding, record.lanes)


def _scored(record: RoundRecord) -> Scored:
    done, seconds = record.commitment, record.times.target
    rows = done.cache_kept + done.cache_dropped - done.cache_before
    return Scored(Pass(rows, done.cache_before, seconds), seconds)


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


def _tokens_of_heads(event: Round) -> list[int]:
    """That all distributions name which are shown of it."""
    tokens = list(event.judged.residual.tokens) if event.judged.residual else []
    for node in event.nodes:
        tokens += node.target.tokens
        for head in (node.draft, node.draft_raw, node.target_raw):
            if head is not None:
                tokens += head.tokens
    return tokens


def _mentioned(event: Round) -> list[int]:
    """Every token id that the event names beside its nodes and heads."""
    tokens = [event.judged.token]
    for exhibit in (*event.drafted.knew, *event.drafted.learned):
        for row in exhibit.rows:
            tokens += row.tokens
    return tokens

"""From a round of the engine to events of the trace: top-k rows of distributions, fates, layout.

The only place where whole distributions meet the trace; it runs after the round's clock has stopped and times itself.
Knows nothing about how rounds come about.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor

from specviz.core.transfer import Fetch
from specviz.core.tree import DraftTree
from specviz.engine.measured import DIGITS, Ranks, Sweep
from specviz.engine.session import RoundRecord
from specviz.engine.vocabulary import TokenTexts, Vocabulary
from specviz.engine.waiting import Rows, Swept
from specviz.frozen import frozen
from specviz.trace.events import (
    CandidateKind,
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
)
from specviz.trace.header import Started
from specviz.trace.tree_shape import tidy_layout

NOTHING = TopK([], [], 1.0)
SHAPES = 1024
"""trees whose layouts are remembered"""


@frozen
class Asked:
    """What a round's record asks of whole distributions: all of it is asked before any of it is waited for."""

    judged: Callable[[], Swept] | None
    """as they were judged; None where those are point masses, at temperature 0"""
    raw: Callable[[], Swept] | None
    """as both models believe themselves, where that is something else"""
    drawn: Mapping[int, Callable[[], TopK]]
    """at temperature 0, per parent the distribution its drawn children came from"""
    ranks: Callable[[], Ranks]
    residual: Callable[[], TopK] | None
    """what the verdict left; None where it left nothing"""
    fresh: Callable[[], Sequence[int]] | None
    """tokens that all these heads name and none before did; None: the nodes are formed at once, and say it"""


class Recorder:
    """Writes one run. With `keep_distributions` off, nodes carry no top-k rows and all else is the same."""

    def __init__(self, texts: TokenTexts, top: int = 10, keep_distributions: bool = True) -> None:
        self._vocabulary = Vocabulary(texts)
        self._sweep = Sweep(top)
        self._keep = keep_distributions
        self.seconds = 0.0

    def started(self, event: Started) -> Step:
        return Step(event, self._vocabulary.new(event.prompt_ids))

    def finished(self, event: Finished) -> Step:
        return Step(event, self._vocabulary.new(event.output_ids))

    @torch.inference_mode()
    def rounds(self, waiting: list[RoundRecord]) -> list[Step]:
        """These rounds, in their order, as events, each with the tokens it is the first to mention; none waits any
        more. What all of them ask of whole distributions is asked before any of it is waited for."""
        began, here = time.perf_counter(), Fetch()
        asked = [self._asked(record, record.scored.fetch or here) for record in waiting]
        self._sweep.settle()
        steps = list(map(self._step, waiting, asked))
        waiting.clear()
        self.seconds += time.perf_counter() - began
        return steps

    def round(self, record: RoundRecord) -> Step:
        """The same of a single one."""
        return self.rounds([record])[0]

    def _step(self, record: RoundRecord, asked: Asked) -> Step:
        known, fresh = self._known_of(record), asked.fresh and asked.fresh()
        nodes = _formed(known, asked) if fresh is None else []
        done, times = record.commitment, record.times
        rows = done.cache_kept + done.cache_dropped - done.cache_before
        event = Round(
            index=record.index,
            base_length=record.base_length,
            start_s=record.start_s,
            nodes=nodes,
            drafted=_drafted(record),
            scored=Scored(Pass(rows, done.cache_before, times.target), times.target),
            judged=_judged(record, asked.residual and asked.residual()),
            committed=_committed(record),
        )
        if fresh is None:
            fresh = _tokens_of_heads(event)
        else:
            event.form_later(partial(_formed, known, asked))
        return Step(event, self._vocabulary.new([*record.proposal.tree.tokens, *fresh, *_mentioned(event)]))

    def _known_of(self, record: RoundRecord) -> Known:
        tree, scored, verdict = record.proposal.tree, record.scored, record.verdict
        best = scored.all_argmax() if record.sampling.greedy and self._keep else None
        of_target = scored.candidate_probs()  # brings those of the draft along
        shape = tree.parents, tree.depths, tree.tokens, tree.kinds, tree.sources
        return Known(
            *shape,
            verdict.trials,
            verdict.path,
            of_target,
            tree.proposal_probs(),
            best,
            record.sampling.plain,
            self._keep,
        )

    def _asked(self, record: RoundRecord, fetch: Fetch) -> Asked:
        tree, scored, sampling = record.proposal.tree, record.scored, record.sampling
        if not self._keep:
            return Asked(None, None, {}, lambda: [None] * len(tree), None, None)
        mark, rest = self._sweep.mark(), record.verdict.residual
        ask, asked, drawn = partial(self._sweep.ask, fetch), record.proposal.draft_logits, _drawn(tree)
        residual = None if rest is None else self._sweep.ask_head(fetch, rest)
        heads: dict[int, Callable[[], TopK]] = {}
        judged: Callable[[], Swept] | None = None
        raw = None if sampling.plain else ask(scored.logits, asked, logits=True)
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
            raw = self._news(ask, record, drawn)
        ranks = self._sweep.ask_ranks(fetch, scored.logits, tree)
        return Asked(judged, raw, heads, ranks, residual, self._sweep.since(mark))

    def _news(
        self, ask: Callable[..., Callable[[], Swept]], record: RoundRecord, drawn: Mapping[int, Tensor]
    ) -> Callable[[], Swept] | None:
        """Where the transform changes nothing: only what was asked and not drawn from, if anything."""
        asked = record.proposal.draft_logits
        news = [([node], rows[i : i + 1]) for nodes, rows in asked for i, node in enumerate(nodes) if node not in drawn]
        if not news:
            return None
        whole, fresh = ask(record.scored.logits, news, logits=True, shown=False), {node for (node,), _ in news}
        return lambda: _only(whole(), fresh)


@frozen
class Known:
    """What nodes are made of besides `Asked`, node by node but for the verdict: nothing as large as a vocabulary."""

    parents: list[int]
    depths: list[int]
    tokens: list[int]
    kinds: list[CandidateKind]
    sources: list[str]
    trials: list[Trial]
    path: list[int]
    of_target: list[float]
    of_draft: list[float]
    """what both gave a candidate's token; the root's are meaningless"""
    best: list[int] | None
    """the target's tokens at temperature 0"""
    plain: bool
    """the models believe what was judged"""
    heads: bool
    """whether nodes carry heads"""


def _formed(known: Known, asked: Asked) -> list[Node]:
    ranks = asked.ranks()
    nothing: list[Any] = [None] * len(ranks)
    judged, raw = asked.judged and asked.judged(), asked.raw and asked.raw()
    shown = None if known.plain else raw
    drafts = _lone_points(known) if known.heads else {}
    drafts |= {parent: head() for parent, head in asked.drawn.items()}
    if judged:
        targets, drafts = judged.targets, drafts | judged.drafts
    else:
        targets = [NOTHING] * len(ranks) if known.best is None else [point(token) for token in known.best]
    columns = (  # in the order of the fields of `Node`
        range(len(ranks)),
        known.parents,
        known.depths,
        known.tokens,
        known.kinds,
        _fates(known),
        known.sources,
        [None, *map(_rounded, known.of_draft[1:])],
        [None, *map(_rounded, known.of_target[1:])],
        map(drafts.get, range(len(ranks))),
        targets,
        *_places(tuple(known.parents), tuple(known.depths)),
        map(shown.drafts.get, range(len(ranks))) if shown else nothing,
        shown.targets if shown else nothing,
        ranks,
        judged.agreements if judged else nothing,
        raw.agreements if raw else nothing,
    )
    return list(map(Node, *columns))


@lru_cache(maxsize=SHAPES)
def _places(parents: tuple[int, ...], depths: tuple[int, ...]) -> tuple[Sequence[float], Sequence[float]]:
    """x of all nodes, y of all nodes."""
    x, y = zip(*tidy_layout(parents, depths), strict=True)
    return x, y


def _lone_points(known: Known) -> dict[int, TopK]:
    """A lone point mass is the distribution that its parent's children came from."""
    points: dict[int, list[int]] = {}
    for parent, token, kind in zip(known.parents, known.tokens, known.kinds, strict=True):
        if kind == "point_mass":
            points.setdefault(parent, []).append(token)
    return {parent: point(tokens[0]) for parent, tokens in points.items() if len(tokens) == 1}


@lru_cache(maxsize=65_536)
def point(token: int) -> TopK:
    """A point mass."""
    return TopK([token], [1.0], 0.0)


def _only(swept: Swept, nodes: Collection[int]) -> Swept:
    """With the agreements of these nodes alone."""
    return replace(swept, agreements=[it if node in nodes else None for node, it in enumerate(swept.agreements)])


def _rounded(prob: float) -> float:
    return prob if prob in (0.0, 1.0) else round(prob, DIGITS)  # rounding takes ten times as long as looking


def _drawn(tree: DraftTree) -> dict[int, Tensor]:
    """Per parent, the distribution its first drawn child came from [V]."""
    drawn: dict[int, Tensor] = {}
    for parent, q in zip(tree.parents, tree.proposals, strict=True):
        if q is not None:
            drawn.setdefault(parent, q)
    return drawn


def _fates(known: Known) -> list[Fate]:
    fates: list[Fate] = ["unreached"] * len(known.tokens)
    fates[0] = "root"
    for trial in known.trials:
        fates[trial.node] = "rejected"
    for node in known.path:
        fates[node] = "accepted"
    return fates


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
    riding, shown = sorted(made.riding), [*made.exhibits, *(draw_up() for draw_up in made.late_exhibits)]
    return Drafted(made.passes, record.times.draft, made.note, shown, record.learned, riding, record.lanes)


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

"""What only whole distributions can tell of a round: each candidate's rank in the target, and how far both agree.

The recorder asks once per round, after the clock has stopped; heads of ten tokens could not give these numbers back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, log

import torch
from torch import Tensor

from specviz.core.tree import DraftTree
from specviz.engine.session import RoundRecord
from specviz.trace.events import Agreement

DECIMALS = 4
"""of the numbers below, which a trace holds for every node"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one round."""

    ranks: list[int | None]
    """per node; None: the root"""
    judged: Mapping[int, Agreement]
    """per node, of the distributions after the sampling transform; empty at temperature 0"""
    raw: Mapping[int, Agreement]
    """per node, of what the models themselves believe, where `judged` does not say it already"""


def measured_of(record: RoundRecord) -> Measured:
    """The round's numbers; reads [nodes, V] a few times and transfers a few numbers per node."""
    tree, scored, sampling = record.proposal.tree, record.scored, record.sampling
    drawn = {tree.parents[i]: q for i, q in reversed(list(enumerate(tree.proposals))) if q is not None}
    believed = {
        node: row for nodes, rows in record.proposal.draft_logits for node, row in zip(nodes, rows, strict=True)
    }
    beliefs = {node: _softmax(row) for node, row in believed.items()}
    judged = {} if sampling.greedy else agreements(scored.all_probs(), drawn)
    raw = agreements(_softmax(scored.logits), beliefs)
    if sampling.plain:  # the transform changes nothing: only what was asked and not drawn from is news
        raw = {node: raw[node] for node in believed if node not in drawn}
    return Measured(ranks(scored.logits, tree), judged, raw)


def ranks(logits: Tensor, tree: DraftTree) -> list[int | None]:
    """logits [nodes, V] → per candidate 1 + how many tokens its parent's row puts before it, equal ones by id."""
    if not tree.drafted:
        return [None]
    tokens = torch.tensor(tree.tokens[1:], device=logits.device).unsqueeze(1)
    rows = logits[tree.parents[1:]]
    own, ids = rows.gather(1, tokens), torch.arange(rows.shape[1], device=rows.device)
    before = (rows > own) | ((rows == own) & (ids < tokens))
    return [None, *(1 + count for count in before.sum(-1).tolist())]


def agreements(target: Tensor, drafts: Mapping[int, Tensor]) -> dict[int, Agreement]:
    """target [nodes, V] and the drafts' rows [V] at some of the nodes → the five numbers per node."""
    logs = _logarithms(target)
    rows = {node: Agreement(_rounded(bits)) for node, bits in enumerate(_entropy_bits(target, logs).tolist())}
    if drafts:
        nodes = list(drafts)
        p, log_p, q = target[nodes], logs[nodes], torch.stack(list(drafts.values())).to(target.dtype)
        terms = p * (log_p - q.log())  # infinite where q excludes what p allows; no number where both are 0
        kl = terms.nansum(-1) / log(2)
        columns = torch.stack([_entropy_bits(q, _logarithms(q)), kl, torch.minimum(p, q).sum(-1)], dim=-1).tolist()
        for node, (bits, divergence, overlap) in zip(drafts, columns, strict=True):
            kl_bits = _rounded(divergence) if isfinite(divergence) else None
            rows[node] = Agreement(rows[node].target_bits, _rounded(bits), kl_bits, min(1.0, _rounded(overlap)))
    return rows


def _logarithms(probs: Tensor) -> Tensor:
    """Finite, also of 0: unlike `torch.special.entr` and `xlogy`, a plain logarithm is computed in vectors."""
    return probs.clamp_min(torch.finfo(probs.dtype).tiny).log()


def _entropy_bits(probs: Tensor, logs: Tensor) -> Tensor:
    bits: Tensor = -(probs * logs).sum(-1) / log(2)
    return bits


def _rounded(value: float) -> float:
    """None of the five numbers is negative but by rounding."""
    return round(max(0.0, value), DECIMALS)


def _softmax(logits: Tensor) -> Tensor:
    probs: Tensor = (logits if logits.dtype == torch.float64 else logits.float()).softmax(-1)
    return probs

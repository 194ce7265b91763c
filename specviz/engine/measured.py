"""What only whole distributions can tell of a round: each candidate's rank in the target, and how far both agree.

The recorder asks once per round, after the clock has stopped; heads of ten tokens could not give these numbers back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log

import numpy as np
import torch
from torch import Tensor

from specviz.core.sampling import ON_CPU
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


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What both models believe themselves in a round, before any sampling transform."""

    probs: Tensor
    """[nodes + asked, V]: the target's at every node, then the drafter's where it was asked"""
    asked: list[int]
    """the nodes after which the drafter's model was asked"""


def beliefs_of(record: RoundRecord) -> Beliefs:
    """One softmax for all rows."""
    draft_logits = record.proposal.draft_logits
    asked = [node for level, _ in draft_logits for node in level]
    logits = torch.cat([record.scored.logits, *(rows for _, rows in draft_logits)])
    return Beliefs((logits if logits.dtype == torch.float64 else logits.float()).softmax(-1), asked)


def measured_of(record: RoundRecord, beliefs: Beliefs) -> Measured:
    """The round's numbers; reads [nodes, V] a few times and transfers a few numbers per node."""
    tree, scored, sampling = record.proposal.tree, record.scored, record.sampling
    drawn: dict[int, Tensor] = {}
    for parent, q in zip(tree.parents, tree.proposals, strict=True):
        if q is not None:
            drawn.setdefault(parent, q)
    target, asked = beliefs.probs[: len(tree)], dict(zip(beliefs.asked, beliefs.probs[len(tree) :], strict=True))
    if sampling.greedy:
        judged, raw = dict[int, Agreement](), agreements(target, asked)
    elif sampling.plain:  # the transform changes nothing: only what was asked and not drawn from is news
        judged, news = agreements(scored.all_probs(), drawn), {n: q for n, q in asked.items() if n not in drawn}
        raw = {node: row for node, row in agreements(target, news).items() if node in news} if news else {}
    else:
        judged, raw = agreements(scored.all_probs(), drawn), agreements(target, asked)
    return Measured(ranks(scored.logits, tree), judged, raw)


def ranks(logits: Tensor, tree: DraftTree) -> list[int | None]:
    """logits [nodes, V] → per candidate 1 + how many tokens its parent's row puts before it, equal ones by id."""
    if not tree.drafted:
        return [None]
    count = _before_on_cpu if logits.device.type in ON_CPU else _before_on_device
    return [None, *(1 + before for before in count(logits, tree.parents[1:], tree.tokens[1:]))]


def _before_on_device(logits: Tensor, parents: Sequence[int], tokens: Sequence[int]) -> list[int]:
    """Nothing V-sized leaves the device."""
    candidates = torch.tensor(tokens, device=logits.device).unsqueeze(1)
    rows = logits[parents]
    own, ids = rows.gather(1, candidates), torch.arange(rows.shape[1], device=rows.device)
    before = (rows > own) | ((rows == own) & (ids < candidates))
    counts: list[int] = before.sum(-1).tolist()
    return counts


def _before_on_cpu(logits: Tensor, parents: Sequence[int], tokens: Sequence[int]) -> list[int]:
    """The same with numpy, which counts several times as fast as torch adds up truth values."""
    rows = (logits if logits.dtype == torch.float64 else logits.float()).cpu().numpy()
    counts = []
    for parent, token in zip(parents, tokens, strict=True):
        row, value = rows[parent], rows[parent, token]
        counts.append(int(np.count_nonzero(row > value)) + int(np.count_nonzero(row[:token] == value)))
    return counts


def agreements(target: Tensor, drafts: Mapping[int, Tensor]) -> dict[int, Agreement]:
    """target [nodes, V] and the drafts' rows [V] at some of the nodes → the five numbers per node."""
    logs = _logarithms(target)
    rows = {node: Agreement(_rounded(bits)) for node, bits in enumerate(_entropy_bits(target, logs).tolist())}
    if drafts:
        nodes, q = list(drafts), torch.stack(list(drafts.values())).to(target.dtype)
        at = slice(len(nodes)) if nodes == list(range(len(nodes))) else nodes  # a chain's rows need no copy
        p, log_p, log_q = target[at], logs[at], q.log()
        terms = p * (log_p - log_q)  # infinite where q excludes what p allows; no number where both are 0
        kl = terms.nansum(-1) / log(2)
        finite = log_q.clamp_min_(log(torch.finfo(q.dtype).tiny))
        columns = torch.stack([_entropy_bits(q, finite), kl, torch.minimum(p, q).sum(-1)], dim=-1).tolist()
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

"""What generate decided in a round, worked out again from what was seen of it: path, trials, the last token.

Three cases, as in transformers: greedy, a draft with q under Algorithm 1 of Leviathan et al. (2211.17192), and a draft
without q, whose tokens are compared with the target's own draws.
"""

from __future__ import annotations

import torch
from torch import Tensor

from specviz.core.sampling import residual
from specviz.errors import RecordError
from specviz.record.watch import Observed
from specviz.trace.events import Origin
from specviz.verifiers.base import TrialRecord, Verdict


def verdict_of(this: Observed, p: Tensor, q: Tensor | None, greedy: bool) -> Verdict:
    """p [n + 1, V] and q [n, V] after temperature and cuts. Raises RecordError where what was committed is not what
    follows from what was seen."""
    if greedy and this.target_logits is not None:
        verdict = _by_tokens(this, p, this.target_logits.argmax(-1).tolist(), certain=True)
    elif q is None:
        verdict = _by_tokens(this, p, this.drawn, certain=False)
    else:
        verdict = _by_ratio(this, p, q)
    verified = [this.candidates[node - 1] for node in verdict.path] + [verdict.token]
    if not this.committed or verified[: len(this.committed)] != this.committed:
        raise RecordError(
            f"generate committed {this.committed}, but what was seen of the round gives {verified}; it judges in a way "
            "that is not known, so the run is not recorded."
        )
    return verdict


def _by_tokens(this: Observed, p: Tensor, own: list[int], certain: bool) -> Verdict:
    """Candidates are accepted as far as they are the target's own tokens; `certain` where those are not drawn."""
    if len(own) != len(this.candidates) + 1:
        raise RecordError(
            f"generate drew {len(own)} tokens for {len(this.candidates)} candidates and the one after them; it judges "
            "in a way that is not known, so the run is not recorded."
        )
    trials, path = list[TrialRecord](), list[int]()
    for node, token in enumerate(this.candidates, start=1):
        hit = token == own[node - 1]
        target_prob = float(hit) if certain else float(p[node - 1, token])
        trials.append(TrialRecord(node, target_prob, 1.0, target_prob, None, hit))
        if not hit:
            break
        path.append(node)
    return Verdict(path, own[len(path)], _origin(this, path), trials)


def _by_ratio(this: Observed, p: Tensor, q: Tensor) -> Verdict:
    """Candidates are accepted while u < min(1, p/q); after a rejection the last token comes from what is left of p."""
    if len(this.uniforms) != len(this.candidates):
        raise RecordError(
            f"generate drew {len(this.uniforms)} uniform numbers for {len(this.candidates)} candidates; it judges in a "
            "way that is not known, so the run is not recorded."
        )
    trials, path = list[TrialRecord](), list[int]()
    for node, (token, u) in enumerate(zip(this.candidates, this.uniforms, strict=True), start=1):
        of_target, of_draft = float(p[node - 1, token]), float(q[node - 1, token])
        threshold = min(1.0, of_target / of_draft)
        trials.append(TrialRecord(node, of_target, of_draft, threshold, u, u < threshold))
        if not trials[-1].accepted:
            break
        path.append(node)
    end = len(path)
    left, mass = residual(p[end], q[end]) if end < len(this.candidates) else (None, None)
    return Verdict(path, _last(this, p[end]), _origin(this, path), trials, left, mass)


def _last(this: Observed, p: Tensor) -> int:
    """The token that generate drew. Older releases draw none where an accepted draft ended the text: then the recorder
    does, from a generator of its own, and the token is cut off with the text's end."""
    if this.drawn:
        return this.drawn[0]
    own = torch.Generator(p.device).manual_seed(len(this.text))
    return int(torch.multinomial(p, 1, generator=own))


def _origin(this: Observed, path: list[int]) -> Origin:
    if not this.candidates:
        return "target"
    return "bonus" if len(path) == len(this.candidates) else "correction"

"""From what was seen of a generate to events of the trace: the verdict, heads of p and q, fates, the commit, the clock.

What was decided in a round is worked out again from what was seen of it, in three cases, as in transformers: greedy, a
draft with q under Algorithm 1 of Leviathan et al. (2211.17192), and a draft without q, whose tokens are compared with
the target's own draws. Runs between two rounds of generate, on its own time (`seconds`).
"""

from __future__ import annotations

import time

import torch
from torch import Tensor

from specviz.core.sampling import Sampling, residual
from specviz.core.tree import DraftTree
from specviz.engine.measured import DIGITS, agreements, ranks, top_rows
from specviz.engine.vocabulary import TokenTexts, vocab_entry
from specviz.errors import RecordError
from specviz.record.cards import Settings
from specviz.record.watch import Observed
from specviz.trace.events import (
    Agreement,
    Committed,
    CommittedToken,
    Drafted,
    Fate,
    Judged,
    Node,
    Option,
    Origin,
    Pass,
    Round,
    Scored,
    TopK,
    Trial,
    TrimReason,
    VocabEntry,
)
from specviz.verifiers.base import Verdict


class Rounds:
    """The rounds of one generate as events."""

    def __init__(self, settings: Settings, texts: TokenTexts, top: int) -> None:
        self.events: list[Round] = []
        self.vocab: dict[str, VocabEntry] = {}
        self.seconds = 0.0
        """spent in here"""
        self._settings = settings
        self._texts = texts
        self._top = top
        self._clock = 0.0

    def mention(self, tokens: list[int]) -> None:
        """Give these tokens an entry in the vocabulary."""
        for token in tokens:
            if str(token) not in self.vocab:
                self.vocab[str(token)] = vocab_entry(self._texts.token_bytes(token))

    @torch.inference_mode()
    def add(self, this: Observed) -> None:
        """One more round. Raises RecordError where it cannot have been as it was seen."""
        began = time.perf_counter()
        assert this.target_logits is not None, "a round is over when its scores are known."
        p = this.target_logits.softmax(-1)
        q = None if this.draft_logits is None else this.draft_logits.softmax(-1)
        greedy = self._settings.sampling.greedy
        verdict = verdict_of(this, p, q, greedy)
        event = Round(
            index=len(self.events),
            base_length=len(this.text),
            start_s=self._clock,
            nodes=self._nodes(this, verdict, p, q),
            drafted=Drafted(this.passes, this.clock.draft, self._note(this)),
            scored=Scored(Pass(1 + len(this.candidates), len(this.text) - 1, this.clock.target), this.clock.score),
            judged=self._judged(verdict, this.clock.judge),
            committed=self._committed(this, verdict),
        )
        self.events.append(event)
        self._clock += event.seconds
        self._mention_all(event)
        self.seconds += time.perf_counter() - began

    def _note(self, this: Observed) -> dict[str, Option]:
        if self.events:
            return {}
        return {"prompt": f"its {len(this.text)} tokens are read in this round's passes"}

    def _nodes(self, this: Observed, verdict: Verdict, p: Tensor, q: Tensor | None) -> list[Node]:
        assert this.target_raw is not None, "a round is over when its scores are known."
        settings, tokens = self._settings, [this.text[-1], *this.candidates]
        n, sampling = len(this.candidates), settings.sampling
        drawn = q is not None and not sampling.greedy
        targets, drafts = self._targets(this, p), self._drafts(this, q if drawn else None)
        raw_targets, raw_drafts = self._raw(this)
        fates, ranked = _fates(n, verdict), ranks(this.target_raw, self._tree(this))
        agreed, believed = self._agreements(this, p, q if drawn else None)
        return [
            Node(
                id=i,
                parent=i - 1,
                depth=i,
                token=token,
                kind="root" if not i else "iid" if drawn else "point_mass",
                fate=fates[i],
                source=settings.drafter if i else "root",
                draft_prob=None if not i else round(float(q[i - 1, token]), DIGITS) if drawn and q is not None else 1.0,
                target_prob=None if not i else _target_prob(targets[i - 1], p[i - 1], token, sampling),
                draft=drafts[i] if i < n else None,
                target=targets[i],
                x=float(i),
                draft_raw=raw_drafts[i] if i < len(raw_drafts) else None,
                target_raw=raw_targets[i] if raw_targets else None,
                rank=ranked[i],
                agreement=agreed.get(i),
                agreement_raw=believed.get(i),
            )
            for i, token in enumerate(tokens)
        ]

    def _targets(self, this: Observed, p: Tensor) -> list[TopK]:
        if self._settings.sampling.greedy and this.target_logits is not None:
            return [TopK([token], [1.0], 0.0) for token in this.target_logits.argmax(-1).tolist()]
        return top_rows(p, self._top)

    def _drafts(self, this: Observed, q: Tensor | None) -> list[TopK]:
        """Per candidate the distribution it came from; one that was not drawn is its own distribution."""
        if q is None:
            return [TopK([token], [1.0], 0.0) for token in this.candidates]
        return top_rows(q, self._top)

    def _raw(self, this: Observed) -> tuple[list[TopK], list[TopK]]:
        """Target and drafter before temperature and cuts, where those change anything."""
        if self._settings.sampling.plain or this.target_raw is None:
            return [], []
        beliefs = self._beliefs(this)
        drafts = top_rows(torch.stack(beliefs), self._top) if beliefs else []
        return top_rows(this.target_raw.softmax(-1), self._top), drafts

    def _beliefs(self, this: Observed) -> list[Tensor]:
        """Per candidate what the drafter's model itself believes [V], where q follows from it.

        transformers hands its processors to the assistant and lets it make its own once more from the copied config, so
        that temperature and top-p are applied twice to what is drawn there: q is as it was drawn, and this is left out.
        """
        sampling = self._settings.sampling
        if not sampling.greedy and (sampling.temperature != 1.0 or sampling.top_p != 1.0):
            return []
        raw = this.draft_raw
        if not raw and sampling.greedy and this.draft_logits is not None:  # no processor has touched them
            raw = list(this.draft_logits)
        return [logits.softmax(-1) for logits in raw[: len(this.candidates)]]

    def _tree(self, this: Observed) -> DraftTree:
        """The candidates as a chain."""
        tree = DraftTree.from_root(this.text[-1])
        for node, token in enumerate(this.candidates):
            tree.add(node, token, "point_mass", None, self._settings.drafter)
        return tree

    def _agreements(
        self, this: Observed, p: Tensor, q: Tensor | None
    ) -> tuple[dict[int, Agreement], dict[int, Agreement]]:
        """Per node: of the distributions after the sampling transform, none at temperature 0; and of what the models
        believe themselves, where the first do not say it already. See `engine.measured`."""
        assert this.target_raw is not None, "a round is over when its scores are known."
        sampling, beliefs = self._settings.sampling, dict(enumerate(self._beliefs(this)))
        judged = {} if sampling.greedy else agreements(p, dict(enumerate(q)) if q is not None else {})
        return judged, {} if sampling.plain else agreements(this.target_raw.softmax(-1), beliefs)

    def _judged(self, verdict: Verdict, seconds: float) -> Judged:
        left = verdict.residual
        return Judged(
            rule=self._settings.rule,
            trials=[
                Trial(trial.node, trial.target_prob, trial.draft_prob, trial.threshold, trial.u, trial.accepted)
                for trial in verdict.trials
            ],
            path=verdict.path,
            final_node=verdict.path[-1] if verdict.path else 0,
            residual=None if left is None else top_rows(left.unsqueeze(0), self._top)[0],
            residual_mass=verdict.residual_mass,
            token=verdict.token,
            origin=verdict.origin,
            u=None,
            seconds=seconds,
        )

    def _committed(self, this: Observed, verdict: Verdict) -> Committed:
        verified = [CommittedToken(this.candidates[node - 1], "draft", node) for node in verdict.path]
        verified.append(CommittedToken(verdict.token, verdict.origin, None))
        kept, before = len(this.committed), len(this.text) - 1
        return Committed(
            tokens=verified[:kept],
            trimmed=self._why_cut(this) if kept < len(verified) else None,
            trimmed_tokens=len(verified) - kept,
            cache_before=before,
            cache_kept=this.cache_rows,
            cache_dropped=before + 1 + len(this.candidates) - this.cache_rows,
            seconds=this.clock.commit,
        )

    def _why_cut(self, this: Observed) -> TrimReason:
        if this.committed[-1] in self._settings.eos_ids:
            return "eos"
        if len(this.text) + len(this.committed) >= self._settings.max_length:
            return "length"
        raise RecordError(
            "generate cut a round short, but neither an end-of-text token nor max_new_tokens ended it; record without "
            "stopping criteria of your own."
        )

    def _mention_all(self, event: Round) -> None:
        heads = [head for node in event.nodes for head in (node.draft, node.target, node.draft_raw, node.target_raw)]
        for head in (*heads, event.judged.residual):
            self.mention(head.tokens if head is not None else [])
        self.mention([*(node.token for node in event.nodes), event.judged.token])


def _target_prob(head: TopK, p: Tensor, token: int, sampling: Sampling) -> float:
    return float(head.tokens == [token]) if sampling.greedy else round(float(p[token]), DIGITS)


def _fates(n: int, verdict: Verdict) -> list[Fate]:
    tried = {trial.node for trial in verdict.trials}
    path = set(verdict.path)
    return ["root", *("accepted" if i in path else "rejected" if i in tried else "unreached" for i in range(1, n + 1))]


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


def _by_tokens(this: Observed, p: Tensor, wanted: list[int], certain: bool) -> Verdict:
    """Candidates are accepted as far as they are the target's own tokens; `certain` where those are not drawn."""
    if len(wanted) != len(this.candidates) + 1:
        raise RecordError(
            f"generate drew {len(wanted)} tokens for {len(this.candidates)} candidates and the one after them; it "
            "judges in a way that is not known, so the run is not recorded."
        )
    trials, path = list[Trial](), list[int]()
    for node, token in enumerate(this.candidates, start=1):
        hit = token == wanted[node - 1]
        target_prob = float(hit) if certain else float(p[node - 1, token])
        trials.append(Trial(node, target_prob, 1.0, target_prob, None, hit))
        if not hit:
            break
        path.append(node)
    return Verdict(path, wanted[len(path)], _origin(this, path), trials)


def _by_ratio(this: Observed, p: Tensor, q: Tensor) -> Verdict:
    """Candidates are accepted while u < min(1, p/q); after a rejection the last token comes from what is left of p."""
    if len(this.uniforms) != len(this.candidates):
        raise RecordError(
            f"generate drew {len(this.uniforms)} uniform numbers for {len(this.candidates)} candidates; it judges in a "
            "way that is not known, so the run is not recorded."
        )
    trials, path = list[Trial](), list[int]()
    for node, (token, u) in enumerate(zip(this.candidates, this.uniforms, strict=True), start=1):
        of_target, of_draft = float(p[node - 1, token]), float(q[node - 1, token])
        threshold = min(1.0, of_target / of_draft)
        trials.append(Trial(node, of_target, of_draft, threshold, u, u < threshold))
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
    generator = torch.Generator(p.device).manual_seed(len(this.text))
    return int(torch.multinomial(p, 1, generator=generator))


def _origin(this: Observed, path: list[int]) -> Origin:
    if not this.candidates:
        return "target"
    return "bonus" if len(path) == len(this.candidates) else "correction"

"""One text being decoded: committed tokens, the target's cache, and what one round does to them.

    prompt ─► begin ─► round: draft ─► target pass ─► verdict ─► commit ─► round …

Invariant between rounds: the target's cache holds exactly the committed tokens but the last (the root of the next
tree). Tokens are appended, never rebuilt; no round costs more because the text is longer. Knows nothing about traces'
distributions, tokenizers, files or screens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

import torch
from torch import Tensor

from specviz.core.clock import PhaseClock, now
from specviz.core.draws import NO_NUMBERS
from specviz.core.randomness import RandomSource
from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftContext, Drafter, Proposal, RoundOutcome
from specviz.drafters.capabilities import (
    Attaches,
    Begins,
    DraftsBeside,
    Observes,
    ReadsFeatures,
    ReadsPrompt,
    policies_of,
    reading,
)
from specviz.engine.pairing import check_models, check_pairing
from specviz.engine.scoring import Foresight, ScoredTree, score
from specviz.engine.termination import Ending
from specviz.errors import DraftError, ModelError, OptionError, PromptError
from specviz.frozen import frozen
from specviz.lm.base import GivesFeatures, LanguageModel
from specviz.options import Options
from specviz.trace.events import CommittedToken, EndReason, LaneSpan, TrimReason
from specviz.trace.header import Exhibit
from specviz.tree_policies.base import TargetProposal
from specviz.verifiers.base import Verdict, Verifier

PREFILL_CHUNK = 256
"""tokens of a prompt whose logits are looked at together"""


@dataclass(frozen=True, slots=True)
class Method:
    """How to decode: who drafts, who judges, under which sampling, with which random source."""

    drafter: Drafter[Options]
    verifier: Verifier[Options]
    sampling: Sampling
    randomness: RandomSource


@dataclass(frozen=True, slots=True)
class Start:
    """Where to begin."""

    prompt_ids: Sequence[int]
    forced_token: int | None = None
    """committed by the first round whatever the target says; that round drafts nothing (branching in time)"""
    first_round: int = 0
    """number of the first round in the keys of draws: a branch goes on with the noise of the run it left"""


@frozen
class Commitment:
    """What became final in a round, and what that did to the cache (in rows)."""

    tokens: list[CommittedToken]
    trimmed: TrimReason | None
    trimmed_tokens: int
    cache_before: int
    cache_kept: int
    cache_dropped: int


@frozen
class Times:
    """Seconds per phase."""

    draft: float
    target: float
    judge: float
    commit: float

    @property
    def total(self) -> float:
        return self.draft + self.target + self.judge + self.commit


@frozen
class RoundRecord:
    """Everything about one round, with its tensors still on the device."""

    index: int
    base_length: int
    start_s: float
    proposal: Proposal
    scored: ScoredTree
    verdict: Verdict
    commitment: Commitment
    times: Times
    rule: str
    """name of the verifier"""
    sampling: Sampling
    learned: list[Exhibit]
    """what the drafter made of the target's answer"""
    lanes: list[LaneSpan]
    """what it did beside the target's passes"""


class Session:
    """Runs rounds until `ending.reason` says why the text is over."""

    def __init__(self, target: LanguageModel, method: Method, start: Start, ending: Ending) -> None:
        """Raises PairingError, VocabularyMismatch, PromptError or OptionError where this cannot be run."""
        drafter = method.drafter
        check_pairing(drafter, type(method.verifier), method.sampling)
        check_models(target, drafter)
        _check_start(target, start)
        self.target = target
        self.method = method
        self.ending = ending
        self.tokens: list[int] = list(start.prompt_ids)
        self.decode_s = 0.0
        self.rounds = 0
        self._first_round = start.first_round
        self._forced = start.forced_token
        self._target_proposal: TargetProposal | None = None
        self._context_length = target.info.context_length
        self._cache = target.new_cache()
        self._kinds = drafter.kinds(method.sampling)
        self._draft_policies = policies_of(drafter)
        self._observes = drafter if isinstance(drafter, Observes) else None
        self._beside = drafter if isinstance(drafter, DraftsBeside) else None
        if isinstance(drafter, Attaches):
            drafter.attach(target, self._cache)
        self._features: GivesFeatures | None = None
        if isinstance(drafter, ReadsFeatures) and (depths := drafter.depths()):
            self._features = reading(target, drafter.name)
            self._features.watch(self._cache, depths)

    @property
    def finished(self) -> EndReason | None:
        """Why the text is over, or None."""
        if self.ending.reason is None and len(self.tokens) >= self._context_length:
            return "length"
        return self.ending.reason

    @torch.inference_mode()
    def begin(self) -> float:
        """Cache the prompt in the target and let the drafter read it; seconds of both."""
        stop, drafter = self._draft_policies.stop_policy, self.method.drafter
        if not stop.deployable:
            stop.consult(Foresight(self.target))
        began = now(self.target.device)
        known = self.tokens[:-1]
        if known and isinstance(drafter, ReadsPrompt | ReadsFeatures):
            self._read_prompt(known, drafter)
        elif known:
            self.target.forward(known, self._cache, last_only=True)
            self._cache.keep(range(len(known)))
        if isinstance(drafter, Begins):
            drafter.begin(self.tokens)
        return now(self.target.device) - began

    def _read_prompt(self, known: Sequence[int], drafter: ReadsPrompt | ReadsFeatures) -> None:
        """Cache the prompt in stretches and show the drafter the target's logits, or its states, or both: never all of
        [prompt, V] at once."""
        wants_logits = isinstance(drafter, ReadsPrompt)
        for start in range(0, len(known), PREFILL_CHUNK):
            part = known[start : start + PREFILL_CHUNK]
            logits = self.target.forward(part, self._cache, last_only=not wants_logits)
            self._cache.keep(range(start, start + len(part)))
            if isinstance(drafter, ReadsPrompt):
                drafter.read_prompt(part, logits[:, : self.target.info.vocab_size])
            if isinstance(drafter, ReadsFeatures) and self._features is not None:
                drafter.read_features(part, self._features.seen(self._cache))

    @torch.inference_mode()
    def round(self) -> RoundRecord:
        """One round: draft, score, judge, commit."""
        assert self.finished is None, "the text is over."
        method, base_length, clock = self.method, len(self.tokens), PhaseClock(self.target.device)
        proposal = self._propose()
        clock.ended("draft")
        cache_before = self._cache.length
        logits = score(self.target, self._cache, proposal.tree, proposal.unfinished)
        clock.ended("target")
        features = self._seen(self._features, proposal.tree) if self._features else None
        scored = ScoredTree(proposal.tree, logits, method.sampling)
        verdict = self._judge(proposal.tree, scored)
        clock.ended("judge")
        commitment = self._commit(proposal.tree, verdict, cache_before)
        left_open = commitment.trimmed == "open"
        self._target_proposal = TargetProposal(verdict.token, logits[verdict.path[-1]]) if left_open else None
        clock.ended("commit")
        learned = self._observe(proposal.tree, logits, verdict, features)
        lanes = self._beside.lanes() if self._beside else []
        clock.ended("draft")  # what a drafter learns is for its next drafts
        times = Times(**clock.seconds)
        record = RoundRecord(
            index=self.rounds,
            base_length=base_length,
            start_s=self.decode_s,
            proposal=proposal,
            scored=scored,
            verdict=verdict,
            commitment=commitment,
            times=times,
            rule=method.verifier.name,
            sampling=method.sampling,
            learned=learned,
            lanes=lanes,
        )
        self.decode_s += times.total
        self.rounds += 1
        return record

    def _seen(self, target: GivesFeatures, tree: DraftTree) -> Tensor:
        """The target's states at every node [len(tree), depths, H]."""
        states = target.seen(self._cache)
        return states if len(states) == len(tree) else states[tree.rows()]

    def _observe(self, tree: DraftTree, logits: Tensor, verdict: Verdict, features: Tensor | None) -> list[Exhibit]:
        if self._observes is None:
            return []
        return self._observes.observe(RoundOutcome(tree, logits, verdict.path, self.tokens, features))

    def _left(self) -> int:
        """Tokens that may still be committed."""
        return min(self.ending.left, self._context_length - len(self.tokens))

    def _propose(self) -> Proposal:
        if self._forced is not None:
            return Proposal(DraftTree.from_root(self.tokens[-1]))
        method, depth = self.method, self._left() - 1
        number = self._first_round + self.rounds
        noise = method.verifier.noise if method.verifier.samples_target else "guess"
        context = DraftContext(
            self.tokens, number, depth, method.sampling, method.randomness, noise, self._target_proposal,
            self.ending.ends, self.ending.unsaid, self.decode_s,
        )  # fmt: skip
        proposal = method.drafter.propose(context)
        tree = proposal.tree
        if tree.tokens[0] != self.tokens[-1] or max(tree.depths) > depth:
            raise DraftError(
                f"the drafter '{method.drafter.name}' drafted {max(tree.depths)} levels from token {tree.tokens[0]}, "
                f"but at most {depth} from token {self.tokens[-1]} were asked for; this is a fault of the drafter."
            )
        undeclared = set(tree.kinds[1:]) - self._kinds
        if undeclared:
            raise DraftError(
                f"the drafter '{method.drafter.name}' drafted a candidate of kind '{min(undeclared)}', which its "
                "`kinds` does not declare, so that no one has asked whether the verifier judges it; this is a fault of "
                "the drafter."
            )
        return proposal

    def _leaves_open(self, accepted: int) -> bool:
        """Whether the last token waits for the next round: where that can draft, and this one does not stand still."""
        tree_policy = self._draft_policies.tree_policy
        return tree_policy is not None and tree_policy.opens and accepted > 0 and self._left() >= accepted + 2

    def _judge(self, tree: DraftTree, scored: ScoredTree) -> Verdict:
        if self._forced is not None:
            forced, self._forced = self._forced, None
            return Verdict([], forced, "forced")
        verdict = self.method.verifier.judge(tree, scored, self.method.randomness, len(self.tokens))
        if any(isnan(trial.target_prob) or isnan(trial.threshold) for trial in verdict.trials):
            raise ModelError(NO_NUMBERS)  # to which a rule may have said anything
        return verdict

    def _commit(self, tree: DraftTree, verdict: Verdict, cache_before: int) -> Commitment:
        """Append what was verified until something ends the text; keep the rows of it but the last token's."""
        verified = [CommittedToken(tree.tokens[node], "draft", node) for node in verdict.path]
        verified.append(CommittedToken(verdict.token, verdict.origin, None))
        kept = 0
        reason = None
        final = len(verified) - self._leaves_open(len(verdict.path))
        while reason is None and kept < final:
            self.tokens.append(verified[kept].token)
            reason = self.ending.commit(verified[kept].token)
            kept += 1
        trimmed = len(verified) - kept
        computed = self._cache.length
        self._cache.keep(_rows_of_text(tree, verdict.path[-1] if verdict.path else ROOT, kept, cache_before))
        return Commitment(
            tokens=verified[:kept],
            trimmed=(reason or "open") if trimmed else None,
            trimmed_tokens=trimmed,
            cache_before=cache_before,
            cache_kept=self._cache.length,
            cache_dropped=computed - self._cache.length,
        )


def _rows_of_text(tree: DraftTree, end: int, kept: int, start: int) -> Sequence[int]:
    """In the cache, of the root and as much of the path to `end` as is text; the root's is `start`."""
    if tree.is_chain():
        return range(start, start + min(kept, end + 1))
    rows = tree.rows()
    return [start, *(start + rows[node] for node in tree.path(end)[: kept - 1])]


def _check_start(target: LanguageModel, start: Start) -> None:
    length, room = len(start.prompt_ids), target.info.context_length
    if length == 0:
        raise PromptError("the prompt is empty; give at least one token.")
    window = "sliding attention window, which a text must fit to be decoded exactly,"
    context = window if target.info.window else "context"
    if length >= room:
        raise PromptError(
            f"the prompt has {length} tokens, but the {context} of {target.info.name} holds {room}, the answer "
            "included; shorten the prompt."
        )
    for what, token in [("prompt", token) for token in start.prompt_ids] + [("forced", start.forced_token)]:
        if token is not None and not 0 <= token < target.info.vocab_size:
            raise OptionError(
                f"the {what} token {token} is outside the vocabulary of {target.info.name} "
                f"(0 to {target.info.vocab_size - 1})."
            )

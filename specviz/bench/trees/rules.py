"""What the rules alone bring: several verifiers on the very same trees, and how often one level is accepted.

One run is drafted, scored and continued once, and all verifiers judge each round. Runs of two verifiers part at the
first round that they judge differently, and from there on draft other trees. Here every verifier sees the same tree,
the same target distributions and the same uniform draws, so what differs is the rule alone. The default verifier
decides how the text goes on; all of them are lossless, so its law is the same.

Acceptance of one level goes from one candidate up to what no rule can beat. Each row is the probability, worked out
from p and q, that a level of K candidates below one node has an accepted one; nothing is drawn. Where the candidates
are i.i.d. that is exact for any K over the whole vocabulary. Without replacement it is for two; for more the tokens
refused on the way are drawn, and no bound is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from torch import Tensor

from specviz.bench.core.rows import Ranked, ranked
from specviz.bench.trees.plan import TreeCase
from specviz.core.randomness import RandomSource, SeededRandom
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.lm.load import LoadedModel
from specviz.options import Options
from specviz.protocol.choice import STANDARD
from specviz.protocol.runs import PromptCard, RunRequest
from specviz.protocol.sweeps.intervals import Estimate, ratio_of_sums
from specviz.theory.formulas import Row, independent_bound, pair_bound
from specviz.tree_policies.acceptance_vector import measure_vector
from specviz.verifiers.base import Verifier
from specviz.verifiers.kseq import solve

SameTree = tuple[str, float, str, str]
"""experiment, temperature, tree policy, shape"""


@dataclass(frozen=True, slots=True)
class Setup:
    """The target, and how a request becomes a fresh drafter with its tree policy, a verifier and the draws."""

    target: LoadedModel
    method_of: Callable[[RunRequest], Method]


@dataclass(frozen=True, slots=True)
class Judged:
    """One prompt's run: what each verifier made of its trees."""

    tree: SameTree
    prompt: str
    rounds: int
    """that drafted"""
    accepted: Mapping[str, int]
    """verifier → candidates accepted in these rounds"""


@dataclass(frozen=True, slots=True)
class SameTreeRow:
    """One verifier on the trees of one policy in one shape."""

    experiment: str
    temperature: float
    tree_policy: str
    shape: str
    verifier: str
    prompts: int
    rounds: int
    """trees judged"""
    standing: Ranked
    """of its mean acceptance length, 1 + accepted / rounds, among the verifiers of these trees"""


def judge_all(
    setup: Setup,
    cases: Sequence[TreeCase],
    prompts: Sequence[PromptCard],
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Judged]:
    """Prompt by prompt, every tree shape that more than one verifier may judge. Ends early when cancelled."""
    groups = same_trees(cases)
    for prompt in prompts:
        for tree, group in groups.items():
            if cancelled():
                return
            yield _judge(setup, tree, group, prompt)


def same_trees(cases: Sequence[TreeCase]) -> dict[SameTree, list[TreeCase]]:
    """The cases that differ in the verifier alone, where there are at least two."""
    groups: dict[SameTree, list[TreeCase]] = {}
    for case in cases:
        groups.setdefault((case.experiment, case.temperature, case.tree_policy, case.shape), []).append(case)
    return {tree: group for tree, group in groups.items() if len(group) > 1}


def _judge(setup: Setup, tree: SameTree, group: Sequence[TreeCase], prompt: PromptCard) -> Judged:
    verifiers = {case.verifier: setup.method_of(case.request).verifier for case in group}
    method = setup.method_of(replace(group[0].request, verifier=STANDARD["verifier"]))
    tokens = setup.target.tokenizer.encode(prompt.text)
    limits = Limits(group[0].request.max_new_tokens, frozenset(setup.target.info.eos_ids))
    session = Session(setup.target.model, method, Start(tokens), Ending(limits, lambda token: b""))
    session.begin()
    return _rounds(session, verifiers, method.randomness, (tree, prompt.id))


def _rounds(
    session: Session, verifiers: Mapping[str, Verifier[Options]], randomness: RandomSource, of: tuple[SameTree, str]
) -> Judged:
    accepted, rounds = dict.fromkeys(verifiers, 0), 0
    while session.finished is None:
        done = session.round()
        tree = done.proposal.tree
        if tree.drafted:
            rounds += 1
            for name, verifier in verifiers.items():
                accepted[name] += len(verifier.judge(tree, done.scored, randomness, done.base_length).path)
    return Judged(*of, rounds, accepted)


def rows(judged: Sequence[Judged], seed: int) -> list[SameTreeRow]:
    """One row per tree shape and verifier, ranked within the shape; prompts on which nothing was drafted left out."""
    ranks = []
    for tree in dict.fromkeys(run.tree for run in judged):
        runs = [run for run in judged if run.tree == tree and run.rounds]
        if not runs:
            continue
        names = list(runs[0].accepted)
        parts = [[(float(run.rounds + run.accepted[name]), float(run.rounds)) for run in runs] for name in names]
        rounds = sum(run.rounds for run in runs)
        for name, standing in zip(names, ranked(parts, seed), strict=True):
            ranks.append(SameTreeRow(*tree, name, len(runs), rounds, standing))
    return ranks


ONE = "one candidate"
PAIR = 2


@dataclass(frozen=True, slots=True)
class AcceptanceRow:
    """One rule with so many candidates, over all places."""

    name: str
    candidates: int
    acceptance: Estimate
    how: str
    """`exact`, or what was drawn"""


@dataclass(slots=True)
class LevelAcceptance:
    """Collects places prompt by prompt."""

    candidates: Sequence[int]
    seed: int = 0
    places: int = 0
    """how many were added"""
    _sums: dict[tuple[str, int, str], list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, p: Tensor, q: Tensor) -> None:
        """All places of one prompt: p and q [n, V]."""
        self.places += len(p)
        sums: dict[tuple[str, int, str], float] = {}
        for target, draft in zip(p, q, strict=True):
            for key, value in self._place(target, draft):
                sums[key] = sums.get(key, 0.0) + value
        for key, value in sums.items():
            self._sums.setdefault(key, []).append((value, float(len(p))))

    def rows(self) -> list[AcceptanceRow]:
        """In order, one candidate first."""
        rungs = []
        for (name, candidates, how), parts in self._sums.items():
            acceptance = ratio_of_sums(parts, self.seed)
            if acceptance is not None:
                rungs.append(AcceptanceRow(name, candidates, acceptance, how))
        return rungs

    def _place(self, target: Tensor, draft: Tensor) -> Iterable[tuple[tuple[str, int, str], float]]:
        p, q = target.double().numpy(), draft.double().numpy()
        yield (ONE, 1, "exact"), float(np.minimum(p, q).sum())
        for k in self.candidates:
            yield ("i.i.d., the target's sample looked up (naive)", k, "exact"), looked_up(p, q, k)
            yield ("i.i.d., one after the other (SpecInfer)", k, "exact"), one_after_the_other(p, q, k)
            yield ("i.i.d., K-SEQ", k, "exact"), solve(target, draft, k).passed
            yield ("i.i.d., no rule accepts more", k, "exact"), independent_bound(p, q, k)
            yield ("most probable ones, looked up", k, "exact"), float(p[np.argsort(-q, kind="stable")[:k]].sum())
            if k == PAIR:
                yield ("without replacement, recursive rejection", k, "exact"), pair_recursive(p, q)
                yield ("without replacement, no rule accepts more", k, "exact"), pair_bound(p, q)
            else:
                drawn = measure_vector([(target, draft)], k, SeededRandom(self.seed))
                yield ("without replacement, recursive rejection", k, "rejected tokens drawn"), sum(drawn)


def looked_up(p: Row, q: Row, draws: int) -> float:
    """Σ p(x) (1 - (1 - q(x))^K): the target's own sample is among K i.i.d. draws."""
    return float((p * (1.0 - (1.0 - q) ** draws)).sum())


def one_after_the_other(p: Row, q: Row, draws: int) -> float:
    """Multi-step sampling (SpecInfer 2305.09781, algorithm 2): each of K draws against its predecessors' rest."""
    refused, left = 1.0, p
    for _ in range(draws):
        accepted = min(1.0, float(np.minimum(left, q).sum()))
        refused *= 1.0 - accepted
        rest = np.maximum(left - q, 0.0)
        mass = rest.sum()
        if mass <= 0.0:
            return 1.0 - refused
        left = rest / mass
    return 1.0 - refused


def pair_recursive(p: Row, q: Row) -> float:
    """Two draws without replacement by recursive rejection (2402.14160, algorithm 3), over every rejected first token.

    With the rest r = norm(max(0, p - q)), a second draw after x is refused is accepted with
    Σ_y min(r(y), q(y) / (1 - q(x))); for all x at once, by sorting y by r / q.
    """
    first = float(np.minimum(p, q).sum())
    refused, rest = np.maximum(q - p, 0.0), np.maximum(p - q, 0.0)
    mass = rest.sum()
    if mass <= 0.0:
        return min(1.0, first)
    kept = (rest > 0.0) & (q > 0.0)
    ratio = rest[kept] / mass / q[kept]
    order = np.argsort(ratio, kind="stable")
    below_rest = np.concatenate([[0.0], np.cumsum(rest[kept][order] / mass)])
    above_q = np.concatenate([np.cumsum(q[kept][order][::-1])[::-1], [0.0]])
    tried = (refused > 0.0) & (q < 1.0)
    scale = 1.0 / (1.0 - q[tried])
    rank = np.searchsorted(ratio[order], scale, side="right")
    second = np.minimum(1.0, below_rest[rank] + scale * above_q[rank])
    return min(1.0, first + float((refused[tried] * second).sum()))

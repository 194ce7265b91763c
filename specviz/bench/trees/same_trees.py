"""Several verifiers on the very same trees: one run is drafted, scored and continued once, and all judge each round.

Runs of two verifiers part at the first round that they judge differently, and from there on draft other trees. Here
every verifier sees the same tree, the same target distributions and the same uniform draws, so what differs is the
rule alone. The default verifier decides how the text goes on; all of them are lossless, so its law is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from specviz.bench.core.rows import Ranked, ranked
from specviz.bench.trees.plan import TreeCase
from specviz.core.randomness import RandomSource
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.lm.load import LoadedModel
from specviz.options import Options
from specviz.protocol.choice import STANDARD
from specviz.protocol.runs import PromptCard, RunRequest
from specviz.verifiers.base import Verifier

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

"""The sequential rule by one compiled call: in every number of a verdict the walk by steps, and nothing else."""

from dataclasses import replace

import pytest
import torch

from specviz.cli.sources import SharedModels, live_source
from specviz.core import draws
from specviz.core.draws import Room, warp
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.engine.scoring import ScoredTree
from specviz.live.source import collect
from specviz.options import Options
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.uniform_draws import uniform
from specviz.verifiers.base import VERIFIERS
from specviz.verifiers.sequential import SequentialVerifier
from tests.contracts.same_trace import difference
from tests.scripted_random import ScriptedRandom

pytestmark = pytest.mark.skipif(draws._library() is None, reason="there is no compiler here")
WARM = Sampling(0.8)
SIZES = (3, 16, 65, 150, 4096)
"""less than a vector of numbers, whole ones, a block and something left over, the bundled models'"""


def chain_of(tokens, q=None):
    """Drawn from the rows of q [n, V] by one call, or point masses."""
    tree = DraftTree.from_root(0)
    block = None if q is None else Room(q, q.unbind(), q.data_ptr())
    probs = [] if q is None else [float(row[token]) for row, token in zip(q, tokens, strict=True)]
    tree.add_chain(tokens, "point_mass" if q is None else "iid", block, probs, "test")
    return tree


def judged(tree, logits, seed=0, verifier=None, sampling=WARM):
    rule = verifier or SequentialVerifier(Options())
    return rule.judge(tree, ScoredTree(tree, logits, sampling), SeededRandom(seed), 7)


@pytest.fixture
def by_steps(monkeypatch):
    """Judges as if there were no compiled walk."""

    def judge(*given, **settings):
        with monkeypatch.context() as patch:
            patch.setattr(ScoredTree, "walk", lambda *_: None)
            return judged(*given, **settings)

    return judge


def assert_same(verdict, other):
    """Bit for bit."""
    for left, right in ((verdict.residual, other.residual),):
        assert left is right is None or torch.equal(left, right)
    assert replace(verdict, residual=None) == replace(other, residual=None)


def random_chain(size, steps, seed, kind):
    """A chain and the target's logits; with `same` the draft is the target itself, with `tied` rows have few values."""
    numbers = torch.Generator().manual_seed(seed)
    logits = torch.randn(steps + 1, size, generator=numbers) * 3
    if kind == "tied":
        logits = logits.round()
    other = logits[:-1] + (0.0 if kind == "same" else torch.randn(steps, size, generator=numbers))
    q = warp(other.contiguous(), 0.8)
    tokens = torch.multinomial(q, 1, generator=numbers).squeeze(1).tolist()
    return chain_of(tokens, None if kind == "point_mass" else q), logits


@pytest.mark.parametrize("kind", ["drawn", "same", "tied", "point_mass"])
@pytest.mark.parametrize("size", SIZES)
def test_a_verdict_is_that_of_the_walk_by_steps(by_steps, size, kind):
    ends = set()
    for seed in range(40):
        tree, logits = random_chain(size, 1 + seed % 5, seed, kind)
        verdict = judged(tree, logits, seed)
        assert_same(verdict, by_steps(tree, logits, seed))
        ends.add(verdict.origin)
    assert ends == ({"bonus"} if kind == "same" else {"bonus", "correction"})


def test_what_was_not_drafted_is_drawn_from_the_target_alone(by_steps):
    logits = torch.randn(1, 150, generator=torch.Generator().manual_seed(1))
    for seed in range(20):
        tree = DraftTree.from_root(0)
        verdict = judged(tree, logits, seed)
        assert (verdict.origin, verdict.trials, verdict.residual) == ("target", [], None)
        assert_same(verdict, by_steps(tree, logits, seed))


def test_a_rejection_that_leaves_nothing_leaves_the_target(by_steps):
    """q is nowhere below p, as it may be by rounding."""
    logits = torch.randn(2, 150, generator=torch.Generator().manual_seed(1))
    q = warp(logits[:1], 0.8)
    q[0, 3] *= 50
    verdict = judged(chain_of([3], q), logits)
    assert (verdict.path, verdict.residual_mass) == ([], 0.0)
    assert torch.equal(verdict.residual, warp(logits[:1], 0.8)[0])
    assert_same(verdict, by_steps(chain_of([3], q), logits))


def test_the_impossible_never_passes_and_the_certain_always_does(by_steps):
    """Token 1 is impossible, at the second place certain; both places' last numbers are their own keys'."""
    logits = torch.tensor([[0.0, -torch.inf, 0.0], [0.0, 0.0, 0.0]])
    verdict = judged(chain_of([1], torch.full((1, 3), 1 / 3)), logits)
    assert [(trial.threshold, trial.accepted) for trial in verdict.trials] == [(0.0, False)]
    assert_same(verdict, by_steps(chain_of([1], torch.full((1, 3), 1 / 3)), logits))
    certain = judged(chain_of([1]), torch.tensor([[-torch.inf, 0.0, -torch.inf], [0.0, 0.0, 0.0]]))
    assert [(trial.threshold, trial.accepted) for trial in certain.trials] == [(1.0, True)]


def test_the_numbers_are_those_of_the_walks_keys():
    tree, logits = random_chain(16, 4, 3, "same")
    verdict = judged(tree, logits, seed=2**70 + 5)
    assert [trial.u for trial in verdict.trials] == [uniform(2**70 + 5, ("accept", 7, node)) for node in range(1, 5)]
    assert verdict.u == uniform(2**70 + 5, ("target", 7 + 4, 0))


def test_the_target_knows_afterwards_what_it_would_have_known():
    tree, logits = random_chain(150, 3, 0, "drawn")
    scored, plain = ScoredTree(tree, logits, WARM), ScoredTree(tree, logits, WARM)
    assert scored.walk(0, 7) is not None
    assert torch.equal(scored.all_probs(), plain.all_probs())
    assert scored.candidate_probs()[1:] == plain.candidate_probs()[1:]


@pytest.fixture
def walks(monkeypatch):
    """What came of each question for a compiled walk."""
    made, walk = [], ScoredTree.walk

    def watched(scored, seed, position):
        made.append(walk(scored, seed, position))
        return made[-1]

    monkeypatch.setattr(ScoredTree, "walk", watched)
    return made


def test_chains_with_one_by_one_drawn_candidates_trees_and_forced_outcomes_go_by_steps(walks):
    logits, q = torch.zeros(3, 3), torch.full((3,), 1 / 3)
    drawn, mixed, siblings = (DraftTree.from_root(0) for _ in range(3))
    for tree, parents, kinds in (
        (drawn, (0, 1), ("iid", "iid")),
        (mixed, (0, 1), ("point_mass", "iid")),
        (siblings, (0, 0), ("point_mass", "point_mass")),
    ):
        for parent, kind in zip(parents, kinds, strict=True):
            tree.add(parent, 1, kind, None if kind == "point_mass" else q, "test")
        judged(tree, logits)
    scored = ScoredTree(DraftTree.from_root(0), logits[:1], WARM)
    SequentialVerifier(Options()).judge(scored.tree, scored, ScriptedRandom([2]), 7)
    assert walks == []


@pytest.mark.parametrize("name", ["lenience", "ensemble", "cascade"])
def test_a_rule_that_accepts_otherwise_goes_by_steps(walks, name):
    judged(*random_chain(16, 3, 0, "drawn"), verifier=VERIFIERS.get(name).of({}))
    assert walks == []


@pytest.mark.parametrize("sampling", [Sampling(0.0), Sampling(0.8, top_k=2), Sampling(0.8, top_p=0.9)])
def test_where_tokens_are_cut_off_or_nothing_is_drawn_the_walk_goes_by_steps(walks, sampling):
    judged(*random_chain(16, 3, 0, "point_mass"), sampling=sampling)
    assert walks == [None]


@pytest.mark.parametrize("drafter", [Choice("model"), Choice("ngram"), Choice("eagle"), Choice("none")], ids=str)
def test_a_run_whose_rounds_are_judged_by_one_call_has_the_trace_of_one_judged_by_steps(walks, monkeypatch, drafter):
    request = RunRequest("Tom had a red", max_new_tokens=24, temperature=0.8, drafter=drafter)
    source = live_source(SharedModels(), measure=False)
    trace = collect(source, request)
    assert len(walks) == len(trace.rounds)
    assert None not in walks
    monkeypatch.setattr(ScoredTree, "walk", lambda *_: None)
    assert difference(trace.rounds, collect(source, request).rounds) is None

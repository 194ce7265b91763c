"""The proof can fail: bugs seen in real projects, planted one at a time, each shown to be caught.

Every mutant changes the running engine in one place. A mutant that the proof lets through fails the test.
"""

from dataclasses import replace

import pytest

from specviz.core import randomness as chance
from specviz.core.randomness import AcceptDraw, SeededRandom
from specviz.core.sampling import Sampling, residual, transform
from specviz.engine import scoring, session
from specviz.errors import ProofError
from specviz.lm.table import TableCache
from specviz.proof.exhaustive import TARGET_SEED, WARM, ProofCase
from specviz.proof.planted import BUGS, find
from specviz.tree_policies import drawing as draws
from specviz.tree_policies.drawing import Independent, MostProbable
from specviz.verifiers import sequential
from specviz.verifiers.base import Verdict
from specviz.verifiers.naive import NaiveVerifier
from specviz.verifiers.sequential import Level
from tests.proof.walked import error

CAUGHT = 1e-6


def model(draw: str = "auto", verifier: str = "sequential", **options: object) -> ProofCase:
    return ProofCase("model", verifier, (*options.items(), ("draw", draw)), WARM)


CHAIN = model(gamma=2)
PAIR = model(branching=(2,))


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_of_the_table_is_caught(bug):
    """Those of `specviz prove`, planted without touching the engine."""
    assert find(bug).caught


def test_every_method_that_a_bug_is_planted_into_passes_without_it():
    others = [CHAIN, PAIR, model(verifier="naive", gamma=2), model("top_k", branching=(2,))]
    for case in {replace(bug.case, fault=None) for bug in BUGS} | set(others):
        assert error(case) < 1e-12, case


@pytest.mark.planted("accept at equality")
def test_accepting_at_equality_accepts_the_impossible(monkeypatch):
    """`u <= p/q` with u = 0 and p = 0: a uniform draw can be exactly 0."""
    monkeypatch.setattr(chance, "uniform", lambda seed, key: 0.0)
    assert SeededRandom(0).accept(0.0, ("accept", 1, 1)) == AcceptDraw(False, 0.0)

    def with_equality(self, probability, key):
        u = chance.uniform(self.seed, key)
        return AcceptDraw(u <= probability, u)

    monkeypatch.setattr(SeededRandom, "accept", with_equality)
    assert SeededRandom(0).accept(0.0, ("accept", 1, 1)).accepted


@pytest.mark.planted("draft not renormalised")
def test_draft_not_renormalised_after_a_sibling_was_removed(monkeypatch):
    def unnormalised(draft, tokens):
        left = draft.clone()
        left[list(tokens)] = 0.0
        return left, float(left.sum())

    monkeypatch.setattr(sequential, "without", unnormalised)
    assert error(PAIR) > CAUGHT


def test_draft_not_reduced_by_the_siblings_drawn_before(monkeypatch):
    monkeypatch.setattr(Level, "_adjusted", lambda self, child: None)
    assert error(PAIR) > CAUGHT


@pytest.mark.planted("residual through a softmax")
def test_residual_put_through_a_softmax(monkeypatch):
    monkeypatch.setattr(sequential, "residual", lambda p, q: ((p - q).clamp(min=0.0).softmax(-1), 1.0))
    assert error(CHAIN) > CAUGHT


def test_residual_of_the_first_sibling_forgotten_at_the_second(monkeypatch):
    def fresh(p, q):
        return residual(fresh.target, q)

    class Forgetful(Level):
        def left(self):
            fresh.target = self.target.probs(self.node)
            return Level.left(self)

    monkeypatch.setattr(sequential, "residual", fresh)
    monkeypatch.setattr(sequential, "Level", Forgetful)
    assert error(PAIR) > CAUGHT


@pytest.mark.planted("top-k with soft q")
def test_most_probable_tokens_declared_as_drawn_independently(monkeypatch):
    class Soft(MostProbable):
        def level(self, context, logits, width, first):
            found, used = super().level(context, logits, width, first)
            q = transform(logits, context.sampling)
            return [[(token, q[i]) for token, _ in row] for i, row in enumerate(found)], used

    Soft.kind = "iid"
    monkeypatch.setitem(draws.DRAWS, "top_k", Soft())
    assert error(model("top_k", branching=(2,))) > CAUGHT


@pytest.mark.planted("bonus from a residual")
def test_bonus_drawn_from_a_residual(monkeypatch):
    class Greedy(Level):
        def left(self):
            proposal = self.tree.proposals[self.node]
            if proposal is None or self.tree.children(self.node):
                return Level.left(self)
            return residual(self.target.probs(self.node), proposal)[0]

    monkeypatch.setattr(sequential, "Level", Greedy)
    assert error(CHAIN) > CAUGHT


@pytest.mark.planted("noise reused")
def test_noise_used_again_in_the_next_round(monkeypatch):
    class Forgetful(NaiveVerifier):
        def judge(self, tree, target, randomness, position):
            return super().judge(tree, target, randomness, 0)

    monkeypatch.setattr(session.Session, "_judge", _judge_with(Forgetful))
    with pytest.raises(ProofError, match="is used twice"):
        error(model(verifier="naive", gamma=2))


def _judge_with(rule):
    def judge(self, tree, scored):
        verdict: Verdict = rule(self.method.verifier.options).judge(
            tree, scored, self.method.randomness, len(self.tokens)
        )
        return verdict

    return judge


@pytest.mark.planted("temperature on one side")
def test_temperature_on_the_draft_alone(monkeypatch):
    monkeypatch.setattr(scoring, "transform", lambda logits, sampling: transform(logits, Sampling(temperature=1.0)))
    assert error(CHAIN) > CAUGHT


@pytest.mark.planted("temperature on one side")
def test_draft_probability_of_another_temperature_than_the_draws(monkeypatch):
    class Raw(Independent):
        def level(self, context, logits, width, first):
            found, used = super().level(context, logits, width, first)
            q = logits.softmax(-1)
            return [[(token, q[i]) for token, _ in row] for i, row in enumerate(found)], used

    monkeypatch.setitem(draws.DRAWS, "iid", Raw())
    assert error(CHAIN) > CAUGHT


def test_first_candidate_committed_unverified(monkeypatch):
    def trusting(self, tree, scored):
        verdict = self.method.verifier.judge(tree, scored, self.method.randomness, len(self.tokens))
        return verdict if verdict.path or tree.drafted == 0 else Verdict([], tree.tokens[1], "correction")

    monkeypatch.setattr(session.Session, "_judge", trusting)
    assert error(CHAIN) > CAUGHT


def test_naive_rule_that_draws_again_after_a_miss(monkeypatch):
    class Redrawing(NaiveVerifier):
        def judge(self, tree, target, randomness, position):
            verdict = super().judge(tree, target, randomness, position)
            if verdict.origin != "correction":
                return verdict
            node = verdict.path[-1] if verdict.path else 0
            again = randomness.draw(target.probs(node), ("again", position, 0))
            return Verdict(verdict.path, again.token, verdict.origin, verdict.trials, u=again.u)

    monkeypatch.setattr(session.Session, "_judge", _judge_with(Redrawing))
    assert error(model(verifier="naive", gamma=2)) > CAUGHT


def test_a_rejected_row_left_in_the_cache(monkeypatch):
    """Off by one at rollback: the row after the accepted path stays and the next round attends to it."""
    keep = TableCache.keep

    def careless(self, rows):
        rows = list(rows)
        if self.model.seed == TARGET_SEED and rows and rows[-1] + 1 < self.length:
            rows.append(rows[-1] + 1)
        keep(self, rows)

    monkeypatch.setattr(TableCache, "keep", careless)
    assert error(CHAIN) > CAUGHT
